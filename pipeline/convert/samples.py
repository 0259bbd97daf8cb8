"""Samples: whole inputs on which two models are compared: random ones, and the user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ge_engine.openvino_runtime import Port
from ge_engine.samples import has_ids, id_bounds, random_batch
from ops import DeviceError, WrongUse

from ..arrays import inputs_in
from ..axis_sizes import at_text
from .answers import Feeds, Runnable
from .axes import Sizes, batch_axis, tensors_of

BATCHES = (1, 3)  # of random inputs, where the batch varies
TRACED = 2  # the batch with which PyTorch's exporter runs a model


@dataclass(frozen=True)
class Point:
    """Inputs, and the sizes that their axes have beside the batch, where these are known."""

    label: str
    feeds: Feeds
    sizes: Sizes = field(default_factory=dict)

    @property
    def shapes(self) -> str:
        """In a message."""
        return ", ".join(f"{name} {list(array.shape)}" for name, array in self.feeds.items())


class Sampler:
    """Random inputs such as a model takes.

    sizes: of the axes that vary beside the batch. ids: between which two the whole numbers of an example are.
    Errors: WrongUse for an axis that varies and has no size; DeviceError where the model runs on none.
    """

    def __init__(self, model: Runnable, sizes: Sizes, ids: Mapping[str, Sequence[int]] | None = None) -> None:
        self._ports, self._sizes = model.inputs, sizes
        self._made = 0
        # An example of one number, as zeros, says less than a try, unless nothing else does.
        several = {name: (least, most) for name, (least, most) in (ids or {}).items() if least < most}
        for batch, self._ids in ((BATCHES[0], several), (TRACED, several), (BATCHES[0], ids or {})):
            tensors = tensors_of(self._ports, sizes, batch)
            try:
                self._bounds = id_bounds(tensors, lambda feeds: model(self._fit(feeds))) if has_ids(tensors) else {}
                return
            except DeviceError as error:
                fault = error
        raise fault

    def points(self) -> list[Point]:
        """One sample, and three where the batch varies."""
        batches = BATCHES if batch_axis(self._ports, self._sizes) else BATCHES[:1]
        return [self.point(self._sizes, batch) for batch in batches]

    def point(self, sizes: Sizes, batch: int = BATCHES[0]) -> Point:
        """Inputs of these sizes. Errors: WrongUse for an axis that varies and has no size."""
        tensors = tensors_of(self._ports, sizes, batch)
        feeds = self._fit(random_batch(tensors, self._bounds, seed=self._made))
        self._made += 1
        rows = f", batch {batch}" if batch_axis(self._ports, sizes) else ""
        others = f", {at_text(sizes)}" if sizes != self._sizes else ""
        return Point(f"random{rows}{others}", feeds, sizes)

    def _fit(self, feeds: Feeds) -> Feeds:
        """The same, with whole numbers as those of the example."""
        random, found = np.random.default_rng(self._made), dict(feeds)
        for name, (least, most) in self._ids.items():
            found[name] = random.integers(least, most, feeds[name].shape, endpoint=True).astype(feeds[name].dtype)
        return found


def given(data: Path, ports: Sequence[Port]) -> Feeds:
    """The inputs of an .npz file, whole, with the batch. Errors: WrongUse where they do not fit."""
    names = [port.name for port in ports]
    arrays = inputs_in(data, names)
    for name in arrays:
        if name not in names:
            fix = f"leave it out of the file: the inputs are {', '.join(names)}"
            raise WrongUse(f"{data} has '{name}', which is no input", fix=fix)
    for port in ports:
        found = arrays[port.name]
        fits = port.shape is None or (
            found.ndim == len(port.shape)
            and all(not isinstance(want, int) or want == size for want, size in zip(port.shape, found.shape))
        )
        if found.dtype != port.dtype or not fits:
            wanted = ",".join("?" if dim is None else str(dim) for dim in port.shape or ())
            raise WrongUse(
                f"{data}: '{port.name}' is {found.dtype}{list(found.shape)}, the model wants {port.dtype}[{wanted}]",
                fix="give it whole, with the batch as the first axis",
            )
    return {name: np.ascontiguousarray(arrays[name]) for name in names}
