"""The whole plan on one screen: stages, steps, what crosses each edge, and the gears."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ge_engine.half.precision import ORIGIN
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


def explain(plan: Plan) -> str:
    """The rows by stage, in columns, and below them what was built and found."""
    values = list(rows(plan))
    cells = {row.key: (f"  {row.key}{'*' if row.crosses else ''}", row.op, f"{row.dtype}{row.shape}") for row in values}
    widths = [max(len(cell[column]) for cell in cells.values()) for column in range(3)]
    lines = [f"{plan.graph.name}: bytes of one sample; * crosses to another stage or to the caller"]
    stage = None
    for row in values:
        if row.stage != stage:
            stage = row.stage
            gears = f", gears {row.gears}" if row.gears else ""
            lines.append(f"{row.stage} ({row.placement}{gears})" if stage else "caller")
        columns = " ".join(cell.ljust(width) for cell, width in zip(cells[row.key], widths))
        nbytes = "varies" if row.nbytes is None else f"{row.nbytes:,}"
        lines.append(f"{columns} {row.layout:3} {nbytes:>10}")
    lines += (f"{name}: {how_built(plan, name)}" for name in plan.built)
    lines.append("outputs: " + ", ".join(f"{output.name} = {output.key}" for output in plan.graph.outputs))
    lines += _changes(plan)
    lines += map(str, plan.findings)
    return "\n".join(lines)


def _changes(plan: Plan) -> Iterator[str]:
    """What the passes did: before, after, bytes, exactness, and why, each below the user's own line."""
    exact = ", exact: every byte is kept" if plan.deployment.exact else ""
    yield f"passes{exact}:" if plan.changes else f"passes{exact}: nothing changed"
    for change in plan.changes:
        yield f"  {change.rule}: {change.node} ({change.where})"
        yield f"    {change.before} -> {change.after}"
        saved = f"{change.saved_text}; " if change.saved != 0 and change.saved_text else ""
        yield f"    {saved}{change.exactness}; {change.why}"


def how_built(plan: Plan, name: str) -> str:
    """In a few words, of a device stage."""
    built = plan.built[name]
    count = len(built.static)
    what = f"{count} static graph{'s' if count != 1 else ''}"
    if built.graph.precision != ORIGIN:
        what += f", {built.graph.precision} ({'emulated' if built.emulated else 'not emulated: runs as origin'})"
    if built.shared_deviation is None:
        how = "each gear has a session of its own on CPU"
    elif built.shared_deviation == 0:
        how = "one session serves all on CPU; each static graph, run alone, gives the same bytes"
    else:
        how = f"one session serves all on CPU; static graphs, run alone, differ by {built.shared_deviation:.1e}"
    most = max(max(stage.batches) for stage in plan.stages if stage.on_device)
    if built.gears.sizes and most > 1:
        how += f"; up to {most} samples of one size at once on CPU"
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
