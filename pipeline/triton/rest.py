"""What Triton's HTTP interface says of a server and its models; no client library is needed."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

from ops.errors import ServerError

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy knows no loopback address

_MOMENT_S = 5  # for what a server knows by heart


@dataclass(frozen=True)
class ModelState:
    """A version of a model in the server's index: READY, LOADING, UNLOADING or UNAVAILABLE; "" if it never loaded."""

    name: str
    version: str
    state: str
    reason: str


class Rest:
    """A server's HTTP interface at HOST:PORT."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ready(self) -> bool:
        return self._is("ready")

    def live(self) -> bool:
        return self._is("live")

    def version(self) -> str:
        """As "2.43.0"."""
        try:
            said = self._json("v2", timeout_s=_MOMENT_S)
        except ServerError as error:
            if isinstance(error.__cause__, urllib.error.HTTPError):  # Triton has no error for it; others have a page
                raise self._foreign(f"HTTP {error.__cause__.code}") from error
            raise
        if not isinstance(said, dict) or "version" not in said:
            raise self._foreign("no version")
        return str(said["version"])

    def index(self) -> list[ModelState]:
        rows = self._json("v2/repository/index", {})
        return [ModelState(row["name"], *(row.get(key, "") for key in ("version", "state", "reason"))) for row in rows]

    def config(self, model: str) -> dict[str, Any]:
        """The completed configuration."""
        return dict(self._json(f"v2/models/{model}/config"))

    def statistics(self, model: str) -> dict[str, Any]:
        """What a model has done since it was loaded: counts, times, and the batches that were formed."""
        return newest(self._json(f"v2/models/{model}/stats"))

    def metadata(self, model: str) -> dict[str, Any]:
        """Its inputs and outputs, as a client sees them."""
        return dict(self._json(f"v2/models/{model}"))

    def load(self, model: str, timeout_s: float = 600) -> None:
        """Errors: ServerError with the server's reason."""
        self._ask(f"v2/repository/models/{model}/load", {}, timeout_s)

    def unload(self, model: str, timeout_s: float = 600) -> None:
        """Errors: ServerError with the server's reason."""
        self._ask(f"v2/repository/models/{model}/unload", {}, timeout_s)

    def infer(self, model: str, request: dict[str, Any], timeout_s: float = 60) -> dict[str, Any]:
        """Errors: ServerError with the server's reason."""
        return dict(self._json(f"v2/models/{model}/infer", request, timeout_s))

    def _is(self, health: str) -> bool:
        try:
            self._ask(f"v2/health/{health}", timeout_s=_MOMENT_S)
        except ServerError:
            return False
        return True

    def _json(self, path: str, body: dict[str, Any] | None = None, timeout_s: float = 60) -> Any:
        told = self._ask(path, body, timeout_s)
        try:
            return json.loads(told)
        except (ValueError, RecursionError) as error:
            raise self._foreign("no JSON") from error

    def _foreign(self, why: str) -> ServerError:
        message = f"{self.url} answers, but not as Triton does: {why}"
        return ServerError(message, fix="give the HTTP port of a Triton server; 8000 is the usual one")

    def _ask(self, path: str, body: dict[str, Any] | None = None, timeout_s: float = 60) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{self.url}/{path}", data=data)  # with data it is a POST
        try:
            with _DIRECT.open(request, timeout=timeout_s) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                reason = reason_of(error.read()) or f"HTTP {error.code}"
                raise ServerError(reason, fix="the server's log may say more") from error
        except (OSError, HTTPException) as error:
            fix = "is the server running? give its HTTP port; 8000 is the usual one"
            why = str(error) if str(error).isprintable() else type(error).__name__  # gRPC answers in control characters
            raise ServerError(f"{self.url} does not answer by HTTP: {why}", fix=fix) from error


def newest(statistics: Mapping[str, Any]) -> dict[str, Any]:
    """Of a model's statistics, those of its newest version: the one that requests go to."""
    return dict(max(statistics["model_stats"], key=lambda row: int(row["version"])))


def reason_of(body: bytes) -> str:
    """Why the server refused a request, by the body of its answer."""
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")
