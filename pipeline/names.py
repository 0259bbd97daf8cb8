"""Names: what entries and values are called, and whether they may be called so."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from ge_engine.model import Model
from ops import Where
from ops.unique import unique

from .declaration import Entry, Node, Ref

if TYPE_CHECKING:
    from .report import Report

LONGEST = 100  # names become file names, with more behind them
_USABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_FIX = f"use a-z, A-Z, 0-9, _ and -, beginning with a letter or _, {LONGEST} at most"


def name_entries(entries: Sequence[Entry]) -> dict[int, str]:
    """Every entry's name; a node without one gets its op's, made usable, and numbered where that is taken."""
    names = {i: _text(entry.name) for i, entry in enumerate(entries) if not _is_unnamed(entry)}
    taken = set(names.values())
    for index, entry in enumerate(entries):
        if _is_unnamed(entry):
            names[index] = unique(usable(_text(entry.op.default_name)), taken)
            taken.add(names[index])
    return dict(sorted(names.items()))


def _is_unnamed(entry: Entry) -> TypeGuard[Node]:
    """Whether it is a node that the user gave no name; None is no name for anything else."""
    return isinstance(entry, Node) and entry.name is None


def usable(name: str) -> str:
    """A name like this one that may be used.

    >>> usable("vit-b-16.img.fp32"), usable("2d")
    ('vit-b-16_img_fp32', '_2d')
    """
    cleaned = re.sub(r"[^A-Za-z0-9_-]", "_", name)[: LONGEST - 1]
    if not re.search(r"[A-Za-z0-9]", cleaned):
        return "unnamed"  # a name in another script leaves nothing to tell it by
    return cleaned if _USABLE.fullmatch(cleaned) else f"_{cleaned}"


def check_names(report: Report) -> None:
    """G17: names that cannot be used. G01: entries of one name. G07: outputs of one name."""
    declaration = report.declaration
    _check_usable(report, "pipeline", declaration.name, declaration.where)
    first: dict[str, int] = {}
    for index, entry in enumerate(report.entries):
        name = report.names[index]
        if not _is_unnamed(entry):
            _check_usable(report, type(entry).__name__.lower(), entry.name, entry.where)
        other = first.setdefault(name, index)
        if other != index:
            message = f"{report.place(index)} has the name of {report.place(other)} at {report.entries[other].where}"
            report.add("G01", entry.where, message, "give each input, constant and node a name of its own")
    outputs: dict[str, Where] = {}
    for output in declaration.outputs:
        _check_usable(report, "output", output.name, output.where)
        if output.name in outputs:
            message = f"output '{output.name}' is named at {outputs[output.name]} too"
            report.add("G07", output.where, message, "give each output a name of its own")
        outputs.setdefault(output.name, output.where)


def name_values(report: Report, order: Sequence[int]) -> dict[Ref, str]:
    """The key of every value: see Graph."""
    keys: dict[Ref, str] = {(i, ""): report.names[i] for i in range(len(report.entries)) if i not in report.nodes}
    outputs: Mapping[int, tuple[str, ...]] = {index: report.nodes[index].op.output_names for index in order}
    made = [name for index in order if isinstance(report.nodes[index].op, Model) for name in outputs[index]]
    taken = set(report.names.values())
    for index in order:
        node = report.names[index]
        for name in outputs[index]:
            # A dot would make it look like an output of another node.
            own = isinstance(report.nodes[index].op, Model) and made.count(name) == 1 and name not in taken
            keys[index, name] = name if own and "." not in name else f"{node}.{name}" if name else node
        keys.setdefault((index, ""), keys[index, outputs[index][0]])
    return keys


def _check_usable(report: Report, what: str, name: Any, where: Where) -> None:
    if (what, name) == ("input", "name"):
        fix = "call it something else: name= names a node"
    elif isinstance(name, str) and _USABLE.fullmatch(name) and len(name) <= LONGEST:
        return
    else:
        fix = f"{_FIX}: {usable(name)}" if isinstance(name, str) and usable(name).strip("_-") else _FIX
    report.add("G17", where, f"{what} {name!r} has a name that cannot be used", fix)


def _text(name: Any) -> str:
    return name if isinstance(name, str) else repr(name)
