"""The wiring of an ensemble's steps, seen in its own config: E05-E07, E09-E16, L01, L02, L04, L19."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ops.near import near

from ..model import Model
from ..outline import Entry
from ..problem import Place, Problem
from ..tensor import tensor_of

STEP = ("ensemble_scheduling", 0, "step")


def check_ensemble(model: Model) -> Iterator[Problem]:
    """The ensemble's own config; what its models say is compared in mapping.py."""
    config = model.config
    if not config.HasField("ensemble_scheduling"):
        return
    yield from _unwanted(model)
    steps = config.ensemble_scheduling.step
    if not steps:
        message = f"must specify 'step' for ensemble '{model.name}'"
        yield Problem("E09", model.at("ensemble_scheduling"), message, "write step [ { ... } ]")
        return
    for index, step in enumerate(steps):
        yield from _step(model, index, step)
    yield from _Wiring(model).check()


def _unwanted(model: Model) -> Iterator[Problem]:
    config, name = model.config, model.name
    if config.instance_group:
        message = f"instance group should not be specified for ensemble '{name}'"
        yield Problem("E05", model.at("instance_group"), message, "write it in the configs of the steps' models")
    if config.HasField("optimization"):
        message = f"optimization should not be specified for ensemble '{name}'"
        yield Problem("E06", model.at("optimization"), message, "write it in the configs of the steps' models")
    if config.model_warmup:
        message = f"model_warmup can not be specified for ensemble '{name}'"
        yield Problem("E07", model.at("model_warmup"), message, "write it in the configs of the steps' models")


def _step(model: Model, index: int, step: Any) -> Iterator[Problem]:
    place = model.at(*STEP, index)
    for field in ("model_name", "input_map", "output_map"):
        if not getattr(step, field):
            message = f"must specify '{field}' in step {index} of ensemble '{model.name}'"
            yield Problem("E10", place, message, f"write {field}")
    entry = model.outline.find(*STEP, index)
    for field in ("input_map", "output_map"):
        keys = Counter(pair.string("key") for pair in entry.all(field))
        for key, count in keys.items():
            if count > 1:
                pairs = _pairs(model, index, field, key)
                lost = ", ".join(f"'{pair.string('value')}'" for pair in pairs[:-1])
                message = f"step {index} maps '{key}' {count} times: the last one counts, {lost} is lost"
                fix = f"map '{key}' once, and let every reader read that tensor"
                yield Problem("E16", Place(model.folder.config_path, pairs[-1].line), message, fix, "fails")
    version = step.model_version
    if version != -1 and step.model_name:
        said = (
            f"says model_version: {version}" if entry.first("model_version") else "leaves model_version out: version 0"
        )
        message = f"step {index} ({step.model_name}) {said}; its config is compared by the latest version's"
        yield Problem("L01", model.at(*STEP, index, "model_version"), message, "write model_version: -1")


class _Wiring:
    """Tensors, who writes and who reads them."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.steps = list(model.config.ensemble_scheduling.step)
        self.inputs = [item.name for item in model.config.input]
        self.outputs = [item.name for item in model.config.output]
        self.writer: dict[str, int] = {}
        self.readers: dict[str, list[int]] = {}
        for index, step in enumerate(self.steps):
            for name in sorted(step.input_map.values()):
                self.readers.setdefault(name, []).append(index)
            for name in sorted(step.output_map.values()):
                self.writer.setdefault(name, index)

    def check(self) -> Iterator[Problem]:
        yield from self._written_twice()
        yield from self._inputs()
        ready = self._ready()
        yield from self._outputs(ready)
        yield from self._between(ready)
        yield from self._exposed()

    def _written_twice(self) -> Iterator[Problem]:
        seen: set[str] = set()
        for index, step in enumerate(self.steps):
            for key, name in sorted(
                step.output_map.items(), key=lambda pair: map_place(self.model, index, "output_map", pair[0])
            ):
                if name in seen:
                    message = (
                        f"ensemble tensor '{name}' can appear in an output map only once for ensemble "
                        f"'{self.model.name}' step {index}"
                    )
                    place = map_place(self.model, index, "output_map", key)
                    yield Problem("E11", place, message, "give the second one a name of its own")
                seen.add(name)

    def _inputs(self) -> Iterator[Problem]:
        for index, name in enumerate(self.inputs):
            if name not in self.readers and name not in self.writer:
                message = f"ensemble input '{name}' for ensemble {self.model.name}' is not used"
                fix = "map it in a step's input_map, or leave it out"
                yield Problem("E12", self.model.at("input", index), message, fix)
            elif name in self.writer:
                step = self.steps[self.writer[name]].model_name
                message = (
                    f"'{name}' is an input, and is written by the step of {step}: it loads, feeds it back for "
                    "ever, never answers, and the server crashes at its stop"
                )
                key = next(k for k, v in self.steps[self.writer[name]].output_map.items() if v == name)
                place = map_place(self.model, self.writer[name], "output_map", key)
                yield Problem("L19", place, message, "give what the step writes a name of its own", "fails")

    def _ready(self) -> set[str]:
        """The tensors that come to be: a step runs when all that it reads is there."""
        ready = set(self.inputs)
        grown = True
        while grown:
            grown = False
            for step in self.steps:
                made = set(step.output_map.values())
                if ready.issuperset(step.input_map.values()) and not made <= ready:
                    ready |= made
                    grown = True
        return ready

    def _outputs(self, ready: set[str]) -> Iterator[Problem]:
        name = self.model.name
        for index, output in enumerate(self.outputs):
            place = self.model.at("output", index)
            if output not in self.writer and output not in self.readers:
                message = f"ensemble output '{output}' for ensemble {name}' is not used"
                yield Problem("E13", place, message, near(output, self.writer))
            elif output not in ready:
                message = f"output '{output}' for ensemble '{name}' is not written"
                missing = self._missing(output, ready)
                if missing:
                    message += f": at least one of its depending tensors, '{missing[0]}', is not connected"
                yield Problem("E14", place, message, self._why(output, ready))

    def _missing(self, tensor: str, ready: set[str]) -> list[str]:
        """What the writer of a tensor waits for in vain."""
        if tensor not in self.writer:
            return []
        return [name for name in sorted(self.steps[self.writer[tensor]].input_map.values()) if name not in ready]

    def _why(self, tensor: str, ready: set[str]) -> str:
        """Walk back to the tensor that nobody writes, or round the circle."""
        path = [tensor]
        while (missing := self._missing(path[-1], ready)) and missing[0] not in path:
            path.append(missing[0])
        if missing:
            circle = [*path[path.index(missing[0]) :], missing[0]]
            return f"break the circle {' <- '.join(circle)}"
        choices = sorted({*self.inputs, *self.writer} - set(path))
        return f"no step writes '{path[-1]}' ({' <- '.join(path)}): {near(path[-1], choices)}"

    def _between(self, ready: set[str]) -> Iterator[Problem]:
        for tensor in sorted({*self.writer, *self.readers} - set(self.outputs)):
            if tensor in ready and tensor in self.readers:
                continue
            index = self.writer.get(tensor, self.readers.get(tensor, [0])[0])
            field = "output_map" if tensor in self.writer else "input_map"
            key = next(k for k, v in getattr(self.steps[index], field).items() if v == tensor)
            message = f"ensemble tensor '{tensor}' is unused in ensemble '{self.model.name}'"
            if tensor in ready:
                fix = f"leave that {field} out, read it in a step, or list it in output"
            else:
                fix = self._why(tensor, ready)
            yield Problem("E15", map_place(self.model, index, field, key), message, fix)

    def _exposed(self) -> Iterator[Problem]:
        declared = {item.name: tensor_of(item) for item in self.model.config.input}
        for index, item in enumerate(self.model.config.output):
            place, name = self.model.at("output", index), item.name
            if name in self.writer and name in self.readers:
                reader = self.steps[self.readers[name][0]].model_name
                message = (
                    f"'{name}' is an output, and is read by the step of {reader}: a request that names fewer outputs "
                    "fails with 'unexpected deadlock' (R10)"
                )
                fix = "let the step that writes it write it twice, the second under another name"
                yield Problem("L02", place, message, fix, "fails")
            found = tensor_of(item)
            if name in declared and name not in self.writer:
                source = declared[name]
                if (source.data_type, source.dims) != (found.data_type, found.dims):
                    message = f"'{name}' is handed through as {source}, and is declared as {found}"
                    yield Problem("L04", place, message, "write the input's type and dims", "fails")


def map_place(model: Model, step: int, field: str, key: str) -> Place:
    """Where a step maps a key; the last place counts."""
    pairs = _pairs(model, step, field, key) or [model.outline.find(*STEP, step)]
    return Place(model.folder.config_path, pairs[-1].line)


def _pairs(model: Model, step: int, field: str, key: str) -> list[Entry]:
    return [pair for pair in model.outline.find(*STEP, step).all(field) if pair.string("key") == key]
