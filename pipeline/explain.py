"""The whole plan on one screen: stages, steps, what crosses each edge, and the gears."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ops import TensorSpec

if TYPE_CHECKING:
    from .plan import Plan

CHANNELS = (1, 3, 4)


class Row(NamedTuple):
    """One value: the stage and node that make it, its spec, and its size in bytes (of one sample, largest gear)."""

    stage: str
    placement: str
    gears: str
    node: str
    op: str
    key: str
    dtype: str
    shape: str
    layout: str
    nbytes: int | None
    crosses: bool


def rows(plan: Plan) -> Iterator[Row]:
    """Every value that a stage makes, in order."""
    for value in plan.graph.inputs:
        yield _row("", "caller", "", value.name, "input", value.name, value.spec, True)
    for stage in plan.stages:
        built = plan.built.get(stage.name)
        gears = ",".join(map(str, built.gears)) if built else ""
        crossing = {key for key, _ in stage.outputs}
        for step in stage.steps:
            for key, _, spec in step.outputs:
                op = type(step.op).__name__
                yield _row(stage.name, stage.placement, gears, step.name, op, key, spec, key in crossing)


def explain(plan: Plan, width: int = 120) -> str:
    """A table of the rows, and below it what was built and found."""
    text = io.StringIO()
    console = Console(file=text, width=width, force_terminal=False, highlight=False)
    render(plan, console)
    return text.getvalue().rstrip()


def render(plan: Plan, console: Console) -> None:
    """The same, on a console."""
    table = Table(title=Text(str(plan.graph)), title_justify="left", box=None, pad_edge=False)
    for heading in ("stage", "node", "op", "makes", "spec of one sample", "layout"):
        table.add_column(heading, overflow="fold")
    table.add_column("bytes", justify="right")
    table.add_column("crosses")
    last = None
    for row in rows(plan):
        label = f"{row.stage or 'caller'}"
        if row.placement == "device":
            label += f" (device, gears {row.gears})"
        elif row.placement == "host":
            label += " (host)"
        table.add_row(
            Text(label if label != last else ""),
            Text(row.node),
            Text(row.op),
            Text(row.key if row.key != row.node else ""),
            Text(f"{row.dtype}{row.shape}"),
            row.layout,
            f"{row.nbytes:,}" if row.nbytes is not None else "varies",
            "*" if row.crosses else "",
            style="bold" if row.placement == "device" else None,
        )
        last = label
    console.print(table)
    for name in plan.built:
        console.print(Text(f"{name}: {_how_built(plan, name)}"))
    outputs = ", ".join(f"{output.name} = {output.key}" for output in plan.graph.outputs)
    console.print(Text(f"outputs: {outputs}"))
    for finding in plan.findings:
        console.print(Text(str(finding)))


def _how_built(plan: Plan, name: str) -> str:
    built = plan.built[name]
    count = len(built.static)
    what = f"{count} static graph{'s' if count != 1 else ''}"
    if built.shared_deviation is None:
        how = "each gear has a session of its own on CPU"
    elif built.shared_deviation == 0:
        how = "one session serves all on CPU; each static graph, run alone, gives the same bytes"
    else:
        how = f"one session serves all on CPU; static graphs, run alone, differ by {built.shared_deviation:.1e}"
    rows_text = f"; rows mix at {built.mixing_node}: no padding, no merging" if built.mixing_node else ""
    return f"{what}; {how}{rows_text}; {plan.deployment.streams} stream{'s' if plan.deployment.streams != 1 else ''}"


def _row(stage: str, placement: str, gears: str, node: str, op: str, key: str, spec: TensorSpec, crosses: bool) -> Row:
    shape = f"[{','.join(map(str, spec.shape))}]" if spec.shape else ""
    return Row(stage, placement, gears, node, op, key, spec.dtype, shape, _layout(spec), spec.nbytes, crosses)


def _layout(spec: TensorSpec) -> str:
    if spec.rank != 3:
        return ""
    if spec.shape[2] in CHANNELS:
        return "HWC"
    return "CHW" if spec.shape[0] in CHANNELS else ""
