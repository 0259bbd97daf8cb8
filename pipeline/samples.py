"""Samples to try a pipeline with, in the form that a Session takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ops import WrongUse

from .declaration import Input
from .graph import Graph
from .made_up import made_up
from .parse import sample_from
from .triton import bench_inputs

MADE_UP = 8


def session_samples(
    graph: Graph, words: Sequence[str] | None, golden: Path | None, count: int = MADE_UP
) -> list[dict[str, Any]]:
    """Those of the command line, an export's golden requests, or as many that are made up.

    Errors: WrongUse.
    """
    if golden:
        found = bench_inputs.samples((), words, golden, graph.name, batching=True)
        return [{value.name: _plain(sample, value) for value in graph.inputs} for sample in found]
    if words:
        return [sample_from(words, graph.inputs)]
    for value in graph.inputs:
        if value.spec.max_shape is None:
            fix = f"add -i {value.name}=@FILE.npy"
            raise WrongUse(f"input {value.name!r} is {value.spec}: its size is open", fix=fix)
    return made_up(graph, count)


def _plain(sample: Mapping[str, Any], value: Input) -> Any:
    """Bytes travel as an array of one."""
    return sample[value.name] if value.spec.shape else np.asarray(sample[value.name]).reshape(-1)[0]
