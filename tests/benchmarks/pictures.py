"""Draw what a suite left to be drawn, as SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

_WIDTH = 7.0  # inches
_OURS, _OTHER = "tab:blue", "tab:gray"


def draw(plot: dict[str, Any], file: Path) -> None:
    """The same data gives the same file."""
    with matplotlib.rc_context({"svg.hashsalt": file.stem, "svg.fonttype": "none"}):
        bars = plot["kind"] == "bars"
        height = 1.2 + 0.35 * len(plot["x"]) if bars else 3.0
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        axes = figure.subplots()
        (_bars if bars else _lines)(axes, plot)
        axes.set_title(plot["title"], fontsize=11)
        figure.savefig(file, format="svg", metadata={"Date": None})
    text = file.read_text(encoding="utf-8")
    file.write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n", encoding="utf-8")


def _bars(axes: Axes, plot: dict[str, Any]) -> None:
    """One series, lying, with its figures; ours in another colour."""
    names, (values,) = plot["x"], plot["series"].values()
    colours = [_OURS if "gepipe" in name or "pipeline" in name else _OTHER for name in names]
    bars = axes.barh(range(len(names)), values, color=colours)
    axes.bar_label(bars, [f"{value:.3g}" for value in values], padding=3)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel(plot["ylabel"])
    axes.margins(x=0.12)
    axes.spines[["top", "right"]].set_visible(False)


def _lines(axes: Axes, plot: dict[str, Any]) -> None:
    for name, values in plot["series"].items():
        axes.plot(plot["x"], values, marker="o", markersize=3, label=name)
    axes.set_xlabel(plot["xlabel"])
    axes.set_ylabel(plot["ylabel"])
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    if len(plot["series"]) > 1:
        axes.legend()
