"""Op, Edge, and the small protocols through which an op meets what stands above it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NoReturn, Protocol, TypeVar, get_args, get_origin, runtime_checkable

from .errors import DeclarationError, SpecError
from .near import near
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


def _refuse(edge: Edge, *others: Any) -> NoReturn:
    raise DeclarationError(
        "an edge stands for a value of every sample: it can neither be calculated with nor be taken apart",
        fix="put an op there: ops.Normalize scales and shifts, ops.Cast converts; for all else write your own op",
        where=str(caller()),
    )


for _operator in (
    *(f"{side}{name}" for side in ("", "r") for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")),
    *("matmul", "rmatmul", "neg", "abs", "lt", "le", "gt", "ge", "getitem"),
):
    setattr(Edge, f"__{_operator}__", _refuse)  # not in the class: a type checker says it by itself
Edge.__array_ufunc__ = None  # type: ignore[attr-defined]  # numpy's own operators ask the edge, too


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

    def ops(self, op_type: str, count: int, *inputs: Value, **attributes: Any) -> tuple[Value, ...]:
        """Add an ONNX node with so many outputs."""

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

    lowered_within: how far `lower` may be from `run`, as a share of the largest value: 0.0 for the same bytes, None
    where that is not known. With exact=True only an op of 0.0 runs inside a model's graph.

    `Op[Edge]` has one output; `Op[SomeNamedTuple]` has the outputs that the NamedTuple names. The inputs are the
    parameters of `infer`. A user's own op works like a built-in one.
    """

    lowered_within: ClassVar[float | None] = None
    _bundle: ClassVar[Any] = None

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for base in getattr(cls, "__orig_bases__", ()):
            if isinstance(get_origin(base), type) and issubclass(get_origin(base), Op):
                (result,) = get_args(base)
                cls._bundle = result if hasattr(result, "_fields") else None
        REGISTRY[op_key(cls)] = cls

    def __new__(cls, /, *given: Any, **settings: Any) -> Op[R]:
        """Errors: DeclarationError for a setting that the op does not have, with the op that has it."""
        if cls.__init__ is object.__init__ and (given or settings):
            message = f"{cls.__name__} takes no settings"
            fix = f"put @dataclass(frozen=True) above class {cls.__name__}, and name its settings as fields"
            raise DeclarationError(message, fix=fix, where=str(caller()))
        known = inspect.signature(cls.__init__).parameters if settings else {}
        if not any(parameter.kind == _ANY_NAME for parameter in known.values()):
            for name in (name for name in settings if name not in known):
                raise _no_setting(cls, name, [*known][1:])
        return super().__new__(cls)

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
    def largest(self) -> Mapping[str, int]:
        """The largest whole number that an output can hold, by its name, where that is known."""
        return {}

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
                raise not_an_edge(f"{type(self).__name__}, {label}", edge, where)
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


def _no_setting(cls: type[Op[Any]], name: str, known: list[str]) -> DeclarationError:
    """Says which of our own ops has it, if few do."""
    others = [other for other in REGISTRY.values() if other.__module__.partition(".")[0] == __package__]
    having = [other.__name__ for other in others if name in getattr(other, "__dataclass_fields__", ())]
    fix = near(name, known)
    if 0 < len(having) < 3:
        fix = f"ops.{' and ops.'.join(having)} has it; {cls.__name__} has {', '.join(known) or 'none'}"
    return DeclarationError(f"{cls.__name__} has no setting '{name}'", fix=fix, where=str(caller()))


def not_an_edge(reader: str, value: Any, where: Where) -> DeclarationError:
    """What was given instead of an edge, and how to get the edge that was meant."""
    kind = type(value).__name__
    if isinstance(value, Op):
        message = f"{kind} is not called"
        fix = f"call it on what it reads: {kind}(...)(x), settings in the first pair of brackets, edges in the second"
    else:
        fields = ", ".join(f".{field}" for field in getattr(value, "_fields", ()))
        message = f"{kind} is not an edge"
        fix = f"pass one of its outputs: {fields}" if fields else "pass what an op or pipeline.input returned"
    return DeclarationError(f"{reader}: {message}", fix=fix, where=str(where))


REGISTRY: dict[str, type[Op[Any]]] = {}


def by_output(op: Op[Any], made: Any) -> dict[str, Any]:
    """What infer, run or lower of an op has given, by the names of its outputs."""
    return dict(zip(op.output_names, made if isinstance(made, tuple) else (made,)))


def op_key(cls: type[Op[Any]]) -> str:
    """The name an op class goes by in JSON: `ops:Resize` for a built-in one, `module:Class` for a user's."""
    module = cls.__module__
    package = module.partition(".")[0]
    return f"{package if package in ('ops', 'ge_engine') else module}:{cls.__qualname__}"
