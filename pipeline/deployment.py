"""Deployment: the one settings object."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, Union

from ge_engine.gears import Gears
from ops import SpecError

from .near import near

Batches = tuple[int, ...]
T = TypeVar("T")
PerModel = Union[T, Mapping[str, T]]
PRECISIONS = ("origin", "fp16", "cube_fp16in_fp32out", "mixed_float16", "mixed_bfloat16")
BACKENDS = ("npu_ge", "onnxruntime")


@dataclass(frozen=True)
class Batching:
    """How single requests are merged: wait at most max_delay_us for a batch of one of the preferred sizes."""

    max_delay_us: int = 0
    preferred: tuple[int, ...] = ()
    max_pending: int = 1024


@dataclass(frozen=True)
class Deployment:
    """Every setting of a compiled pipeline. A mapping by Model name sets a field for each model.

    Run:     gears (batch sizes), streams (execution contexts), threads (CPU, for each stream; None: the cores divided
             by the streams), batching, exact (only passes that keep every byte)
    NPU:     device_ids, cores ("cube|vector"), precision, static, profiling, dump_graph
    Triton:  target (the server's release), model_backend, max_batch_size (None: the largest gear), host_instances,
             warmup, response_cache, name_prefix

    Errors: SpecError for a value that the field cannot have.

    >>> Deployment(gears=(4, 1)).gears_of("yolo11n")
    (1, 4)
    >>> Deployment(gears={"image": (1, 4)}).gears_of("text")
    (1,)
    """

    gears: PerModel[Batches] = (1,)
    streams: int = 1
    threads: int | None = None
    batching: Batching = Batching()
    exact: bool = False
    device_ids: tuple[int, ...] = (0,)
    cores: PerModel[str] | None = None
    precision: PerModel[str] = "origin"
    static: bool = False
    profiling: bool = False
    dump_graph: bool = False
    target: str = "24.02"
    model_backend: str = "npu_ge"
    max_batch_size: int | None = None
    host_instances: int = 1
    warmup: bool = False
    response_cache: bool = False
    name_prefix: str = ""

    def __post_init__(self) -> None:
        set_field = object.__setattr__  # frozen: only to bring what the user wrote to one form
        if isinstance(self.gears, Mapping):
            set_field(self, "gears", {name: _batches(value) for name, value in self.gears.items()})
        else:
            set_field(self, "gears", _batches(self.gears))
        if isinstance(self.batching, Mapping):
            set_field(self, "batching", Batching(**self.batching))
        set_field(self, "device_ids", tuple(self.device_ids))
        for name in ("streams", "host_instances"):
            _at_least_one(name, getattr(self, name))
        for name in ("threads", "max_batch_size"):
            if getattr(self, name) is not None:
                _at_least_one(name, getattr(self, name))
        for value in self.precision.values() if isinstance(self.precision, Mapping) else (self.precision,):
            _one_of("precision", value, PRECISIONS)
        _one_of("model_backend", self.model_backend, BACKENDS)

    @classmethod
    def of(cls, deployment: Deployment | None = None, **fields: Any) -> Deployment:
        """A Deployment, or its fields, or one with some fields changed.

        Errors: SpecError for an unknown field, with the near miss.
        """
        known = [field.name for field in dataclasses.fields(cls)]
        for name in fields:
            if name not in known:
                raise SpecError(f"a Deployment has no field {name!r}", fix=near(name, known))
        return dataclasses.replace(deployment or cls(), **fields)

    @classmethod
    def from_json(cls, text: str) -> Deployment:
        """Errors: SpecError for what is not a JSON object of known fields."""
        try:
            document = json.loads(text)
        except ValueError as error:
            raise SpecError(f"the deployment is not JSON: {error}", fix="write it with Deployment.to_json") from error
        if not isinstance(document, dict):
            raise SpecError("the deployment is not a JSON object", fix="write it with Deployment.to_json")
        return cls.of(**document)

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=2)

    def gears_of(self, model: str) -> Batches:
        """The batch sizes of a model; (1,) where a mapping does not name it."""
        return self.gears.get(model, (1,)) if isinstance(self.gears, Mapping) else self.gears

    def named_models(self) -> dict[str, tuple[str, ...]]:
        """For each field given as a mapping, the models it names."""
        fields = {name: getattr(self, name) for name in ("gears", "cores", "precision")}
        return {name: tuple(value) for name, value in fields.items() if isinstance(value, Mapping)}


def _batches(value: Any) -> Batches:
    if isinstance(value, str):
        gears = Gears.parse(value)
        if gears.sizes:
            raise SpecError(
                f"gears {value!r} are sizes",
                fix="gears holds batch sizes; give sizes to the op, as Letterbox(sizes=...)",
            )
        return gears.batches
    if isinstance(value, int):
        value = (value,)
    if not isinstance(value, Sequence):
        raise SpecError(f"gears {value!r} is not a tuple of batch sizes", fix="write (1, 2, 4, 8)")
    return Gears.of_batches(value).batches


def _at_least_one(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise SpecError(f"{name} is {value!r}", fix="give a whole number of at least 1")


def _one_of(name: str, value: Any, choices: Sequence[str]) -> None:
    if value not in choices:
        raise SpecError(f"{name} is {value!r}", fix=near(str(value), choices))
