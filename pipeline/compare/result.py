"""Result: what a comparison has found: for people, as JSON, and as the CSV that Ascend's tools write."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from ge_engine.whole_file import write_whole

from .layer import Layer
from .limits import Limits
from .search import Kept

_WORST, _NAMED = 10, 5  # layers that are shown
_LINE = "{:>9} {:>9} {:>9} {:>9} {:>6} {:>6}  "
_COLUMNS = (
    "Index", "OpType", "NPUDump", "DataType", "GroundTruth", "DataType", "TensorIndex", "Shape", "OverFlow",
    "CosineSimilarity", "MaxAbsoluteError", "AccumulatedRelativeError", "RelativeEuclideanDistance",
    "MeanAbsoluteError", "RootMeanSquareError", "MaxRelativeError", "MeanRelativeError", "OverflowCount",
    "UnderflowCount", "CompareFailReason",
)  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """subject, other: what was compared with what. layers: every tensor, the outputs among them. answers: of a
    pipeline, what it answers on both sides, each output as a layer. kept: for each stage, what has to stay in fp32.
    notes: what else there is to know.
    """

    subject: str
    other: str
    samples: int
    limits: Limits
    layers: tuple[Layer, ...]
    answers: tuple[Layer, ...]
    kept: Mapping[str, Kept]
    notes: tuple[str, ...]

    @property
    def outputs(self) -> tuple[Layer, ...]:
        return tuple(layer for layer in self.layers if layer.is_output)

    @property
    def first_departing(self) -> Layer | None:
        return next((layer for layer in self.layers if layer.departs(self.limits)), None)

    @property
    def agrees(self) -> bool:
        """Whether every output of the models was compared, and is within the limits. The pipeline's answers are shown
        beside it: a box more at a threshold is no fault of a graph.
        """
        outputs = self.outputs
        return bool(outputs) and not any(layer.departs(self.limits) or layer.fault for layer in outputs)

    def as_dict(self) -> dict[str, Any]:
        first = self.first_departing
        return {
            "subject": self.subject,
            "other": self.other,
            "samples": self.samples,
            "limits": asdict(self.limits),
            "agrees": self.agrees,
            "first_departing": None if first is None else _row(first, self.limits),
            "outputs": [_row(layer, self.limits) for layer in self.outputs],
            "answers": [_row(layer, self.limits) for layer in self.answers],
            "layers": [_row(layer, self.limits) for layer in self.layers],
            "keep": {stage: {**asdict(kept), "nodes": kept.nodes} for stage, kept in self.kept.items()},
            "notes": list(self.notes),
        }

    def csv(self) -> str:
        """One line a tensor."""
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(_COLUMNS)
        for layer in self.layers:
            measure, truth = layer.measure, f"{layer.node}:{layer.tensor}"
            numbers: tuple[Any, ...] = ("NaN",) * 9 + ("NaN", "NaN")
            if measure is not None:
                numbers = (
                    "YES" if measure.overflow or measure.underflow else "NO", measure.cosine, measure.max_abs,
                    measure.accumulated, measure.distance, measure.mean_abs, measure.rmse, measure.max_relative,
                    measure.mean_relative, measure.overflow, measure.underflow,
                )  # fmt: skip
            shape = str(list(layer.shape)).replace(" ", "")
            found = truth if measure is not None else "*"
            before = (layer.index, layer.op_type, found, layer.dtypes[1], truth, layer.dtypes[0], layer.slot, shape)
            writer.writerow((*before, *numbers, layer.fault))
        return text.getvalue()

    def write_lists(self, folder: Path) -> None:
        """What to keep in fp32, as CANN reads it; of several stages, each in a folder of its own. Errors: OSError."""
        for stage, kept in self.kept.items():
            place = folder / stage if len(self.kept) > 1 else folder
            place.mkdir(parents=True, exist_ok=True)
            for name, text in kept.files.items():
                write_whole(place / name, text)

    def lines(self) -> Iterator[Text]:
        """Outputs, the first layer that departs, the worst layers, and what to keep in fp32."""
        yield Text(f"{self.subject} against {self.other}, {self.samples} sample{'s' if self.samples != 1 else ''}")
        yield Text(f"limits: {self.limits}", style="dim")
        yield from (Text(f"note: {note}", style="yellow") for note in self.notes)
        if self.answers:
            yield Text("\nanswers of the pipeline")
            yield from _lines(self.answers, self.limits)
        yield Text("\noutputs")
        yield from _lines(self.outputs, self.limits)
        first = self.first_departing
        if first is None:
            yield Text("\nno layer departs", style="green")
        else:
            yield Text(f"\nthe first layer that departs: {first.tensor}", style="red")
            yield Text(f"  node {first.node} ({first.op_type}): {first.departs(self.limits)}")
        measured = [(layer.measure.distance, layer) for layer in self.layers if layer.measure]
        worst = [layer for _, layer in sorted(measured, key=lambda pair: -pair[0])[:_WORST]]
        yield Text(f"\nthe {len(worst)} of {len(measured)} layers that differ most")
        yield from _lines(worst, self.limits)
        missing = [f"{layer.tensor} ({layer.fault})" for layer in self.layers if layer.fault]
        if missing:
            more = ", ..." if len(missing) > _NAMED else ""
            yield Text(f"\nnot compared: {len(missing)} layers: {', '.join(missing[:_NAMED])}{more}")
        for stage, kept in self.kept.items():
            yield from map(Text, _kept_lines(stage, kept))


def _row(layer: Layer, limits: Limits) -> dict[str, Any]:
    return {**asdict(layer), "departs": layer.departs(limits)}


def _lines(layers: Iterable[Layer], limits: Limits) -> Iterator[Text]:
    """A line a layer, its name last, where it may be long."""
    yield Text(_LINE.format("cosine", "distance", "max abs", "max rel", "over", "under") + "tensor", style="bold")
    for layer in layers:
        name = f"{layer.tensor} ({layer.op_type})"
        if layer.measure is None:
            yield Text(_LINE.format(*("-" * 6)) + f"{name}: {layer.fault}")
            continue
        measure = layer.measure
        numbers = (f"{number:.3g}" for number in (measure.distance, measure.max_abs, measure.max_relative))
        top = "".join(f", top-{k} {share:.0%}" for k, share in (layer.agreement or {}).items())
        line = _LINE.format(f"{measure.cosine:.6f}", *numbers, measure.overflow, measure.underflow)
        yield Text(line + name + top, style="red" if layer.departs(limits) else "")


def _kept_lines(stage: str, kept: Kept) -> Iterator[str]:
    verdict = "is enough" if kept.enough else "is not enough: use precision origin, or looser limits"
    yield f"\n{stage}: fp32 for {len(kept.nodes)} node{'s' if len(kept.nodes) != 1 else ''} {verdict}"
    yield f"  then the worst output has {kept.result}"
    for step in kept.steps:
        yield f"  {step.node} ({step.op_type}) loses {step.loss:.3g} by itself"
        if kept.enough:
            yield f"    without it: {step.without}"
