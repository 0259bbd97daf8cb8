"""Serve a repository until somebody ends it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType

from .server import Server


def serve_until_stopped(server: Server, say: Callable[[str], None], show: Callable[[str], None]) -> None:
    """Start the server, say where it answers, wait. Ctrl-C and SIGTERM stop it.

    Errors: ServerError when it does not start, or ends by itself.
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
            server.wait()
    except KeyboardInterrupt:
        say("stopped")
    finally:
        signal.signal(signal.SIGTERM, before)
