"""Deployment: the one settings object."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, Union

from ge_engine.gears import Gears
from ops import SpecError
from ops.near import near
from ops.spec import require_whole

from .triton.releases import DEFAULT_TARGET, TARGETS

Batches = tuple[int, ...]
T = TypeVar("T")
PerModel = Union[T, Mapping[str, T]]
PRECISIONS = (
    "origin",
    "fp16",
    "cube_fp16in_fp32out",
    "mixed_float16",
    "mixed_bfloat16",
    "mixed_hif8",
    "cube_hif8",
)
BACKENDS = ("npu_ge", "onnxruntime")
LONGEST_US = 86_400_000_000
_FORM = 'write an object of its fields, as {"gears": [1, 4]}; Deployment(...).to_json() makes one'


@dataclass(frozen=True)
class Batching:
    """How the samples of submit and map are merged.

    max_delay_us: how long a sample that is ready for the device waits for others; 0 waits only while no stream is free.
    preferred: a batch of one of these sizes does not wait; the largest of them is the most that is merged. Choose them
    among the gears: on a device with a graph for each gear, another size costs as much as the next gear.
    max_pending: how many samples of submit may wait to be started.
    timeout_us: a sample of submit that has waited so long is not started any more; 0 waits for ever.

    Errors: SpecError for a value that the field cannot have.
    """

    max_delay_us: int = 0
    preferred: tuple[int, ...] = ()
    max_pending: int = 1024
    timeout_us: int = 0

    def __post_init__(self) -> None:
        _microseconds("batching.max_delay_us", self.max_delay_us)
        require_whole("batching.max_pending", self.max_pending)
        _microseconds("batching.timeout_us", self.timeout_us)
        object.__setattr__(self, "preferred", _whole_numbers("batching.preferred", self.preferred, 1))


@dataclass(frozen=True)
class Deployment:
    """Every setting of a compiled pipeline. A mapping by Model name sets gears, cores or precision for each model.

    Run:     gears (batch sizes), streams (execution contexts), threads (CPU, for each stream; None: the cores divided
             by the streams), batching, exact (only passes that keep every byte)
    NPU:     device_ids, cores ("cube|vector"), precision (fp16 and cube_fp16in_fp32out a CPU emulates, where the
             model_backend is npu_ge), static, profiling, dump_graph, dump_data
    Triton:  target (the server's release), model_backend ("npu_ge" or "onnxruntime": it decides, wherever the plan
             runs, which ops run in a model's graph), max_batch_size (None: the largest gear), host_instances, warmup,
             response_cache, name_prefix

    Errors: SpecError for a value that the field cannot have.

    >>> Deployment(gears=(4, 1)).gears_of("yolo11n")
    (1, 4)
    >>> Deployment(gears={"image": (1, 4)}).gears_of("text")
    (1,)
    """

    gears: PerModel[Batches] = (1,)
    streams: int = 1
    threads: int | None = None
    batching: Batching = field(default_factory=Batching)
    exact: bool = False
    device_ids: tuple[int, ...] = (0,)
    cores: PerModel[str] | None = None
    precision: PerModel[str] = "origin"
    static: bool = False
    profiling: bool = False
    dump_graph: bool = False
    dump_data: bool = False
    target: str = DEFAULT_TARGET
    model_backend: str = "npu_ge"
    max_batch_size: int | None = None
    host_instances: int = 1
    warmup: bool = False
    response_cache: bool = False
    name_prefix: str = ""

    def __post_init__(self) -> None:
        set_field = object.__setattr__  # frozen: only to bring what the user wrote to one form
        set_field(self, "gears", _per_model("gears", self.gears, _batches))
        set_field(self, "batching", _batching(self.batching))
        set_field(self, "device_ids", _whole_numbers("device_ids", self.device_ids, 0))
        if not self.device_ids:
            raise SpecError("device_ids is empty", fix="give the cards to use, as (0,)")
        set_field(self, "cores", None if self.cores is None else _per_model("cores", self.cores, _cores))
        set_field(self, "precision", _per_model("precision", self.precision, _precision))
        for name in ("streams", "host_instances"):
            require_whole(name, getattr(self, name))
        for name in ("threads", "max_batch_size"):
            if getattr(self, name) is not None:
                require_whole(name, getattr(self, name))
        for name in ("exact", "static", "profiling", "dump_graph", "dump_data", "warmup", "response_cache"):
            if not isinstance(getattr(self, name), bool):
                raise SpecError(f"{name} is {getattr(self, name)!r}", fix="give True or False")
        _one_of("target", self.target, TARGETS)
        _one_of("model_backend", self.model_backend, BACKENDS)
        if not isinstance(self.name_prefix, str) or not re.fullmatch(r"[A-Za-z0-9_-]*", self.name_prefix):
            raise SpecError(f"name_prefix is {self.name_prefix!r}", fix="use letters, digits, _ and -")

    @classmethod
    def of(cls, deployment: Deployment | None = None, /, **fields: Any) -> Deployment:
        """A Deployment, or its fields, or one with some fields changed.

        Errors: SpecError for an unknown field, with the near miss.
        """
        if deployment is not None and not isinstance(deployment, cls):
            fix = "give a Deployment, or its fields by name, as gears=(1, 4)"
            raise SpecError(f"{deployment!r} is not a Deployment", fix=fix)
        _known("a Deployment", cls, fields)
        return dataclasses.replace(deployment or cls(), **fields)

    @classmethod
    def from_json(cls, text: str) -> Deployment:
        """Errors: SpecError for what is not a JSON object of known fields."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SpecError(f"the deployment is not JSON: {error}", fix=_FORM) from error
        if not isinstance(document, dict):
            raise SpecError("the deployment is not a JSON object", fix=_FORM)
        return cls.of(None, **document)

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=2)

    def __hash__(self) -> int:
        return hash(json.dumps(dataclasses.asdict(self), sort_keys=True))  # mappings have no hash of their own

    def gears_of(self, model: str) -> Batches:
        """The batch sizes of a model; (1,) where a mapping does not name it."""
        return self.gears.get(model, (1,)) if isinstance(self.gears, Mapping) else self.gears

    def named_models(self) -> dict[str, tuple[str, ...]]:
        """For each field given as a mapping, the models it names."""
        fields = {name: getattr(self, name) for name in ("gears", "cores", "precision")}
        return {name: tuple(value) for name, value in fields.items() if isinstance(value, Mapping)}


def _per_model(field: str, value: Any, one: Callable[[str, Any], T]) -> PerModel[T]:
    if not isinstance(value, Mapping):
        return one(field, value)
    for name in value:
        if not isinstance(name, str):
            raise SpecError(f"{field} names the model {name!r}", fix="use the model's name: its file's stem, or name=")
    return {name: one(f"{field} of '{name}'", setting) for name, setting in value.items()}


def _batches(field: str, value: Any) -> Batches:
    if isinstance(value, str):
        gears = Gears.parse(value)
        if gears.sizes:
            raise SpecError(
                f"{field} {value!r} are sizes",
                fix="gears holds batch sizes; give sizes to the op, as Letterbox(sizes=...)",
            )
        return gears.batches
    if isinstance(value, int):
        value = (value,)
    if not isinstance(value, Sequence):
        raise SpecError(f"{field} is {value!r}, no tuple of batch sizes", fix="write (1, 2, 4, 8)")
    return Gears.of_batches(value).batches


def _cores(field: str, value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[1-9][0-9]*\|([1-9][0-9]*)?", value):
        raise SpecError(f"{field} is {value!r}", fix='write "cube|vector", as "12|10"; the second may be left out')
    return value


def _precision(field: str, value: Any) -> str:
    return _one_of(field, value, PRECISIONS)


def _batching(value: Any) -> Batching:
    if isinstance(value, Batching):
        return value
    if not isinstance(value, Mapping):
        raise SpecError(f"batching is {value!r}", fix="give Batching(max_delay_us=..., preferred=..., max_pending=...)")
    _known("batching", Batching, value)
    return Batching(**value)


def _microseconds(field: str, value: Any) -> None:
    require_whole(field, value, least=0)
    if value > LONGEST_US:
        raise SpecError(f"{field} is {value!r}", fix=f"give at most {LONGEST_US:,} microseconds, a day")


def _known(what: str, cls: type[Any], fields: Mapping[str, Any]) -> None:
    known = [field.name for field in dataclasses.fields(cls)]
    of_batching = [] if cls is Batching else [field.name for field in dataclasses.fields(Batching)]
    for name, value in fields.items():
        if name in of_batching:
            fix = f"it is a field of Batching: batching=Batching({name}={value!r})"
            raise SpecError(f"{what} has no field {name!r}", fix=fix)
        if name not in known:
            raise SpecError(f"{what} has no field {name!r}", fix=near(str(name), known))


def _whole_numbers(field: str, value: Any, least: int) -> tuple[int, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise SpecError(f"{field} is {value!r}", fix=f"give a tuple of whole numbers of at least {least}")
    for item in value:
        require_whole(field, item, least=least)
    if len(set(value)) < len(value):
        raise SpecError(f"{field} is {value!r}", fix="name each once")
    return tuple(value)


def _one_of(field: str, value: Any, choices: Collection[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise SpecError(f"{field} is {value!r}", fix=near(str(value), choices))
    return value
