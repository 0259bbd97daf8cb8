"""Fits: whether a card has room for a stage, before anything of it is loaded."""

from __future__ import annotations

from collections.abc import Sequence

from ops import DeviceError

from .card import Card


def check_fits(card: Card, stage: str, paths: Sequence[str], streams: int, lanes: int, lane_nbytes: int) -> None:
    """Each stream has the models once, each lane its buffers.

    What the card does not say, of its memory or of a file, is left to the loading.
    Errors: DeviceError for more than the memory that is free, with all the parts of it.
    """
    try:
        sizes = [card.library.get("mdl.query_size", path) for path in paths]
        free, total = card.memory()
    except DeviceError:
        return
    work, weights = (sum(size) for size in zip(*sizes))
    stream_nbytes = work + weights + lanes // streams * lane_nbytes
    if streams * stream_nbytes <= free:
        return
    most = free // stream_nbytes
    raise DeviceError(
        f"stage '{stage}' needs {_mb(streams * stream_nbytes)} on {card.name}, where {_mb(free)} of {_mb(total)} are "
        f"free: {_mb(weights)} of weights and {_mb(work)} to work in for each of {streams} streams, and "
        f"{_mb(lane_nbytes)} of buffers for each of {lanes} batches in flight",
        fix=f"use {f'{most} streams, or smaller gears' if most else 'smaller gears'}; or stop what else runs on the "
        "card: npu-smi info",
    )


def _mb(nbytes: int) -> str:
    return f"{nbytes / 1e6:,.1f} MB"
