"""Sizes: how large each output is, before the graph runs: npu_ge makes room for it by the configuration alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Union

from ops import SpecError

from ..dims import Expression, clash
from .gears import Gears, Shape
from .mode import ANY_BATCH, BATCHED, Mode
from .ports import Port, Ports

Dim = Union[int, Expression]
Place = tuple[int, int]  # which input, which of its dims


@dataclass(frozen=True)
class Sizes:
    """outputs: the dims of each, in order; follows: the first axis is as long as the first input's.

    variables: where the size that a name stands for is read.
    """

    outputs: tuple[tuple[Dim, ...], ...]
    follows: bool
    variables: dict[str, Place]

    @classmethod
    def of(cls, mode: Mode, outputs: Sequence[Port], model: Ports, gears: Gears | None) -> Sizes:
        """outputs: as configured. Errors: SpecError (V14) for a dim whose size npu_ge cannot compute."""
        follows = mode in (*BATCHED, *ANY_BATCH)
        variables = _variables(model.inputs, start=1 if mode in ANY_BATCH else 0)
        dims: list[tuple[Dim, ...]] = []
        for port, known in zip(outputs, model.outputs):
            inner = port.dims[1:] if mode in ANY_BATCH else port.dims
            names = known.names[len(known.names) - len(inner) :] or ("",) * len(inner)  # of a TensorFlow graph: none
            dims.append(tuple(_dim(dim, name, port, variables) for dim, name in zip(inner, names)))
        sizes = cls(tuple(dims), follows, variables)
        sizes._refuse_zero_divisors(gears)
        return sizes

    def shapes(self, inputs: Sequence[Shape]) -> list[Shape]:
        """The whole shape of each output.

        Errors: SpecError for a division by zero, or a size below zero.
        """
        values = self._values(inputs)
        first = inputs[0][:1] if self.follows else ()
        shapes = [(*first, *(_value(dim, values) for dim in dims)) for dims in self.outputs]
        for shape in shapes:
            if any(size < 0 for size in shape):
                raise SpecError(f"an output would be {list(shape)}", fix="look at the names of its dims", rule="V14")
        return shapes

    def _values(self, inputs: Sequence[Shape]) -> dict[str, int]:
        return {name: inputs[port][axis] for name, (port, axis) in self.variables.items()}

    def _refuse_zero_divisors(self, gears: Gears | None) -> None:
        reachable = [self._values(shapes) for shapes in gears.shapes] if gears else None
        for expression in self._expressions():
            if expression.may_divide_by_zero(reachable):
                raise SpecError(
                    f"{expression.text!r} divides by what may be 0; the real backend ends the server then",
                    fix="divide by a number, or give gears",
                    rule="V14",
                )

    def _expressions(self) -> Iterator[Expression]:
        return (dim for dims in self.outputs for dim in dims if isinstance(dim, Expression))


def _variables(inputs: Sequence[Port], start: int) -> dict[str, Place]:
    variables: dict[str, Place] = {}
    for index, port in enumerate(inputs):
        for axis, name in enumerate(port.names):
            if name and axis >= start:
                variables.setdefault(name, (index, axis))
    return variables


def _dim(dim: int, name: str, port: Port, variables: dict[str, Place]) -> Dim:
    if dim != -1:
        return dim
    if not name:
        raise SpecError(f"output '{port.name}': -1 dim has no name", fix="name the dim in the ONNX file", rule="V14")
    try:
        expression = Expression(name)
    except SpecError as error:
        raise SpecError(f"output '{port.name}': {error.message}", fix=error.fix, rule="V14") from error
    for unknown in sorted(expression.names - set(variables)):
        raise SpecError(
            f"output '{port.name}', dim {name!r}: {unknown} have not find",
            fix=f"use the names of input dims: {', '.join(variables) or 'there are none'}",
            rule="V14",
        )
    for used in sorted(expression.names):
        other = clash(used, frozenset(variables))
        if other is not None:
            raise SpecError(
                f"output '{port.name}', dim {name!r}: npu_ge replaces '{other}' inside '{used}'",
                fix="rename one of the two dims",
                rule="V14",
            )
    return expression


def _value(dim: Dim, values: dict[str, int]) -> int:
    return dim if isinstance(dim, int) else dim.value(values)
