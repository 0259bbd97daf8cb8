"""Samples to try a pipeline with, in the form that a Session takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .declaration import Input
from .parse import sample_from
from .triton import bench_inputs
from .triton.tensor import Tensor, triton_type


def session_samples(
    inputs: Sequence[Input], words: Sequence[str] | None, golden: Path | None, name: str
) -> list[dict[str, Any]]:
    """Those of the command line, an export's golden requests, or random ones; for the pipeline of that name.

    Errors: WrongUse.
    """
    if words and not golden:
        return [sample_from(words, inputs)]
    tensors = [Tensor(value.name, triton_type(value.spec.dtype), _dims(value)) for value in inputs]
    found = bench_inputs.samples(tensors, words, golden, name, batching=True)
    return [{value.name: _plain(sample, value) for value in inputs} for sample in found]


def _dims(value: Input) -> tuple[int, ...]:
    return tuple(dim if isinstance(dim, int) else -1 for dim in value.spec.shape) or (1,)


def _plain(sample: Mapping[str, Any], value: Input) -> Any:
    """Bytes travel as an array of one."""
    return sample[value.name] if value.spec.shape else np.asarray(sample[value.name]).reshape(-1)[0]
