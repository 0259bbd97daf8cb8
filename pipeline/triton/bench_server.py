"""A running server's model as the target of a bench, with the server's own statistics."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from ops import WrongUse

from ..bench import Client, Counters, RequestFailed
from .bench_inputs import Sample, ports, requests
from .bench_wire import Wire

_TIMES = ("queue", "compute_input", "compute_infer", "compute_output")
_WORK = _TIMES[1:]


class ServerTarget:
    """A model of a server: what it counts, with its composing models, and clients that ask it."""

    def __init__(self, wire: Wire, model: str) -> None:
        """Errors: ServerError when the server or the model is not there."""
        self.wire = wire
        self.name = model
        self.version = wire.version()
        configs = _configs(wire, model)
        self.max_batch_size = int(configs[model].get("max_batch_size", 0))
        self.batching = self.max_batch_size > 0
        self.inputs = ports(wire.metadata(model), self.batching)
        self.rows = 1
        self._instances = {name: _instances(config) for name, config in configs.items()}

    def prepare(self, samples: Sequence[Sample], rows: int, timeout_s: float) -> None:
        """What clients send: these samples, so many in a request. One request is tried.

        Errors: WrongUse for more samples than the model takes, or a request that it refuses.
        """
        most = max(1, self.max_batch_size)
        if rows > most:
            raise WrongUse(f"--batch {rows}: {self.name} takes at most {most}", fix=f"give --batch {most} or less")
        self.rows = rows
        self._requests = requests(samples, rows, self.batching)
        self._timeout_s = timeout_s
        client = self.client()
        try:
            client.request()
        except RequestFailed as error:
            fix = "give inputs that it answers: -i NAME=@FILE, or --golden DIR"
            raise WrongUse(f"{self.name} refuses a trial request: {error}", fix=fix) from error
        finally:
            client.close()

    @property
    def where(self) -> str:
        """As "127.0.0.1:8001 (grpc), Triton 2.43.0"."""
        return f"{self.wire.url} ({self.wire.kind}), Triton {self.version}"

    def client(self) -> Client:
        return self.wire.client(self.name, self._requests, self._timeout_s)

    def counters(self) -> dict[str, Counters]:
        return {name: counters(self.wire.statistics(name), count) for name, count in self._instances.items()}


def on_this_machine(url: str) -> bool:
    """Whether HOST:PORT is here: only such an address can be bound."""
    host = url.rpartition(":")[0].strip("[]") or url
    for family, kind, protocol, _, address in socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM):
        with socket.socket(family, kind, protocol) as trial, contextlib.suppress(OSError):
            trial.bind(address)
            return True
    return False


def counters(row: Mapping[str, Any], instances: int) -> Counters:
    """A model's statistics, in the form of either interface. gRPC writes numbers as text, and leaves out zeros."""
    stats = row.get("inference_stats", {})
    batches = row.get("batch_stats", [])
    times = {f"{part}_ns": _number(stats.get(part, {}), "ns") for part in _TIMES}
    return Counters(
        succeeded=_number(stats.get("success", {}), "count"),
        failed=_number(stats.get("fail", {}), "count"),
        inferences=_number(row, "inference_count"),
        executions=_number(row, "execution_count"),
        request_ns=_number(stats.get("success", {}), "ns"),
        busy_ns=sum(_number(batch.get(part, {}), "ns") for batch in batches for part in _WORK),
        batches={_number(batch, "batch_size"): _number(batch.get("compute_infer", {}), "count") for batch in batches},
        instances=instances,
        **times,
    )


def _number(row: Mapping[str, Any], key: str) -> int:
    return int(row.get(key, 0))


def _configs(wire: Wire, model: str) -> dict[str, dict[str, Any]]:
    """The configurations of a model and, for an ensemble, of all that it is composed of."""
    found: dict[str, dict[str, Any]] = {}
    waiting = [model]
    while waiting:
        name = waiting.pop(0)
        if name not in found:
            found[name] = wire.config(name)
            waiting += [step["model_name"] for step in found[name].get("ensemble_scheduling", {}).get("step", [])]
    return found


def _instances(config: Mapping[str, Any]) -> int:
    if config.get("ensemble_scheduling"):
        return 0
    groups = config.get("instance_group", [])
    return sum(int(group.get("count", 1)) * max(1, len(group.get("gpus", []))) for group in groups) or 1
