"""Points: the input shapes at which a mended model is compared with the original."""

from __future__ import annotations

from collections.abc import Sequence

from ops import ModelError

from ..runtime import first_line
from ..shapes import Shape
from .axis_names import Sizes, is_batch, place, shape_at
from .file_facts import Port
from .free_axes import Axes
from .proof import Original, Point

_TRIALS = (32, 64, 16, 8, 48, 4, 128, 224, 320, 640, 1)  # sizes of axes that have none, tried in this order
_BATCHES = (1, 2)  # where no gears are given


def trial_sizes(original: Original, path: str, inputs: Sequence[Port], sizes: Sequence[Sizes], free: Axes) -> Sizes:
    """By its place ("x.2"), a size for each axis that varies, or is free, beside the batch, at which the original runs.

    sizes: those that the user gave; the first is taken. Errors: ModelError where it runs at none.
    """
    open_axes = tuple(dict.fromkeys(name for port in inputs for name in shape_at(port, 1, {})[1]))
    fault: BaseException | None = None
    for trial in sizes[:1] or [dict.fromkeys(open_axes, size) for size in (_TRIALS if open_axes else (1,))]:
        point = {port.name: _whole(port, 1, trial) for port in inputs}
        try:
            original.answer(point)
        except Exception as error:  # ONNX Runtime has no family of exceptions
            fault = fault or error
            continue
        return {
            place(port, axis): size
            for port in inputs
            for axis, size in enumerate(point[port.name])
            if (axis in free.get(port.name, ()) or not isinstance((port.dims or ())[axis], int))
            and not is_batch(port, axis)
        }
    assert fault is not None
    raise ModelError(
        f"{path} runs at none of the sizes that were tried, so that no fix can be proven: {first_line(fault)}",
        fix=f"give sizes at which it runs: --at {','.join(f'{name}=640' for name in open_axes) or 'NAME=SIZE'}",
    ) from fault


def points_of(
    inputs: Sequence[Port], batches: Sequence[int] | None, sizes: Sequence[Sizes], free: Axes
) -> tuple[Point, ...]:
    """Every gear. Where declared sizes need not hold: as declared, with the batches, and twice as high and wide."""
    every: dict[str, Point] = {}
    for size in sizes:
        for batch in sorted(batches or _BATCHES):
            for times in (0, 1, 2) if any(free.values()) else (0,):
                point = {port.name: _scaled(port, batch, size, free.get(port.name, ()), times) for port in inputs}
                every.setdefault(str(point), point)
    return tuple(every.values())


def open_shapes(inputs: Sequence[Port], free: Axes) -> dict[str, Shape]:
    """The declared shapes without the sizes that need not hold."""
    return {
        port.name: tuple(
            None if axis in free.get(port.name, ()) or not isinstance(dim, int) else dim
            for axis, dim in enumerate(port.dims or ())
        )
        for port in inputs
    }


def _scaled(port: Port, batch: int, sizes: Sizes, free: Sequence[int], times: int) -> tuple[int, ...]:
    """times: 0 for what is declared, else how often the free height and width."""
    shape = _whole(port, batch, sizes, free if times else ())
    return tuple(
        size * times if times and axis in free and not is_batch(port, axis) else size for axis, size in enumerate(shape)
    )


def _whole(port: Port, batch: int, sizes: Sizes, free: Sequence[int] = ()) -> tuple[int, ...]:
    shape, _ = shape_at(port, batch, sizes, free)
    return tuple(dim if isinstance(dim, int) else 1 for dim in shape)
