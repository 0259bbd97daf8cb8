"""Cut: a picture that is resized and then cropped is never whole, or only in memory that stays."""

from __future__ import annotations

from ops import CenterCrop, Resize, ResizeCrop
from ops.host_stage import Step
from ops.pillow_filter import FILTERS

from ..deployment import Deployment
from ..graph import Graph
from .change import BITWISE, Change, saving
from .rewrite import maker, only_reader, rebuilt, remade


def cut(graph: Graph, deployment: Deployment) -> tuple[Graph, tuple[Change, ...]]:
    """A Resize and the CenterCrop behind it become one op, under the crop's name.

    Requires: nothing. Ensures: no such pair is left, unless the crop adds a border.
    A user's op that is derived from one of them stays.
    OpenCV's filters cannot begin inside a picture; there the one op spares a block of memory for each sample.
    """
    changes: list[Change] = []
    for step in graph.steps:
        source = maker(graph, step.inputs[0]) if type(step.op) is CenterCrop else None
        if source is None or only_reader(graph, step.inputs[0]) is not step or not _smaller(source, step):
            continue
        resize, crop = source.op, step.op
        assert isinstance(resize, Resize)
        assert isinstance(crop, CenterCrop)
        op = ResizeCrop(
            crop_height=crop.height, crop_width=crop.width,
            height=resize.height, width=resize.width, filter=resize.filter, shorter=resize.shorter,
        )  # fmt: skip
        new = remade(step, op, source.inputs, graph.specs)
        changes.append(_change(source, step, new))
        graph = rebuilt(graph, (new if other is step else other for other in graph.steps if other is not source), {})
    return graph, tuple(changes)


def _smaller(source: Step, step: Step) -> bool:
    """Whether the crop adds no border to what the resize makes."""
    resize, crop = source.op, step.op
    if type(resize) is not Resize or type(crop) is not CenterCrop:
        return False
    height, width = resize.height or resize.shorter or 0, resize.width or resize.shorter or 0
    return crop.height <= height and crop.width <= width


def _change(source: Step, step: Step, new: Step) -> Change:
    whole, kept = source.outputs[0][2], new.outputs[0][2]
    saved, estimate = saving([whole], [kept])
    assert isinstance(new.op, ResizeCrop)
    before = f"{source.name} makes {whole}"
    if new.op.filter in FILTERS:
        after, why = (
            f"only {kept} is computed",
            "the filter's sums are exact, so what is kept does not depend on the rest",
        )
    else:
        after, why = f"{kept} is cut from memory that stays", "the system gives and takes no block for each sample"
    return Change("cut", f"{source.name}, {step.name}", step.where, before, after, saved, BITWISE, why, estimate)
