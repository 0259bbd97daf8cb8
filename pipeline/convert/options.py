"""Options: what may be said of a conversion, beside what is to be converted and to what."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ops import WrongUse

from ..triton.releases import DEFAULT_TARGET

TOLERANCE = 1e-4  # relative to the largest value of an output


@dataclass(frozen=True)
class Options:
    """opset: of an ONNX file, 17 by default. outputs: those to keep, in this order. signature: of a SavedModel.

    sizes: by name ("height", or "x.2"), of axes that vary beside the batch; of several all are compared. data: an .npz
    to compare on, too. gears, target: of an entry of a repository. python: the interpreter that has TensorFlow or
    PyTorch.
    Errors: WrongUse for what cannot be meant.
    """

    opset: int = 0
    outputs: tuple[str, ...] = ()
    signature: str = ""
    sizes: tuple[Mapping[str, int], ...] = ()
    data: Path | None = None
    tolerance: float = TOLERANCE
    gears: tuple[int, ...] | None = None
    target: str = DEFAULT_TARGET
    python: str = sys.executable

    def __post_init__(self) -> None:
        if not self.tolerance >= 0:
            raise WrongUse(f"tolerance is {self.tolerance}", fix="give a number of at least 0, as 1e-4")
        if self.opset < 0:
            raise WrongUse(f"opset is {self.opset}", fix="give a number, as 17")
        for name in self.outputs:
            if not name or self.outputs.count(name) > 1:
                raise WrongUse(f"outputs are {', '.join(map(repr, self.outputs))}", fix="name each once")
