"""The two ways to a server, as a bench needs them: gRPC and HTTP.

A client has a thread and a connection of its own. Against a model that does nothing, 16 such clients got a third more
requests through than on one shared gRPC channel or in an asyncio loop; with 64 they were alike.
"""

from __future__ import annotations

import http.client
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ops import Array, GepipeError, ServerError, WrongUse

from ..bench import Client, RequestFailed
from .rest import Rest, newest, reason_of
from .verify_client import INSTALL, inputs_of

Request = Mapping[str, Array]

_ADMIN_S = 30.0  # for a question about a model
_ALIVE_S = 5.0  # for the question whether it lives
_NO_LIMIT = 2**31 - 1  # of a message, in bytes


class Wire(Protocol):
    """A server, asked in one of its two ways. Errors of all: ServerError."""

    kind: str
    url: str

    def version(self) -> str: ...

    def metadata(self, model: str) -> dict[str, Any]: ...

    def config(self, model: str) -> dict[str, Any]: ...

    def statistics(self, model: str) -> dict[str, Any]: ...

    def client(self, model: str, requests: Sequence[Request], timeout_s: float) -> Client:
        """One that sends these requests in turn."""


def connect(url: str, kind: str) -> Wire:
    """kind: "grpc" or "http". Errors: WrongUse without tritonclient."""
    try:
        return Grpc(url) if kind == "grpc" else Http(url)
    except (ImportError, RuntimeError) as error:  # the latter where it was installed without that half
        raise WrongUse(f"bench needs tritonclient, with {kind}", fix=INSTALL) from error


class Grpc:
    """By gRPC."""

    kind = "grpc"

    def __init__(self, url: str) -> None:
        import tritonclient.grpc

        self.url = url
        self._library = tritonclient.grpc
        self._server = tritonclient.grpc.InferenceServerClient(url)

    def version(self) -> str:
        return str(self._ask(self._server.get_server_metadata)["version"])

    def metadata(self, model: str) -> dict[str, Any]:
        return self._ask(self._server.get_model_metadata, model)

    def config(self, model: str) -> dict[str, Any]:
        return dict(self._ask(self._server.get_model_config, model)["config"])

    def statistics(self, model: str) -> dict[str, Any]:
        return newest(self._ask(self._server.get_inference_statistics, model))

    def alive(self) -> bool:
        try:
            return bool(self._server.is_server_live(client_timeout=_ALIVE_S))
        except self._library.InferenceServerException:
            return False

    def client(self, model: str, requests: Sequence[Request], timeout_s: float) -> Client:
        return _GrpcClient(self, self._library, model, [inputs_of(self._library, r) for r in requests], timeout_s)

    def _ask(self, question: Callable[..., Any], *words: str) -> dict[str, Any]:
        try:
            return dict(question(*words, as_json=True, client_timeout=_ADMIN_S))
        except self._library.InferenceServerException as error:
            if self.alive():
                raise ServerError(error.message(), fix="the server's log may say more") from error
            fix = "is the server running? 8001 is its usual gRPC port"
            if Rest(self.url).live():
                fix = "that is its HTTP port: add --http"
            raise ServerError(f"{self.url} does not answer: {error.message()}", fix=fix) from error


class _GrpcClient:
    def __init__(self, wire: Grpc, library: Any, model: str, requests: Sequence[Any], timeout_s: float) -> None:
        own = [
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.max_send_message_length", _NO_LIMIT),
            ("grpc.max_receive_message_length", _NO_LIMIT),
        ]
        self._wire = wire
        self._error = library.InferenceServerException
        self._server = library.InferenceServerClient(wire.url, channel_args=own)
        self._model = model
        self._requests = itertools.cycle(requests)
        self._timeout_s = timeout_s

    def request(self) -> None:
        try:
            self._server.infer(self._model, next(self._requests), client_timeout=self._timeout_s)
        except self._error as error:
            lost = error.status() in ("StatusCode.UNAVAILABLE", "StatusCode.DEADLINE_EXCEEDED")
            if lost and not self._wire.alive():
                raise _gone(self._wire.url, error.message()) from error
            raise RequestFailed(error.message()) from error

    def close(self) -> None:
        self._server.close()


class Http:
    """By HTTP."""

    kind = "http"

    def __init__(self, url: str) -> None:
        import tritonclient.http

        self.url = url
        self._library = tritonclient.http
        self._rest = Rest(url)

    def version(self) -> str:
        try:
            return self._rest.version()
        except ServerError as error:
            if isinstance(error.__cause__, http.client.HTTPException):
                raise ServerError(f"{self.url} does not speak HTTP", fix="give the HTTP port, or --grpc") from error
            raise

    def metadata(self, model: str) -> dict[str, Any]:
        return self._rest.metadata(model)

    def config(self, model: str) -> dict[str, Any]:
        return self._rest.config(model)

    def statistics(self, model: str) -> dict[str, Any]:
        return self._rest.statistics(model)

    def alive(self) -> bool:
        return self._rest.live()

    def client(self, model: str, requests: Sequence[Request], timeout_s: float) -> Client:
        make = self._library.InferenceServerClient.generate_request_body
        bodies = [make(inputs_of(self._library, request)) for request in requests]
        return _HttpClient(self, f"/v2/models/{model}/infer", bodies, timeout_s)


class _HttpClient:
    def __init__(self, wire: Http, path: str, bodies: Sequence[tuple[bytes, int | None]], timeout_s: float) -> None:
        self._wire = wire
        self._server = http.client.HTTPConnection(wire.url, timeout=timeout_s)
        self._path = path
        self._bodies = itertools.cycle(bodies)

    def request(self) -> None:
        body, json_size = next(self._bodies)
        headers = {} if json_size is None else {"Inference-Header-Content-Length": str(json_size)}
        try:
            self._server.request("POST", self._path, body, headers)
            answer = self._server.getresponse()
            told = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._server.close()  # it opens itself again
            if not self._wire.alive():
                raise _gone(self._wire.url, str(error)) from error
            raise RequestFailed(f"{type(error).__name__}: {error}") from error
        if answer.status != http.client.OK:
            raise RequestFailed(reason_of(told) or f"HTTP {answer.status}")

    def close(self) -> None:
        self._server.close()


def _gone(url: str, why: str) -> GepipeError:
    return ServerError(f"{url} answers no more: {why}", fix="see the server's log")
