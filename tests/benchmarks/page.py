"""Write docs/benchmarks.md and its pictures from the figures that the suites left in docs/benchmarks/*.json."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from claims import CLAIMS, Claim
from pictures import draw

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "benchmarks"
PAGE = ROOT / "docs" / "benchmarks.md"
SUITES = {  # in the order of the page
    "overhead": "Overhead",
    "chain": "Preprocessing chain",
    "light": "A light model from JPEG",
    "yolo11": "YOLO11n from JPEG",
    "cnclip": "Chinese-CLIP's image tower from JPEG",
    "gears": "Gears and memory",
    "batching": "Dynamic batching",
    "streams": "Streams and threads",
    "models": "Two models at once",
    "compile": "Compile and cache",
    "served": "Served",
    "wire": "The wire",
    "map": "A long stream",
    "peers": "Peers",
}
INTRODUCTION = """\
# Benchmarks

Made by `make bench`; one suite again by `make bench SUITE=light`. Every suite first holds its answers against those of
the code beside it, then measures both in turn, round after round. Figures are medians, from the lowest to the highest
round; a ratio is the median of the rounds' ratios, not the ratio of the medians, so that a slow spell meets both sides.
What a user would otherwise write is in `baselines/`, the suites are in `tests/benchmarks/`, the figures as JSON in
`docs/benchmarks/`.

The *limit* is cores / (CPU time of the bare kernels a sample): OpenCV, numpy and ONNX Runtime called directly, one
process a core, all at once, in the same run. The distance to it is what the framework costs. It is CPU time, and rates
are by the clock: on a machine that others use the rates fall and the limit does not. Each suite says what others used.
"""


def main(now: Sequence[str]) -> None:
    """The page, from whatever suites have run; and what those that ran just `now` have reached."""
    runs = {suite: _read(suite) for suite in SUITES if (FOLDER / f"{suite}.json").exists()}
    parts = [INTRODUCTION, *_machine(runs), *_targets(runs)]
    for suite, run in runs.items():
        parts += _section(suite, run)
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    for suite in now:
        print("\n".join(_told(suite, runs[suite])))
    print(f"{PAGE.relative_to(ROOT)} is written anew, from {len(runs)} of {len(SUITES)} suites")


def _told(suite: str, run: dict[str, Any]) -> Iterator[str]:
    yield f"{suite}: {run['load']}"
    for claim in _all(run, "claims"):
        known = CLAIMS[claim["id"]]
        state = "reached" if known.holds(claim["figure"]) else "missed"
        yield f"  {known.text}: {_unit(claim['figure'], known.unit)}, {_sign(known)}: {state}"


def _read(suite: str) -> dict[str, Any]:
    run: dict[str, Any] = json.loads((FOLDER / f"{suite}.json").read_text(encoding="utf-8"))
    return run


def _machine(runs: dict[str, Any]) -> Iterator[str]:
    """Once where all suites ran on one and the same."""
    yield "## Machine\n"
    seen: list[dict[str, str]] = []
    for suite, run in runs.items():
        if run["machine"] in seen:
            continue
        if seen:
            yield f"`{suite}` ran elsewhere:\n"
        seen.append(run["machine"])
        yield from (f"- {name}: {value}" for name, value in run["machine"].items())
        yield ""


def _targets(runs: dict[str, Any]) -> Iterator[str]:
    figures = {claim["id"]: claim["figure"] for run in runs.values() for claim in _all(run, "claims")}
    held = sum(CLAIMS[id].holds(figure) for id, figure in figures.items())
    yield f"## Targets\n\n{held} of {len(CLAIMS)} reached.\n"
    yield "| what | target | figure | |\n|---|---|---|---|"
    for id, claim in CLAIMS.items():
        figure = figures.get(id)
        state = "not measured" if figure is None else "reached" if claim.holds(figure) else "**missed**"
        yield f"| {claim.text} | {_sign(claim)} | {_unit(figure, claim.unit)} | {state} |"
    yield ""


def _section(suite: str, run: dict[str, Any]) -> Iterator[str]:
    source = (ROOT / "tests" / "benchmarks" / f"bench_{suite}.py").read_text(encoding="utf-8")
    yield f"## {SUITES[suite]}\n\n{ast.get_docstring(ast.parse(source))}\n"
    yield f"Run on {run['when']}{f'; meanwhile {load}' if (load := run.get('load')) else ''}.\n"
    for note in _all(run, "notes"):
        yield f"- {note}"
    for table in _all(run, "tables"):
        yield f"\n**{table['title']}**\n"
        yield f"| {' | '.join(table['columns'])} |\n|{'---|' * len(table['columns'])}"
        yield from (f"| {' | '.join(map(_cell, row))} |" for row in table["rows"])
    for number, plot in enumerate(_all(run, "plots")):
        file = FOLDER / f"{suite}_{number}.svg"
        draw(plot, file)
        yield f"\n![{plot['title']}]({file.relative_to(PAGE.parent).as_posix()})"
    yield ""


def _all(run: dict[str, Any], kind: str) -> list[Any]:
    return [item for test in run["tests"] for item in test.get(kind, ())]


def _sign(claim: Claim) -> str:
    return f"{'at most' if claim.at_most else 'at least'} {_unit(claim.target, claim.unit)}"


def _unit(figure: float | None, unit: str) -> str:
    return "" if figure is None else f"{_cell(figure)} {unit}".strip()


def _cell(value: Any) -> str:
    """Three digits that count."""
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


if __name__ == "__main__":
    main(sys.argv[1:])
