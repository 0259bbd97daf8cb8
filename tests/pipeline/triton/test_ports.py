from __future__ import annotations

import socket

from pipeline.triton.ports import USUAL, Ports, free_ports, usual_ports


def test_free_ports_differ_and_wanted_ones_stay() -> None:
    got = free_ports(Ports(grpc=12345), "127.0.0.1")
    assert got.grpc == 12345
    assert len(set(got)) == 3
    for port in (got.http, got.metrics):
        socket.create_server(("127.0.0.1", port)).close()


def test_a_usual_port_that_somebody_has_is_not_asked_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        got = usual_ports((None, 7, 0), "127.0.0.1")
        assert got[1:] == (7, 0)
        assert got.http in (0, USUAL.http)
        assert usual_ports((taken, 7, 0), "127.0.0.1").http == taken
