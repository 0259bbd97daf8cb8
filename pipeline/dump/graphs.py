"""dump_graph: the graph after each pass, and what was built of it, in a folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ge_engine.build import BuiltStage
from ge_engine.single_file import read_graph
from ge_engine.weights import entries, is_heavy
from ge_engine.whole_file import write_whole
from ops import SpecError, WrongUse

from ..draw.drawing import Drawing
from ..draw.mermaid import mermaid
from ..draw.svg import svg
from ..explain import explain
from ..graph import Graph
from ..graph_json import graph_to_json
from ..names import usable
from ..passes import walk

if TYPE_CHECKING:
    from ..plan import Plan


def dump_graph(plan: Plan, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write what a plan was made of, step by step; the files, in that order.

    0_declared, 1_share and so on, one for each pass: the graph as .json (left out where an op's attributes are not for
    JSON) and as .mmd, Mermaid. plan.txt, plan.svg: the whole. STAGE/GEAR.onnx: each static graph; a stage's share one
    file of weights.
    Errors: WrongUse for a folder that cannot be written.
    """
    root = Path(folder)
    try:
        root.mkdir(parents=True, exist_ok=True)
        return tuple(_written(plan, root))
    except OSError as error:
        raise WrongUse(f"{root} cannot be written: {error}", fix="name a folder that can be made") from error


def _written(plan: Plan, root: Path) -> Iterator[Path]:
    yield from _graph(plan.declared, root, "0_declared")
    for index, (name, done) in enumerate(walk(plan.declared, plan.deployment), 1):
        yield from _graph(done.graph, root, f"{index}_{name}")
    for name, text in (("plan.txt", explain(plan) + "\n"), ("plan.svg", svg(Drawing.of(plan)))):
        yield _file(root / name, text)
    for stage, built in plan.built.items():
        yield from _built(built, root / usable(stage))


def _graph(graph: Graph, root: Path, name: str) -> Iterator[Path]:
    with suppress(SpecError):
        yield _file(root / f"{name}.json", graph_to_json(graph, str(root)) + "\n")
    yield _file(root / f"{name}.mmd", mermaid(Drawing.of_graph(graph)))


def _file(path: Path, text: str) -> Path:
    write_whole(path, text)
    return path


def _built(built: BuiltStage, folder: Path) -> Iterator[Path]:
    folder.mkdir(exist_ok=True)
    weights: set[str] = set()
    if built.frozen:  # one file for all gears
        path = Path(next(iter(built.static.values())).path)
        yield Path(shutil.copyfile(path, folder / f"all{path.suffix}"))
        return
    for gear, static in built.static.items():
        tensors = read_graph(static.path).graph.initializer
        weights |= {entries(tensor)["location"] for tensor in tensors if is_heavy(tensor)}
        yield Path(shutil.copyfile(static.path, folder / f"{gear}.onnx"))
    for source in sorted(weights):  # a copy, for a file of weights may have no second link
        yield Path(shutil.copyfile(source, folder / os.path.basename(source)))
