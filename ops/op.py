"""Op, Edge, and the small protocols through which an op meets what stands above it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar, get_args, get_origin, runtime_checkable

from .errors import DeclarationError, SpecError
from .spec import Array, TensorSpec
from .where import Where, caller

R = TypeVar("R")
_ANY_POSITION, _ANY_NAME = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


@dataclass(frozen=True)
class Call:
    """An op called on edges, as written at `where`; nothing is checked yet."""

    op: Op[Any]
    inputs: tuple[Edge, ...]
    named: Mapping[str, Edge]
    name: str | None
    where: Where


class Sink(Protocol):
    """What an edge belongs to: the pipeline that collects calls."""

    def add(self, call: Call) -> int:
        """Take the call; the number of its node."""


@dataclass(frozen=True, eq=False)
class Edge:
    """A value between nodes: output `output` of node `node` ("" stands for the first output)."""

    sink: Sink
    node: int
    output: str = ""


class Value(Protocol):
    """A tensor of a graph under construction, with a leading batch axis."""

    @property
    def spec(self) -> TensorSpec:
        """Of one sample; known for the values that an op is given, not for those made in between."""


class Builder(Protocol):
    """Where `lower` writes.

    An input of `lower` that is a constant of the pipeline has a leading axis of 1, so it broadcasts over the batch.
    """

    @property
    def opset(self) -> int: ...

    def op(self, op_type: str, *inputs: Value, **attributes: Any) -> Value:
        """Add an ONNX node with one output."""

    def constant(self, array: Array) -> Value:
        """Add an initializer, exactly as given (no axis is added)."""


@runtime_checkable
class Lowerable(Protocol):
    """An op that can be expressed in ONNX."""

    def lower(self, g: Builder, *values: Any) -> Any: ...


class Op(Generic[R]):
    """One step of a pipeline: a frozen dataclass with `infer`, `run` and, where ONNX can say it, `lower`.

    infer(*specs) -> spec or a tuple of specs   called by validate only; attribute checks live here
    run(*arrays, out=None) -> array or tuple    one sample; `out` is an array for one output, a mapping with
                                                any subset for several; returns what it wrote, and leaves its
                                                inputs as they are: what others read too comes read-only
    lower(g, *values) -> value or tuple         with a leading batch axis; an op without it stays on the host
    gear(*arrays) -> int                        only of an op that emits Graded dims: the index of the size that run
                                                will take for these arrays, so that it can be handed the right `out`

    `Op[Edge]` has one output; `Op[SomeNamedTuple]` has the outputs that the NamedTuple names. The inputs are the
    parameters of `infer`. A user's own op works like a built-in one.
    """

    _bundle: ClassVar[Any] = None

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for base in getattr(cls, "__orig_bases__", ()):
            if isinstance(get_origin(base), type) and issubclass(get_origin(base), Op):
                (result,) = get_args(base)
                cls._bundle = result if hasattr(result, "_fields") else None
        REGISTRY[op_key(cls)] = cls

    def infer(self, *specs: Any, **named: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.infer")

    def run(self, *arrays: Any, **named: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.run")

    @property
    def input_names(self) -> tuple[str, ...]:
        parameters = inspect.signature(self.infer).parameters.values()
        open_ended = [parameter for parameter in parameters if parameter.kind in (_ANY_POSITION, _ANY_NAME)]
        if open_ended:
            raise SpecError(
                f"infer takes {open_ended[0]}: its inputs have no names",
                fix="name each input as a parameter of infer, or define the property input_names",
            )
        return tuple(parameter.name for parameter in parameters)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The fields of the bundle; ("",) for an op with one output."""
        return ("",) if self._bundle is None else tuple(self._bundle._fields)

    @property
    def default_name(self) -> str:
        """What its node is called unless `name=` says otherwise: CenterCrop is center_crop."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", type(self).__name__).lower()

    def __call__(self, /, *inputs: Edge, name: str | None = None, **named: Edge) -> R:
        where = caller()
        if isinstance(name, Edge):
            raise DeclarationError(
                f"{type(self).__name__}: name= is given an edge, but it names the node",
                fix="pass the edge by position",
                where=str(where),
            )
        given = {**{f"input {i + 1}": edge for i, edge in enumerate(inputs)}, **named}
        for label, edge in given.items():
            if not isinstance(edge, Edge):
                fields = getattr(edge, "_fields", ())
                fix = (
                    f"pass one of its outputs: {', '.join(f'.{field}' for field in fields)}"
                    if fields
                    else "pass an edge"
                )
                raise DeclarationError(
                    f"{type(self).__name__}, {label}: {type(edge).__name__} is not an edge", fix=fix, where=str(where)
                )
        if not given:
            raise DeclarationError(
                f"{type(self).__name__} is called without an input", fix="pass an edge", where=str(where)
            )
        sink = next(iter(given.values())).sink
        return self._result(sink, sink.add(Call(self, inputs, dict(named), name, where)))

    def _result(self, sink: Sink, node: int) -> R:
        result: Any
        if self._bundle is None:
            result = Edge(sink, node)
        else:
            result = self._bundle(*(Edge(sink, node, output) for output in self.output_names))
        return result  # type: ignore[no-any-return]  # R is what the class was declared with


REGISTRY: dict[str, type[Op[Any]]] = {}


def op_key(cls: type[Op[Any]]) -> str:
    """The name an op class goes by in JSON: `ops:Resize` for a built-in one, `module:Class` for a user's."""
    module = cls.__module__
    package = module.partition(".")[0]
    return f"{package if package in ('ops', 'ge_engine') else module}:{cls.__qualname__}"
