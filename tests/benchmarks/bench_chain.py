"""The preprocessing chain: a 1080p array to 224 x 224, normalised, to a small model; one thread, one at a time.

By hand it is `cv2.resize`, then numpy for the rest: each step goes over the picture once more, into a new array. gepipe
writes the resized bytes into memory that stays, and the model's graph does the rest.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import tasks
from bench import Bench
from models import small
from photos import scene

from baselines.chain import Blob, ConvertFirst, ResizeFirst


@pytest.mark.parametrize("exact", [False, True], ids=["default", "exact"])
def test_chain(bench: Bench, tmp_path: Path, exact: bool) -> None:
    model = small(tmp_path)
    image = scene(1080, 1920)
    cv2.setNumThreads(1)
    loops: dict[str, Any] = {
        "resize first": ResizeFirst(model),
        "convert first": ConvertFirst(model),
        "blobFromImage": Blob(model),
    }
    plan = tasks.chain(model).compile(threads=1, exact=exact)
    with plan.session() as session:
        answer = session.run(image=image)["y"]
        for name, loop in loops.items():
            # one that resizes floats does not round in between
            np.testing.assert_allclose(loop(image), answer, atol=2e-2 if name == "convert first" else 1e-4)
        turns = bench.in_turn(
            {
                "gepipe": bench.latency_us(lambda: session.run(image=image)),
                **{name: bench.latency_us(lambda loop=loop: loop(image)) for name, loop in loops.items()},  # type: ignore[misc]
            }
        )
    title = "1080p array to a small model, one thread" + (", exact=True" if exact else "")
    bench.turns_table(title, turns, "us", "gepipe")
    if not exact:
        bench.claim("chain.resize_first", turns.ratio("gepipe", "resize first"))
        bench.claim("chain.convert_first", turns.ratio("gepipe", "convert first"))
        bench.claim("chain.blob", turns.ratio("gepipe", "blobFromImage"))
