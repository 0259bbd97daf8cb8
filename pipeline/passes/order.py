"""Order: what is done to every pixel is done where there are fewest, and all of it in one pass over them.

A swap of channels or a cast to float moves behind what makes a picture smaller, for it treats pixels alike. In the end
it goes into DecodeImage, which gives either order of channels, or into Normalize, which reads every pixel anyway.
A user's own op is never moved or passed, even one that is derived from these: nobody knows what it does.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from ops import Cast, CenterCrop, DecodeImage, Letterbox, Normalize, Pad, Resize, SwapChannels
from ops.host_stage import Step

from ..costs import Costs, specs_of
from ..deployment import Deployment
from ..graph import Graph
from .change import BITWISE, ONE_STEP, Change, saving, within
from .rewrite import maker, only_reader, reading, rebuilt, remade

MOVERS = (SwapChannels, Cast)
AVERAGING = ("opencv_linear", "opencv_area")
OTHER = {"RGB": "BGR", "BGR": "RGB"}
ROUNDING = within(1e-6)  # of floats that are added in another order
LOOSEST_FIRST = (ONE_STEP, ROUNDING, BITWISE)


class Move(NamedTuple):
    """A graph after one move, and why it gives the same answer."""

    graph: Graph
    place: str
    exactness: str
    why: str


def order(graph: Graph, deployment: Deployment) -> tuple[Graph, tuple[Change, ...]]:
    """Each swap and cast goes as far along as costs least.

    Requires: nothing. Ensures: the work on pixels costs no more than it did.
    """
    costs = Costs.of(deployment)
    changes: list[Change] = []
    for step in reversed(graph.steps):
        if type(step.op) not in MOVERS:
            continue
        best = graph
        done: tuple[Move, ...] = ()
        moves: tuple[Move, ...] = ()
        move = _next(graph, step.name, deployment.exact)
        while move is not None:
            moves = (*moves, move)
            if _work(move.graph, costs) < _work(best, costs):
                best, done = move.graph, moves
            move = _next(move.graph, step.name, deployment.exact)
        if done:
            changes.append(_change(step, graph, done))
            graph = best
    return graph, tuple(changes)


def _next(graph: Graph, name: str, exact: bool) -> Move | None:
    """The step one place further; None where it is gone, or can go no further."""
    step = next((step for step in graph.steps if step.name == name), None)
    if step is None:
        return None
    merged = _into_decoder(graph, step) or _into_normalize(graph, step)
    reader = only_reader(graph, step.outputs[0][0])
    if merged is not None or reader is None:
        return merged
    found = _passes(graph, step, reader)
    if found is None or (exact and found[0] != BITWISE):
        return None
    return Move(_swapped(graph, step, reader), f"behind {reader.name}", *found)


def _into_decoder(graph: Graph, step: Step) -> Move | None:
    source = maker(graph, step.inputs[0])
    if source is None or only_reader(graph, step.inputs[0]) is not step or type(step.op) is not SwapChannels:
        return None
    if type(source.op) is not DecodeImage or source.op.color not in OTHER:
        return None
    op = dataclasses.replace(source.op, color=OTHER[source.op.color])
    keys = {step.outputs[0][0]: source.outputs[0][0]}
    new = remade(source, op, source.inputs, graph.specs)
    steps = (reading(new if other is source else other, keys) for other in graph.steps if other is not step)
    return Move(rebuilt(graph, steps, keys), f"in {source.name}", BITWISE, "it decodes to either order")


def _into_normalize(graph: Graph, step: Step) -> Move | None:
    reader = only_reader(graph, step.outputs[0][0])
    if reader is None or type(reader.op) is not Normalize:
        return None
    op, why = reader.op, "it casts every pixel anyway"
    if type(step.op) is SwapChannels:
        op, why = dataclasses.replace(op, swap=not op.swap), "it takes the channels apart anyway"
    elif not _widens(graph, step):
        return None
    new = remade(reader, op, step.inputs, graph.specs)
    steps = (new if other is reader else other for other in graph.steps if other is not step)
    return Move(rebuilt(graph, steps, {}), f"in {reader.name}", BITWISE, why)


def _passes(graph: Graph, step: Step, reader: Step) -> tuple[str, str] | None:
    """How exact it is to let the reader go first, and why; None where it may not."""
    op = reader.op
    if type(step.op) is SwapChannels:
        if type(op) in (Resize, CenterCrop, Pad, Letterbox, Cast):  # a border is equal in all channels
            return _as_alike(step, op), "it treats the channels alike"
        return None
    if not _widens(graph, step):
        return None
    if type(op) in (CenterCrop, SwapChannels) or (type(op) is Pad and op.value in range(256)):
        return BITWISE, "it moves numbers and makes none"
    # A mean of bytes lies between them, and is rounded. Cubic overshoots, where bytes end at 0 and 255; and of nearest,
    # OpenCV does not promise the same pixels for every dtype.
    if type(op) is Resize and op.filter in AVERAGING:
        return ONE_STEP, "means of bytes are rounded to bytes"
    return None


def _as_alike(step: Step, op: object) -> str:
    """How alike it treats channels. OpenCV's floats are rounded by where they stand in a vector register."""
    if type(op) is not Resize or not op.filter.startswith("opencv"):
        return BITWISE
    if step.outputs[0][2].dtype == "float32":
        return ROUNDING
    return ONE_STEP if op.filter == "opencv_cubic" else BITWISE


def _widens(graph: Graph, step: Step) -> bool:
    """Whether it casts bytes to float32, which holds them all."""
    return (
        type(step.op) is Cast and graph.specs[step.inputs[0]].dtype == "uint8" and step.outputs[0][2].dtype == "float32"
    )


def _swapped(graph: Graph, step: Step, reader: Step) -> Graph:
    """The graph in which a step comes behind the one that reads it."""
    specs = graph.specs
    first = remade(reader, reader.op, step.inputs, specs)
    specs.update((key, spec) for key, _, spec in first.outputs)
    last = remade(step, step.op, (first.outputs[0][0],), specs)
    keys = {first.outputs[0][0]: last.outputs[0][0]}
    rest = (reading(other, keys) for other in graph.steps if other not in (step, reader))
    return rebuilt(graph, (first, last, *rest), keys)


def _work(graph: Graph, costs: Costs) -> float:
    """What is done to pixels on the host; what a mover passes costs the same on either side, or less."""
    specs = graph.specs
    steps = (step for step in graph.steps if isinstance(step.op, (*MOVERS, Normalize)))
    return sum(costs.on_host(step.op, specs_of(step, specs)) for step in steps)


def _change(step: Step, graph: Graph, moves: tuple[Move, ...]) -> Change:
    last = moves[-1].graph
    moved = next((other for other in last.steps if other.name == step.name), None)  # None: another step does it
    saved, estimate = saving(specs_of(step, graph.specs), specs_of(moved, last.specs) if moved else ())
    whys = dict.fromkeys(f"{move.place}: {move.why}" for move in moves)
    return Change(
        "order",
        step.name,
        step.where,
        f"on {step.outputs[0][2]}",
        f"{moves[-1].place}, on {moved.outputs[0][2]}" if moved else moves[-1].place,
        saved,
        min((move.exactness for move in moves), key=LOOSEST_FIRST.index),
        "; ".join(whys),
        estimate,
    )
