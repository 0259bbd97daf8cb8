"""`gepipe plan --what-if`: its options, and its answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.text import Text

from ops import WrongUse

from ..command import out, print_json
from ..plan import Plan
from .memory import Memory
from .what_if import WhatIf

Question = Annotated[
    Optional[str],
    typer.Option(
        "--what-if",
        metavar="SETTINGS",
        help='Ask a timing model of an NPU that is not there, as "streams=8,cores=12|10"; PIPELINE may be left out.',
    ),
]
Measurements = Annotated[
    Optional[Path],
    typer.Option(
        "--what-if-from",
        metavar="FILE",
        help="Fit that model on these, as CSV: streams, cores, infer_per_sec. By default on a published series.",
    ),
]


def asked(question: str | None, measurements: Path | None, target: str | None) -> WhatIf | None:
    """What the options ask. Errors: WrongUse, also when neither a question nor a pipeline is there."""
    if question is not None:
        return WhatIf.parse(question, measurements)
    if measurements is not None:
        raise WrongUse("--what-if-from answers no question", fix='ask one: --what-if "streams=8"')
    if target is None:
        raise WrongUse("no pipeline is named", fix="give graph.py; only --what-if needs none")
    return None


def answer(asked: WhatIf, compiled: Plan | None, as_json: bool) -> None:
    """Print it; with what a plan would take on the card, where there is one."""
    memory = _memory(compiled, asked.streams) if compiled else {}
    if as_json:
        print_json({**asked.as_dict(), **({"memory": memory} if memory else {})})
        return
    out.print(Text(str(asked)), soft_wrap=True)
    if compiled:
        sizes = ", ".join(f"{what} {nbytes / 1e6:,.1f} MB" for what, nbytes in memory.items())
        out.print(Text(f"'{compiled.graph.name}' would take, served by npu_ge on one card: {sizes}"), soft_wrap=True)


def _memory(compiled: Plan, streams: int) -> dict[str, int]:
    memory = Memory.of(compiled)
    gears = {gear.batch for stage in compiled.built.values() for gear in stage.gears}
    count = max((len(stage.gears) for stage in compiled.built.values()), default=1)
    return {
        "weights": memory.weights_on_npu(streams, count),
        "inputs and outputs": streams * max(gears, default=1) * memory.sample,
    }
