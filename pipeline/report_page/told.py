"""Told: the sections that tell of the plan itself."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ops import Finding

from ..draw.drawing import Drawing, bytes_text, short
from ..draw.svg import svg
from ..explain import how_built, rows
from ..tune.memory import Memory
from .content import Content
from .html import Cell, Column, Html, element, joined, prose, safe, table, wide
from .timeline import swatches

if TYPE_CHECKING:
    from ..plan import Plan


_PLACES = {"host": "on the host", "device": "on the device"}


def picture(content: Content) -> Html:
    """The drawing, with the times that were measured."""
    drawing = wide(Html(f"<figure>{svg(Drawing.of(content.plan, content.times))}</figure>"))
    places = [(kind, _PLACES[kind]) for kind in dict.fromkeys(stage.placement for stage in content.plan.stages)]
    parts: list[Cell] = [swatches(places), drawing]
    if content.times is not None:
        means = "Green: the mean time of a step for one sample, and of a device stage for one run"
        of = (
            f"over {content.counted}, as under “Where the time goes”"
            if content.counts
            else "over the trace that is shown below"
        )
        parts.append(element("p", f"{means}, {of}.", "lead"))
    return joined(parts)


def values(plan: Plan) -> Html:
    """A line a value, by stage."""
    columns = (
        Column("step", "spare"),
        Column("op", "spare"),
        Column("value", "code"),
        Column("dtype and shape", "code"),
        Column("layout", "spare"),
        Column("bytes", "number"),
        Column("crosses"),
    )
    return table(columns, _value_rows(plan))


def _value_rows(plan: Plan) -> Iterator[tuple[Cell, ...]]:
    stage: str | None = None
    for row in rows(plan):
        if row.stage != stage:
            stage = row.stage
            gears = f", gear{'s' if ',' in row.gears else ''} {row.gears}" if row.gears else ""
            yield (f"{stage} ({row.placement}{gears})" if stage else "from the caller",)
        size = "varies" if row.nbytes is None else f"{row.nbytes:,}"
        yield (row.node, row.op, row.key, row.dtype + row.shape, row.layout, size, "yes" if row.crosses else "")


def gears(plan: Plan) -> Html:
    """A table a device stage, and what a session takes."""
    parts: list[Cell] = []
    for name, built in plan.built.items():
        columns = [Column("gear"), Column("inputs", "code"), Column("outputs", "code")]
        lines = [(str(gear), _tensors(graph.inputs), _tensors(graph.outputs)) for gear, graph in built.static.items()]
        parts += [element("h3", name), element("p", f"{how_built(plan, name)}."), table(columns, lines)]
    if plan.built:
        memory, streams = Memory.of(plan), plan.deployment.streams
        largest = max(built.gears.largest for built in plan.built.values())
        buffers = memory.buffers(streams, largest)
        parts.append(element("h3", "Memory"))
        parts.append(
            table(
                (Column("what"), Column("size", "number"), Column("why", "long")),
                (
                    (
                        "weights",
                        bytes_text(sum(memory.weights.values())),
                        "of all device stages, once; their gears share them",
                    ),
                    ("a row of the buffers", bytes_text(memory.sample), "the inputs and outputs of one sample"),
                    (
                        "buffers of a session",
                        bytes_text(buffers),
                        f"{2 * streams + 3} sets of {largest} row{'s' if largest > 1 else ''}: {streams + 1} for run, "
                        f"which is one more than streams, and {streams + 2} for submit and map",
                    ),
                ),
            )
        )
    return joined(parts)


def _tensors(tensors: Any) -> Cell:
    return joined(
        Html(f"{safe(name)} {safe(dtype)}[{','.join(map(str, shape))}]{'<br>' if index < len(tensors) - 1 else ''}")
        for index, (name, dtype, shape) in enumerate(tensors)
    )


def changes(plan: Plan) -> Html:
    """Before and after."""
    if not plan.changes:
        return element("p", "Nothing was changed.")
    columns = (
        Column("pass", "spare"),
        Column("step"),
        Column("before", "long"),
        Column("after", "long"),
        Column("saved"),
        Column("exactness and reason", "long"),
    )
    return table(
        columns,
        (
            (
                one.rule,
                joined((one.node, Html("<br>"), element("span", short(one.where), "soft"))),
                one.before,
                one.after,
                one.saved_text if one.saved != 0 else "",
                f"{one.exactness}; {one.why}",
            )
            for one in plan.changes
        ),
    )


def findings(content: Content) -> Html:
    """By who has them to say."""
    parts: list[Cell] = []
    for source, found in content.findings.items():
        parts.append(element("h3", source))
        parts += [_finding(one) for one in found] or [element("p", "No problem found.", "ok")]
    return joined(parts)


def _finding(one: Finding) -> Html:
    head = joined(
        (
            element("b", one.rule),
            " ",
            element("span", one.severity, f"tag {one.severity}"),
            " ",
            element("code", short(one.where)),
        )
    )
    body = joined(
        (
            element("p", head),
            element("p", prose(one.message)),
            element("p", joined(("Remedy: ", prose(one.fix))), "soft") if one.fix else "",
        )
    )
    return element("div", body, f"finding is-{one.severity}")


def settings(plan: Plan) -> Html:
    """As --deployment reads them."""
    fields = dataclasses.asdict(plan.deployment).items()
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in fields)
    return element("pre", f"{{\n{lines}\n}}")
