"""Trial: a model held against its source, on inputs of several sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ops import DeviceError, ModelError

from ..axis_sizes import at_text
from .answers import Answer, Runnable, answer_of, source_answers
from .axes import Sizes, place_of
from .comparison import Answers, Row, compared, paired
from .options import Options
from .samples import Point, Sampler, given
from .source import TORCH, Source


@dataclass(frozen=True)
class Tried:
    """Two models on the same inputs.

    wanted, got: what the source gives, and what was made of it. rows: () where the source itself gives nothing.
    """

    point: Point
    wanted: Answer
    got: Answer
    rows: tuple[Row, ...]

    @property
    def ok(self) -> bool:
        return bool(self.rows) and all(row.ok for row in self.rows)

    @property
    def answers(self) -> Answers:
        """Those of the source, under the names of what was made of it."""
        assert isinstance(self.wanted, dict)
        assert isinstance(self.got, dict)
        return paired(self.wanted, self.got)


@dataclass(frozen=True)
class Pair:
    """A source, and what was made of it."""

    source: Source
    model: Runnable
    options: Options

    def tried(self, points: Sequence[Point]) -> list[Tried]:
        """Errors: as source_answers; ModelError where they have not as many outputs."""
        answers = source_answers(self.source, [point.feeds for point in points], self.options)
        return [self._compared(point, wanted) for point, wanted in zip(points, answers)]

    def _compared(self, point: Point, wanted: Answer) -> Tried:
        if isinstance(wanted, DeviceError):
            return Tried(point, wanted, wanted, ())
        got = answer_of(self.model, point.feeds)
        return Tried(point, wanted, got, tuple(compared(point.label, wanted, got, self.options.tolerance)))


def sampler_of(pair: Pair, sizes: Sizes, ids: Mapping[str, Sequence[int]] | None = None) -> Sampler:
    """Errors: WrongUse for an axis that varies and has no size; ModelError where what was made runs on nothing."""
    try:
        return Sampler(pair.model, sizes, ids)
    except DeviceError as error:
        fix = "return example inputs that it takes from the function" if pair.source.kind == TORCH else error.fix
        raise ModelError(f"the model runs on no random inputs: {error.message}", fix=fix) from error


def held(
    pair: Pair, sampler: Sampler, settings: Sequence[Sizes], everywhere: bool, say: Callable[[str], None]
) -> list[Tried]:
    """The two on random inputs of one sample and of three, at each of the settings, and on the user's own.

    everywhere: other sizes than these have to do, too, so of a single setting the half is tried, or twice.
    Errors: as Pair.tried; ModelError where the source gives nothing.
    """
    points = [*sampler.points(), *map(sampler.point, settings[1:])]
    if pair.options.data is not None:
        points.append(Point(pair.options.data.name, given(pair.options.data, pair.model.inputs)))
    others = _others(settings[0], pair) if everywhere and len(settings) == 1 else []
    tried = pair.tried([*points, *map(sampler.point, others[:1])])
    for other in others[1:]:
        if not tried[-1].rows:
            tried[-1:] = pair.tried([sampler.point(other)])
    if others and not tried[-1].rows:
        tried.pop()
        at = at_text(settings[0])
        say(f"compared at {at} only: the source fails at half and at twice that; add others by --at")
    for one in tried:
        if isinstance(one.wanted, DeviceError):
            fix = "convert it for sizes that it takes: in a JSON file a number for an axis that cannot vary, or --at"
            if pair.source.kind == TORCH:
                name = next(iter(one.point.feeds))
                fix = f"in the model's code take sizes from the tensors, as {name}.shape[0]; or {fix}"
            raise ModelError(f"the source does not run on {one.point.shapes}: {one.wanted.message}", fix=fix)
    return tried


def _others(sizes: Sizes, pair: Pair) -> list[Sizes]:
    """Half of each size, and twice; nothing where only the batch varies."""
    changing = [name for name in sizes if place_of(name, pair.model.inputs)[1]]
    if not changing:
        return []
    half, twice = {name: sizes[name] // 2 or 2 for name in changing}, {name: sizes[name] * 2 for name in changing}
    return [{**sizes, **half}, {**sizes, **twice}]
