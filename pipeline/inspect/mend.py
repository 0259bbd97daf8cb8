"""Mend: a mended copy of a model, and what to say of it."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from ge_engine.inspect.axis_names import Sizes
from ge_engine.inspect.facts import Facts
from ge_engine.inspect.mended_file import data_file, write_mended
from ge_engine.inspect.repair import Repaired, repair
from ops import Finding, WrongUse


def mend(
    facts: Facts, batches: Sequence[int] | None, sizes: Sequence[Sizes], output: Path, skip: Collection[str]
) -> Repaired:
    """Mend a model, prove it, and write it.

    Errors: ModelError where nothing can be proven; WrongUse where it would replace the original's weights; OSError.
    """
    data = data_file(output)
    if any(data == Path(facts.file.path).parent.resolve() / one.location for one in facts.file.data_files):
        raise WrongUse(f"{data} holds the weights of the model itself", fix="name another file than " + output.name)
    with tempfile.TemporaryDirectory(dir=output.absolute().parent, prefix=f".{output.name}.") as folder:
        mended = repair(facts, batches, sizes, Path(folder), skip)
        write_mended(mended.model, output, apart=bool(facts.file.data_files))
    return mended


def not_made(mended: Repaired, skip: Collection[str]) -> dict[str, str]:
    """For each fix that was not made though there was something to mend, or that was not wanted: why."""
    failed = {fixed.name: fixed.why_not for fixed in mended.fixes if fixed.proof is None}
    return {**failed, **dict.fromkeys(skip, "--skip leaves it out")}


def fixes_text(mended: Repaired, output: Path) -> Text:
    """Each fix with its proof, and why one was not made."""
    text = Text()
    for fixed in mended.fixes:
        if fixed.proof is not None:
            text.append(f"{fixed.name}: {fixed.proof}\n", style="green")
        else:
            text.append(f"{fixed.name}: not made: {fixed.why_not}\n", style="yellow")
        text.append("".join(f"    {line}\n" for line in fixed.done))
    what = "all fixes together" if mended.changed else "nothing to mend: a copy"
    return text.append(f"{output}: {what}, {mended.proof}")


def fixes_document(mended: Repaired, output: Path, findings: Sequence[Finding]) -> dict[str, Any]:
    """The same for programs; deviation: 0.0 for equal bytes, else relative to the largest value of an output."""
    fixes = [
        {
            "fix": fixed.name,
            "made": fixed.proof is not None,
            "done": list(fixed.done),
            "deviation": fixed.proof and fixed.proof.deviation,
            "why_not": fixed.why_not or None,
        }
        for fixed in mended.fixes
    ]
    points = [{name: list(shape) for name, shape in point.items()} for point in mended.proof.points]
    return {
        "path": str(output),
        "fixes": fixes,
        "deviation": mended.proof.deviation,
        "shapes": points,
        "findings": [finding.as_dict() for finding in findings],
    }
