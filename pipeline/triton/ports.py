"""Free ports: the system names them, the server takes them."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple


class Ports(NamedTuple):
    """The three ports of a server; 0 stands for any that is free."""

    http: int = 0
    grpc: int = 0
    metrics: int = 0


USUAL = Ports(8000, 8001, 8002)


def usual_ports(wanted: Sequence[int | None], address: str) -> Ports:
    """Where nothing is wanted, Triton's own port if nobody has it, else any that is free."""
    return Ports(*(port if port is not None else _if_free(usual, address) for port, usual in zip(wanted, USUAL)))


def _if_free(port: int, address: str) -> int:
    with _socket(address) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # what is only fading away takes no port
        try:
            trial.bind((address, port))
        except OSError:
            return 0
    return port


def free_ports(wanted: Ports, address: str) -> Ports:
    """The wanted ports, with free ones for 0. Another process may still come first: then the server says so."""
    with ExitStack() as stack:  # all are held at once, so that they differ

        def free() -> int:
            holder = stack.enter_context(_socket(address))
            holder.bind((address, 0))
            return int(holder.getsockname()[1])

        return Ports(*(port or free() for port in wanted))


def _socket(address: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
