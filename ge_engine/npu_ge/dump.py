"""Dump: what is left behind where the option dump_data is on: the inputs and outputs of each run, as npz."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Mapping
from pathlib import Path

from ops import Array

from ..npz import NpzWriter

FOLDER = Path("dump_data")  # in the folder where the server was started


class Dump:
    """Of one instance. What is inside the graph only GE itself dumps: a server's Python has no onnx to look there."""

    def __init__(self, model: str, folder: Path = FOLDER) -> None:
        self._folder = folder.resolve()
        self._model = re.sub(r"[^\w.-]", "_", model)
        self._numbers = itertools.count(1)

    def run(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        """Write MODEL_PROCESS_NUMBER.npz."""
        file = f"{self._model}_{os.getpid()}_{next(self._numbers):06}.npz"
        with NpzWriter(self._folder / file) as npz:
            for name, array in (*inputs.items(), *outputs.items()):
                npz.add(name, array)
