"""Write docs/ops.md: one row an op, taken from the docstrings of the classes in `ops`.

Run it after a docstring of an op has changed: python scripts/ops_table.py
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import Any

import ops
from ops.op import Lowerable

PAGE = Path(__file__).resolve().parents[1] / "docs" / "ops.md"
SECTIONS = ("Input", "Output", "Errors", "Reference", "Deviation")
INTRODUCTION = """\
# Ops

Each op, what it takes and makes for one sample (a `TensorSpec` has no batch axis), what it must agree with, and how far
it may be off; a test holds every deviation. An op that says *host or device* can be lowered to ONNX, so it runs inside
the model's graph where its neighbours do. Settings with `=` may be left out; `help(ops.Letterbox)` explains each.
This page is made by `python scripts/ops_table.py`.

A pipeline's inputs are `ops.ENCODED_IMAGE` (one JPEG, PNG, WebP, BMP, TIFF or GIF file: bytes), `ops.TEXT` (one text:
`str`, or bytes in UTF-8) or, for anything else, a `TensorSpec`, as `ops.TensorSpec("float32", (3, 224, 224))`.

| op | input | output | reference | deviation | runs on |
|---|---|---|---|---|---|
"""


def op_classes() -> list[type[ops.Op[Any]]]:
    """Every op of the package, exported or not, by name."""
    modules = [importlib.import_module(f"ops.{module.name}") for module in pkgutil.iter_modules(ops.__path__)]
    found = {
        value
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, ops.Op) and value.__module__ == module.__name__
    }
    return sorted(found - {ops.Op}, key=lambda cls: cls.__name__)


def sections(cls: type[ops.Op[Any]]) -> dict[str, list[str]]:
    """The entries of each section: a line at the column of the first entry begins another, a deeper one goes on."""
    found: dict[str, list[str]] = {}
    entries, column = [""], 0
    for line in inspect.cleandoc(cls.__doc__ or "").splitlines():
        indent = len(line) - len(line.lstrip())
        start = re.match(rf"({'|'.join(SECTIONS)}):\s+(?=\S)", line)
        if start:
            column = start.end()
            entries = found[start[1]] = [line[column:]]
        elif indent and indent == column:
            entries.append(line[column:])
        elif indent:
            entries[-1] += f" {line.strip()}"
    return found


def table() -> str:
    """The whole page."""
    return INTRODUCTION + "".join(f"| {' | '.join(row(cls))} |\n" for cls in op_classes())


def row(cls: type[ops.Op[Any]]) -> list[str]:
    """The cells of one op."""
    texts = sections(cls)
    for name in SECTIONS:
        assert name in texts, f"{cls.__name__} has no section {name}: in its docstring"
    inputs, outputs = ("<br>".join(spec(entry) for entry in texts[name]) for name in ("Input", "Output"))
    prose = (plain(" ".join(texts[name])) for name in ("Reference", "Deviation"))
    place = "host or device" if issubclass(cls, Lowerable) else "host"
    return [cell.replace("|", "\\|") for cell in (f"`{signature(cls)}`", inputs, outputs, *prose, place)]


def signature(cls: type[ops.Op[Any]]) -> str:
    """As it is written in Python, without the types."""
    parameters = inspect.signature(cls).parameters.values()
    written = (str(parameter.replace(annotation=inspect.Parameter.empty)) for parameter in parameters)
    return f"{cls.__name__}({', '.join(written)})"


def spec(entry: str) -> str:
    """`name`, its spec and a note, which stand two spaces apart."""
    name, *rest = re.split(r"\s{2,}", entry)
    shape, note = (*rest, "", "")[:2]
    return " ".join(part for part in (f"`{name}`", f"`{shape}`" if shape else "", plain(note)) if part)


def plain(text: str) -> str:
    """Markdown that shows the text as it is."""
    return re.sub(r"([*_])", r"\\\1", text)


if __name__ == "__main__":
    PAGE.write_text(table(), encoding="utf-8")
