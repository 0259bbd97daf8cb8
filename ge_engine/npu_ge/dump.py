"""Dump: what is left behind where dump_data is on, in the folder where the server was started: of each run every value.

GE writes files of its own form there; `gepipe compare` reads both.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ops import Array

from ..npz import NpzWriter

DATA, GRAPHS = Path("dump_data"), Path("dump_graph")

Inner = Callable[[Mapping[str, Array]], Iterable[tuple[str, Any]]]


def nothing(inputs: Mapping[str, Array]) -> Iterable[tuple[str, Any]]:
    """Of a graph whose inside cannot be seen."""
    return ()


class Dump:
    """Of one instance. inner: the values inside the graph, computed once more."""

    def __init__(self, model: str, inner: Inner, folder: Path = DATA) -> None:
        self._folder = folder.resolve()
        self._model = _file_name(model)
        self._inner = inner
        self._numbers = itertools.count(1)
        self._over = False

    def run(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        """Write MODEL_PROCESS_NUMBER.npz. What goes wrong ends the dump, and not the request."""
        if self._over:
            return
        file = f"{self._model}_{os.getpid()}_{next(self._numbers):06}.npz"
        outer = {**inputs, **outputs}
        try:
            with NpzWriter(self._folder / file) as npz:
                for name, value in outer.items():
                    npz.add(name, value)
                for name, value in self._inner(inputs):
                    if name not in outer:
                        npz.add(name, value)
        except Exception as error:  # a disk, a value that numpy cannot write, a layer that cannot be run alone
            self._over = True
            print(f"npu_ge stand-in: {self._model} is dumped no more: {error}", file=sys.stderr, flush=True)


def graph_file(model: str, folder: Path = GRAPHS) -> Path:
    """Where dump_graph leaves a model's graph. Errors: OSError."""
    folder = folder.resolve()  # a link may lead to where it is to be
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{_file_name(model)}.onnx"


def _file_name(name: str) -> str:
    """A model's name, as far as a file may be called so."""
    return re.sub(r"[^\w.-]", "_", name)
