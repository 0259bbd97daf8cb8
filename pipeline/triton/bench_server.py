"""A running server's model as the target of a bench, with the server's own statistics."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from typing import Any

from ops import WrongUse

from ..bench import Client, Counters, RequestFailed
from .bench_inputs import Sample, inputs_of, requests
from .bench_wire import Wire

_TIMES = ("queue", "compute_input", "compute_infer", "compute_output")
_WORK = _TIMES[1:]
COUNTED_WITHIN_S = 2.0


class ServedModel:
    """A model of a server: its inputs, and the instances of it and of its composing models.

    Errors: ServerError when the server or the model is not there.
    """

    def __init__(self, wire: Wire, name: str) -> None:
        self.wire = wire
        self.name = name
        self.where = f"{wire.url} ({wire.kind}), Triton {wire.version()}"
        configs = _configs(wire, name)
        self.max_batch_size = int(configs[name].get("max_batch_size", 0))
        self.batching = self.max_batch_size > 0
        self.inputs = inputs_of(wire.metadata(name), self.batching)
        self.instances = {part: _instances(config) for part, config in configs.items()}


class ServerTarget:
    """Clients that send a model these samples, `rows` of them in a request, and what it counts. One request is tried.

    made_up: whether nobody chose the samples, so that a refusal is no wonder.
    Errors: WrongUse for more samples than the model takes, or a request that it refuses.
    """

    def __init__(
        self, model: ServedModel, samples: Sequence[Sample], rows: int, timeout_s: float, made_up: bool = False
    ) -> None:
        most = max(1, model.max_batch_size)
        if rows > most:
            raise WrongUse(f"--batch {rows}: {model.name} takes at most {most}", fix=f"give --batch {most} or less")
        self.name = model.name
        self.rows = rows
        self._model = model
        self._requests = requests(samples, rows, model.batching)
        self._timeout_s = timeout_s
        before = self._succeeded()
        with closing(self.client()) as client:
            try:
                client.request()
            except RequestFailed as error:
                raise _refusal(self.name, str(error), made_up) from error
        self._wait_until_counted(before)

    def client(self) -> Client:
        return self._model.wire.client(self.name, self._requests, self._timeout_s)

    def counters(self) -> dict[str, Counters]:
        wire = self._model.wire
        return {name: counters(wire.statistics(name), count) for name, count in self._model.instances.items()}

    def _succeeded(self) -> int:
        return counters(self._model.wire.statistics(self.name), 0).succeeded

    def _wait_until_counted(self, before: int) -> None:
        """A server counts a request only after it has answered: the trial may not count among what is measured."""
        end = time.monotonic() + COUNTED_WITHIN_S
        while self._succeeded() == before and time.monotonic() < end:
            time.sleep(0.01)


def _refusal(model: str, reason: str, made_up: bool) -> WrongUse:
    """A remedy in the server's words is one for data that somebody chose."""
    what, _, fix = reason.partition("\nfix: ")
    if made_up:
        message = f"{model} refuses a trial request, made up of random data: {what}"
        return WrongUse(message, fix="give --golden DIR, the repository that is served, or -i NAME=@FILE")
    fix = fix or "give inputs that it answers: -i NAME=@FILE, or --golden DIR"
    return WrongUse(f"{model} refuses a trial request: {what}", fix=fix)


def on_this_machine(url: str) -> bool:
    """Whether HOST:PORT is here: only such an address can be bound."""
    host = url.rpartition(":")[0].strip("[]") or url
    for family, kind, protocol, _, address in socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM):
        with socket.socket(family, kind, protocol) as trial, suppress(OSError):
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
