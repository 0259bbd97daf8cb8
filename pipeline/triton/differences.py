"""Differences between two configs of one model, as its clients see them."""

from __future__ import annotations

from typing import Any

from .tensor import tensor_of


def differences(old: Any, new: Any) -> list[str]:
    """What a client that knows `old` would stumble over: names, dtypes, dims, the batch."""
    found = []
    if bool(old.max_batch_size) != bool(new.max_batch_size):
        found.append(f"max_batch_size was {old.max_batch_size}, is {new.max_batch_size}")
    elif new.max_batch_size < old.max_batch_size:
        found.append(f"max_batch_size was {old.max_batch_size}, is only {new.max_batch_size}")
    for kind in ("input", "output"):
        before = {tensor.name: tensor for tensor in getattr(old, kind)}
        after = {tensor.name: tensor for tensor in getattr(new, kind)}
        found += [f"{kind} '{name}' is gone" for name in before if name not in after]
        if kind == "input":
            found += [f"input '{name}' is new" for name in after if name not in before]
        for name in before.keys() & after.keys():
            was, now = str(tensor_of(before[name])), str(tensor_of(after[name]))
            if was != now:
                found.append(f"{kind} '{name}' was {was}, is {now}")
    return found
