"""Names: of input dims, as npu_ge can tell them apart."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from .expression import clash


def is_invented(name: str) -> bool:
    """Whether an exporter has made it up for a dim to which nobody gave a name: it says which axis it is, not what.

    >>> is_invented("Resizemask_dim_2"), is_invented("images_dynamic_axes_1"), is_invented("height")
    (True, True, False)
    """
    return re.search(r"_dim_[0-9]+$|_dynamic_axes_[0-9]+$", name) is not None


def legal_names(names: Iterable[str]) -> dict[str, str]:
    """For each name one that npu_ge reads, its own wherever that will do.

    It replaces names inside a text and takes `_` for the end of a word: of `seq` and `seq_len`, the latter is renamed.

    >>> legal_names(["seq", "seq_len", "input.1_h", "2nd"])
    {'seq': 'seq', 'seq_len': 'seqlen', 'input.1_h': 'input_1_h', '2nd': 'd2nd'}
    """
    legal: dict[str, str] = {}
    for name in dict.fromkeys(names):
        legal[name] = _numbered(_identifier(name), legal.values())
    renamed = True
    while renamed:  # a new name may be inside another
        renamed = False
        for name, own in legal.items():
            if clash(own, legal.values()):
                others = {text for other, text in legal.items() if other != name}
                legal[name] = _numbered(_identifier(own.replace("_", "")), others)
                renamed = True
    return legal


def _identifier(name: str) -> str:
    """As much of a name as can be one.

    >>> _identifier("s0"), _identifier("height.1"), _identifier("批"), _identifier("")
    ('s0', 'height_1', 'dim', 'dim')
    """
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return name
    text = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "dim"
    return f"d{text}" if text[0].isdigit() else text


def _numbered(name: str, taken: Container[str]) -> str:
    """The name, with a number behind it where it is taken; no `_` between, which would end a word."""
    free, count = name, 1
    while free in taken:
        count += 1
        free = f"{name}{count}"
    return free
