"""Remedy: what there is to do about a problem: by hand, or by `gepipe inspect --fix`, as long as that has not run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ge_engine.inspect.facts import Facts

from ..axis_sizes import at_text
from ..triton.problem import Problem


@dataclass(frozen=True)
class Mendable(Problem):
    """A problem that a fix of --fix may do away with. by: the name of that; `fix` says what can be done without it."""

    by: str = ""


def mendable(problem: Problem, by: str, fix: str = "") -> Problem:
    """The same problem, with what can be done by hand where that is to be said in another way."""
    given = {**vars(problem), "fix": fix or problem.fix}
    return Mendable(**given, by=by)


def with_remedy(problem: Problem, facts: Facts, tried: Mapping[str, str] | None) -> Problem:
    """A problem with all that is left to do about it.

    tried: None before --fix has run; then for each of its fixes that was not made, why not.
    """
    if not isinstance(problem, Mendable):
        return problem
    if tried is None and (facts.error is None or problem.by == "outputs"):
        return replace(problem, fix=f"{problem.fix}; or {command(facts)}")
    if tried and problem.by in tried:
        return replace(problem, fix=f"{problem.fix}; --fix did not do it: {tried[problem.by]}")
    return problem


def command(facts: Facts) -> str:
    """What to type for a mended copy, at the sizes that were given."""
    path = Path(facts.file.path)
    sizes = dict.fromkeys(at_text(dict(gear.gear.dims)) for gear in facts.gears)
    at = "".join(f" --at {shlex.quote(size)}" for size in sizes if size)
    out = path.with_name(f"{path.stem}_mended{path.suffix}")
    return f"gepipe inspect {shlex.quote(str(path))}{at} --fix -o {shlex.quote(str(out))}"
