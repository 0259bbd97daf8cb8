"""Free ports: the system names them, the server takes them."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import NamedTuple


class Ports(NamedTuple):
    """The three ports of a server; 0 stands for any that is free."""

    http: int = 0
    grpc: int = 0
    metrics: int = 0


def free_ports(wanted: Ports, address: str) -> Ports:
    """The wanted ports, with free ones for 0. Another process may still come first: then the server says so."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with ExitStack() as stack:  # all are held at once, so that they differ

        def free() -> int:
            holder = stack.enter_context(socket.socket(family))
            holder.bind((address, 0))
            return int(holder.getsockname()[1])

        return Ports(*(port or free() for port in wanted))
