"""Labels: the names of a model's classes, from the ONNX metadata."""

from __future__ import annotations

import ast
from collections.abc import Mapping

_LONGEST = 1 << 20  # characters; a literal is parsed only up to here


def labels_of(metadata: Mapping[str, str]) -> tuple[str, ...]:
    """`names` as a Python literal (a list, or a dict by class number), or `character`, one a line; else ().

    >>> labels_of({"names": "{1: 'dog', 0: 'cat'}"}), labels_of({"character": "0\\n180"})
    (('cat', 'dog'), ('0', '180'))
    """
    if "names" in metadata:
        return _literal(metadata["names"])
    return tuple(metadata["character"].split("\n")) if metadata.get("character") else ()


def _literal(text: str) -> tuple[str, ...]:
    if len(text) > _LONGEST:
        return ()
    try:
        names = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return ()
    if isinstance(names, dict) and names and all(isinstance(key, int) and key >= 0 for key in names):
        if max(names) >= 2 * len(names) + 1000:
            return ()
        names = [names.get(index, "") for index in range(max(names) + 1)]
    if isinstance(names, (list, tuple)) and all(isinstance(name, (str, int, float)) for name in names):
        return tuple(str(name) for name in names)
    return ()
