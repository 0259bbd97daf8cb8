"""Case: a graph and what goes into it; and its values on two sides, compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from .layer import Layer
from .measures import Sums, top_k_agreement
from .sides import NUMBERS, Feeds, Place, Side, fitted

_TOP = (1, 5)
_ROW = 10  # numbers: fewer are no ranking


@dataclass(frozen=True)
class Case:
    """A stage of a pipeline, or a model; one entry of feeds for each run, whole, with the batch."""

    name: str
    graph: onnx.ModelProto
    feeds: tuple[Feeds, ...]

    @property
    def outputs(self) -> list[str]:
        return [value.name for value in self.graph.graph.output]

    def places(self) -> dict[str, Place]:
        """Where each tensor is made."""
        nodes = self.graph.graph.node
        return {name: (node.name, slot) for node in nodes for slot, name in enumerate(node.output) if name}


def compared(case: Case, one: Side, other: Side, only: Iterable[str] | None = None) -> list[Layer]:
    """Every tensor of the case (or only those), in the order in which they are made."""
    places = case.places()
    wanted = places if only is None else {name: places[name] for name in only}
    in_one = one.known(wanted)
    common = sorted(in_one & other.known(wanted))
    tensors: dict[str, _Tensor] = {name: _Tensor() for name in wanted}
    for feeds in case.feeds:
        for name, first, second in _paired(one.values(feeds, common), other.values(feeds, common)):
            tensors[name].add(first, second, name in case.outputs)
    layers = []
    for index, node in enumerate(case.graph.graph.node):
        for slot, name in enumerate(node.output):
            if name in tensors and tensors[name].is_number:
                absent = "" if name in common else f"not in {other.name if name in in_one else one.name}"
                layers.append(tensors[name].layer(case, index, node, slot, name, absent))
    return layers


def _paired(one: Iterator[tuple[str, Any]], other: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any, Any]]:
    """The values of both by name; each waits only until the other side has come to it."""
    waiting: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    sides = [iter(one), iter(other)]
    ended = [False, False]
    while not all(ended):
        for mine, side in enumerate(sides):
            item = next(side, None)
            if item is None:
                ended[mine] = True
                continue
            name, value = item
            if name not in waiting[1 - mine]:
                waiting[mine][name] = value
                continue
            theirs = waiting[1 - mine].pop(name)
            yield (name, theirs, value) if mine else (name, value, theirs)


class _Tensor:
    """What is known of one tensor so far."""

    def __init__(self) -> None:
        self.sums = Sums()
        self.shape: tuple[int, ...] = ()
        self.dtypes = ("", "")
        self.fault = ""
        self.is_number = True
        self.agreement: dict[int, list[float]] = {}

    def add(self, first: Any, second: Any, is_output: bool) -> None:
        if not isinstance(first, np.ndarray) or first.dtype.kind not in NUMBERS:
            self.is_number = False  # a sequence, or text
            return
        found = fitted(second, first)
        if isinstance(found, str):
            self.fault = found
            return
        self.shape, self.dtypes = first.shape, (first.dtype.name, found.dtype.name)
        self.sums.add(first, found)
        if is_output and first.ndim == 2 and first.shape[1] >= _ROW and first.dtype.kind == "f":
            for k in _TOP:
                self.agreement.setdefault(k, []).append(top_k_agreement(first, found, k))

    def layer(self, case: Case, index: int, node: onnx.NodeProto, slot: int, name: str, absent: str) -> Layer:
        fault = absent or self.fault
        agreement: Mapping[int, float] = {k: sum(all_) / len(all_) for k, all_ in self.agreement.items()}
        return Layer(
            case.name, index, node.name, node.op_type, name, slot, self.shape, self.dtypes,
            None if fault else self.sums.measure(), fault, name in case.outputs, agreement or None,
        )  # fmt: skip
