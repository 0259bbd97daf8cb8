"""Serve a repository until somebody ends it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from types import FrameType

from ops.errors import ServerError

from .server import Server

_LASTS_S = 5  # one that has crashed sooner would crash again


def serve_until_stopped(server: Server, say: Callable[[str], None], show: Callable[[str], None]) -> None:
    """Start the server, say where it answers, wait. Ctrl-C and SIGTERM stop it; one that has crashed is started again.

    Errors: ServerError when it does not start, or does not last.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        with server:
            for name, url in (("http", server.url), ("grpc", server.grpc_url), ("metrics", server.metrics_url)):
                show(f"{name:8}{url}")
            for row in server.rest.index():
                show(f"{row.state or 'UNAVAILABLE':12}{row.name} {row.version} {row.reason}".rstrip())
            say("Ctrl-C stops it")
            _keep(server, say)
    except KeyboardInterrupt:
        say("stopped")
    finally:
        signal.signal(signal.SIGTERM, before)


def _keep(server: Server, say: Callable[[str], None]) -> None:
    while True:
        since = time.monotonic()
        try:
            server.wait()
        except ServerError as error:
            if time.monotonic() - since < _LASTS_S:
                raise
            say(f"{error}\nstarting it again")
            server.restart()
