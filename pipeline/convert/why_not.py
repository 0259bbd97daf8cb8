"""Why not: the reason for which what was made departs from its source, as far as that can be found out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ops import DeviceError

from ..axis_sizes import at_text
from .answers import source_answers
from .axes import Sizes, batch_axis, place_of
from .comparison import compared
from .samples import BATCHES, Point, Sampler
from .source import TORCH
from .trial import Pair, Tried

_EVAL = (
    "leave out what is random beyond training: in PyTorch dropout(x, training=self.training) and no train() after "
    "eval(); in TensorFlow a signature that calls the model with training=False"
)


class WhyNot(NamedTuple):
    """In words, and what to do."""

    reason: str
    fix: str


def why_not(pair: Pair, sampler: Sampler, tried: Sequence[Tried], traced: Sizes, rows: int) -> WhyNot:
    """traced, rows: the sizes and the batch with which it was made, where it is right if it is right anywhere.

    Errors: as Pair.tried.
    """
    at_fault = [one for one in tried if not one.ok]
    alone = _alone(pair, sampler, at_fault, traced, rows)
    anchor, *changed = pair.tried([sampler.point(traced, rows), *alone.values()])
    if not anchor.ok:
        return _random(pair, tried[0]) or _departs(pair, at_fault[0])
    fixed = {name: one for name, one in zip(alone, changed) if one.rows and not one.ok}
    if not fixed:
        return _departs(pair, at_fault[0])
    made_with = {**traced, batch_axis(pair.model.inputs, traced): rows}
    return _fixed(pair, fixed, {name: made_with[name] for name in fixed})


def _alone(pair: Pair, sampler: Sampler, at_fault: Sequence[Tried], traced: Sizes, rows: int) -> dict[str, Point]:
    """For each axis that was not as it was traced, inputs where it alone is otherwise."""
    sizes = {name: size for one in at_fault for name, size in one.point.sizes.items() if size != traced.get(name)}
    points = {name: sampler.point({**traced, name: size}, rows) for name, size in sizes.items()}
    batch = batch_axis(pair.model.inputs, traced)
    other = next(size for size in reversed(BATCHES) if size != rows)
    return {**points, batch: sampler.point(traced, other)} if batch else points


def _fixed(pair: Pair, fixed: dict[str, Tried], traced: Sizes) -> WhyNot:
    found = {name: place_of(name, pair.model.inputs) for name in fixed}
    places = [f"'{name}' (axis {axis} of input '{of}')" for name, (of, axis) in found.items()]
    first = next(iter(fixed.values()))
    does = f"fails: {first.got.message}" if isinstance(first.got, DeviceError) else "gives something else"
    how = f", which was traced with {at_text(traced)}" if pair.source.kind == TORCH else ""
    reason = (
        f"{' and '.join(places)} cannot vary in what was made{how}: on {first.point.shapes} the source answers, and "
        f"what was made {does}"
    )
    if pair.source.kind == TORCH:
        name, axis = next(iter(found.values()))
        fix = (
            f"in the model's code take a size from the tensor, as {name}.shape[{axis}], without a number or int() "
            "around it; or write a number there, in a JSON file of the inputs"
        )
    else:
        fix = "use it at one size: -o models/NAME --at NAME=SIZE"
    return WhyNot(reason, fix)


def _random(pair: Pair, first: Tried) -> WhyNot | None:
    """Whether the source gives other answers when it is asked, or made, again."""
    once, twice = source_answers(pair.source, [first.point.feeds] * 2, pair.options)
    if isinstance(first.wanted, DeviceError) or isinstance(once, DeviceError) or isinstance(twice, DeviceError):
        return None
    tolerance = pair.options.tolerance
    if not all(row.ok for row in compared("", once, twice, tolerance)):
        return WhyNot("the source answers the same inputs differently each time", _EVAL)
    if not all(row.ok for row in compared("", first.wanted, once, tolerance)):
        return WhyNot(
            f"each time that {pair.source.path} is called it makes another model",
            "let it load the trained weights; or, to try it with random ones, call torch.manual_seed(0) first in it",
        )
    return None


def _departs(pair: Pair, one: Tried) -> WhyNot:
    if isinstance(one.got, DeviceError):
        return WhyNot(f"it fails on {one.point.shapes}: {one.got.message}", one.got.fix)
    return WhyNot(
        f"it departs from its source by more than {pair.options.tolerance:g}",
        "try another --opset; or, if these figures are good enough, a larger --tolerance",
    )
