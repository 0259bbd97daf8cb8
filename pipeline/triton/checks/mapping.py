"""An ensemble against the models of its steps: E20-E23, E30-E36, L03, L06, L10, L15, L16."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ops.near import near

from ..model import Model
from ..problem import Place, Problem
from ..tensor import Tensor, tensor_of
from .ensemble import STEP, map_place
from .npu_options import Options


@dataclass(frozen=True)
class _Seen:
    """The first type and dims of an ensemble tensor, and who said them; later ones are compared with these only."""

    model: str
    tensor: Tensor
    batched: bool

    @property
    def full(self) -> tuple[int, ...]:
        return (-1, *self.tensor.dims) if self.batched else self.tensor.dims


class _Mapping:
    """One ensemble, and the models that can be loaded."""

    def __init__(self, model: Model, models: Mapping[str, Model]) -> None:
        self.model = model
        self.models = models
        self.name = model.name
        self.start = f"in ensemble {model.name}, "
        self.seen: dict[str, _Seen] = {}

    def check(self) -> Iterator[Problem]:
        self._record_own()
        for index, step in enumerate(self.model.config.ensemble_scheduling.step):
            found = self.models.get(step.model_name)
            if found is None or found.config is None or any(problem.refused for problem in found.problems):
                continue  # E20 or E22 says so
            yield from self._version(index, step, found)
            yield from self._batch(index, step, found)
            for kind in ("input", "output"):
                yield from self._side(index, step, found, kind)
        yield from self._decoupled()

    def _record_own(self) -> None:
        batched = self.model.max_batch_size > 0
        for kind in ("input", "output"):
            for item in getattr(self.model.config, kind):
                own = tensor_of(item)
                if item.HasField("reshape"):
                    own = Tensor(own.name, own.data_type, tuple(item.reshape.shape), own.optional)
                self.seen.setdefault(own.name, _Seen(self.name, own, batched))

    def _version(self, index: int, step: Any, found: Model) -> Iterator[Problem]:
        version = step.model_version
        if version != -1 and version not in found.versions:
            message = (
                f"ensemble '{self.name}' depends on '{found.name}' whose required version {version} is not loaded."
            )
            yield Problem("E23", self.model.at(*STEP, index), message, "write model_version: -1")

    def _batch(self, index: int, step: Any, found: Model) -> Iterator[Problem]:
        own, theirs = self.model.max_batch_size, found.max_batch_size
        place = self.model.at(*STEP, index)
        if 0 < theirs < own:
            message = (
                f"ensemble {self.name} allows maximum batch size {own}, but it contains model {found.name} which only "
                f"allows maximum batch size to be {theirs}"
            )
            yield Problem("E30", self.model.at("max_batch_size"), message, f"write max_batch_size: {theirs}")
        elif own > 1 and theirs == 0 and self._one_row_only(found):
            message = (
                f"step {index} ({found.name}) has no batch axis, and dims of a fixed size: in this ensemble of "
                f"max_batch_size {own} any batch above 1 fails (R06)"
            )
            yield Problem("L03", place, message, f"give {found.name} max_batch_size: {own}, or the ensemble 0", "fails")

    def _one_row_only(self, found: Model) -> bool:
        """Whether a model without a batch axis cannot take the rows of a batch: its first axis is not variable."""
        return any(not tensor.dims or tensor.dims[0] != -1 for tensor in found.inputs)

    def _side(self, index: int, step: Any, found: Model, kind: str) -> Iterator[Problem]:
        """The inputs or the outputs of a step."""
        tensors = {tensor.name: tensor for tensor in getattr(found, f"{kind}s")}
        mapped = getattr(step, f"{kind}_map")
        for key, name in sorted(mapped.items()):
            place = map_place(self.model, index, f"{kind}_map", key)
            if key in tensors:
                yield from self._compare(name, tensors[key], found, place, kind)
            elif not found.open:
                way = "mapping to" if kind == "input" else "mapped from"
                message = f"{self.start}ensemble tensor {name} is {way} non-existing {kind} {key} in model {found.name}"
                yield Problem("E31" if kind == "input" else "E32", place, message, _right_name(key, found, kind))
        for name, tensor in tensors.items() if kind == "input" else ():
            if name not in mapped and not tensor.optional:
                message = f"{self.start}input {name} in model {found.name} is not mapped to any ensemble tensors"
                fix = f'write input_map {{ key: "{name}" value: "..." }}'
                if name not in _names(found, kind):
                    fix = f"mend the name in {found.name} first (V09)"
                yield Problem("E33", self.model.at(*STEP, index), message, fix)

    def _compare(self, name: str, tensor: Tensor, found: Model, place: Place, kind: str) -> Iterator[Problem]:
        new = _Seen(found.name, tensor, found.max_batch_size > 0)
        first = self.seen.setdefault(name, new)
        if first is new:
            return
        start = f"{self.start}ensemble tensor {name}: inconsistent"
        if first.tensor.data_type != tensor.data_type:
            message = (
                f"{start} data type: {first.tensor.data_type} is inferred from model {first.model} while "
                f"{tensor.data_type} is inferred from model {found.name}"
            )
            fix = f"use {first.tensor.data_type} in both, or convert in a step between"
            unread = self._unread(new) if kind == "input" else []
            if len(unread) == 1:
                fix = f"read '{unread[0]}' instead, which fits and which nothing reads; or {fix}"
            yield Problem("E34", place, message, fix)
        if not (_fits(first.tensor.dims, tensor.dims) or _fits(first.full, new.full)):
            message = (
                f"{start} shape: {_shape(first.full)} is inferred from model {first.model} while "
                f"{_shape(new.full)} is inferred from model {found.name}"
            )
            fix = "use the same dims and max_batch_size in both; `reshape` of a step's model is not looked at"
            yield Problem("E35", place, message, fix)
        elif first.batched == new.batched and self._loose(first, tensor, found.name):
            message = f"'{name}' is {_shape(first.full)} in {first.model} and {_shape(new.full)} in {found.name}"
            yield Problem("L10", place, f"{message}: a wrong size is found at a request only", "write the size in both")
        if kind == "input" and first.model == self.name and first.tensor.optional and not tensor.optional:
            message = f"'{name}' may be missing in a request, and {found.name} needs it (R04)"
            yield Problem("L06", place, message, "make it optional in both, or in neither", "fails")

    def _unread(self, wanted: _Seen) -> list[str]:
        """The tensors that nothing reads, and that have this type and these dims."""
        steps = self.model.config.ensemble_scheduling.step
        read = {name for step in steps for name in step.input_map.values()}
        read.update(item.name for item in self.model.config.output)
        made: dict[str, _Seen] = {name: seen for name, seen in self.seen.items() if seen.model == self.name}
        for step in steps:
            found = self.models.get(step.model_name)
            if found is None or found.config is None:
                continue
            for tensor in found.outputs:
                if tensor.name in step.output_map:
                    made[step.output_map[tensor.name]] = _Seen(found.name, tensor, found.max_batch_size > 0)
        return [
            name
            for name, seen in sorted(made.items())
            if name not in read and seen.tensor.data_type == wanted.tensor.data_type and _fits(seen.full, wanted.full)
        ]

    def _loose(self, first: _Seen, tensor: Tensor, model: str) -> bool:
        """Whether only a request can show that the sizes agree; an end of the ensemble may vary as its model does.

        What a model with gears reads or makes has to vary: its sizes are the gears.
        """
        if any(name in self.models and Options(self.models[name]).geared for name in (first.model, model)):
            return False
        pairs = list(zip(first.tensor.dims, tensor.dims))
        return any(-1 in pair and (pair[0] != pair[1] or first.model != self.name) for pair in pairs)

    def _decoupled(self) -> Iterator[Problem]:
        """Each decoupled step begins a stream of answers of its own; a step cannot read from two."""
        steps = list(self.model.config.ensemble_scheduling.step)
        origin = {item.name: -1 for item in self.model.config.input}
        waiting = list(range(len(steps)))
        while True:
            able = [index for index in waiting if all(name in origin for name in steps[index].input_map.values())]
            if not able:
                break
            for index in able:
                step = steps[index]
                sources = {origin[name] for name in step.input_map.values()}
                if len(sources) > 1:
                    message = (
                        f"{self.start}step of model '{self.name}' receives inputs originated from different decoupled "
                        "models"
                    )
                    fix = f"let {step.model_name} read from one decoupled model only, and from nothing else"
                    yield Problem("E36", self.model.at(*STEP, index), message, fix)
                here = index if self._is_decoupled(step.model_name) else min(sources, default=-1)
                origin.update(dict.fromkeys(step.output_map.values(), here))
            waiting = [index for index in waiting if index not in able]
        yield from self._fan_out(steps)

    def _fan_out(self, steps: list[Any]) -> Iterator[Problem]:
        readers: dict[str, list[str]] = {}
        for step in steps:
            for name in step.input_map.values():
                readers.setdefault(name, []).append(step.model_name)
        for name, models in sorted(readers.items()):
            slow = [model for model in models if self._is_decoupled(model)]
            if slow and len(models) > 1:
                message = f"'{name}' is read by {' and '.join(models)}, and {slow[0]} is decoupled"
                yield Problem("L16", self.model.at("ensemble_scheduling"), message, f"let {slow[0]} be its only reader")
        limited = {step.model_name for step in steps if self._queue_limit(step.model_name)}
        for name in sorted(limited):
            message = (
                f"{name} refuses requests of this ensemble when its queue of {self._queue_limit(name)} is full (503), "
                "after the steps before it have run"
            )
            yield Problem("L15", self.model.at("ensemble_scheduling"), message, "limit the clients instead")

    def _is_decoupled(self, name: str) -> bool:
        found = self.models.get(name)
        return found is not None and found.config is not None and found.config.model_transaction_policy.decoupled

    def _queue_limit(self, name: str) -> int:
        found = self.models.get(name)
        if found is None or found.config is None:
            return 0
        return int(found.config.dynamic_batching.default_queue_policy.max_queue_size)


def check_mapping(model: Model, models: Mapping[str, Model]) -> Iterator[Problem]:
    """One ensemble against the models of its steps."""
    return _Mapping(model, models).check()


def _names(found: Model, kind: str) -> set[str]:
    """The names of a model's inputs or outputs, without those of its config that V09 finds wrong."""
    wrong = found.onnx is not None and any(problem.rule == "V09" for problem in found.problems)
    tensors = getattr(found.onnx if wrong else found, f"{kind}s")
    return {tensor.name for tensor in tensors}


def _right_name(key: str, found: Model, kind: str) -> str:
    names = _names(found, kind)
    return f"mend the {kind}s of {found.name} (V09), whose file has it" if key in names else near(key, names)


def _fits(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    return len(first) == len(second) and all(a == b or -1 in (a, b) for a, b in zip(first, second))


def _shape(dims: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, dims))}]"
