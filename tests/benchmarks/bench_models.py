"""Two models on the same pictures: a session each, one after the other or at once; and both in one pipeline."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import tasks
from bench import Bench
from callers import Run, looped, mapped
from machine import cores
from weights import ROOT, laid_out

import ops
from baselines.cnclip import Loop as ClipLoop
from baselines.orientation import Loop
from ge_engine import Model
from pipeline import Pipeline


def _both() -> Pipeline:
    """One decode, two models."""
    pipeline = Pipeline("both")
    pixels = ops.DecodeImage(color="RGB")(pipeline.input("image", ops.ENCODED_IMAGE))
    crop = ops.CenterCrop(height=224, width=224)(ops.Resize(shorter=256)(pixels))
    scores = Model(laid_out(tasks.ORIENTATION))(ops.Normalize(mean=tasks.MEAN, std=tasks.STD)(crop))
    square = ops.Resize(height=224, width=224, filter="pillow_bicubic")(pixels)
    mean, std = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
    features = Model(ROOT / tasks.CNCLIP_IMAGE)(ops.Normalize(mean=mean, std=std)(square))
    pipeline.output(scores=scores, vector=ops.L2Normalize()(features))
    return pipeline


def _in_turn(runs: tuple[Run, Run]) -> Run:
    def run(n: int) -> None:
        for one in runs:
            one(n)

    return run


def _at_once(runs: tuple[Run, Run]) -> Run:
    def run(n: int) -> None:
        threads = [threading.Thread(target=one, args=(n,)) for one in runs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return run


def test_models(bench: Bench) -> None:
    jpeg = tasks.bus()
    sample = {"image": jpeg}
    loops: tuple[Callable[[bytes], Any], ...] = (
        Loop(laid_out(tasks.ORIENTATION), cores()),
        ClipLoop(ROOT / tasks.CNCLIP_IMAGE, cores()),
    )
    settings = {"gears": (1, 2, 4, 8), "streams": cores()}
    with (
        tasks.orientation().compile(**settings).session() as first,  # type: ignore[arg-type]
        tasks.cnclip_image().compile(**settings).session() as second,  # type: ignore[arg-type]
        _both().compile(**settings).session() as together,  # type: ignore[arg-type]
    ):
        answer = together.run(**sample)
        np.testing.assert_allclose(answer["scores"], loops[0](jpeg), atol=1e-5)
        np.testing.assert_allclose(answer["vector"], loops[1](jpeg), atol=2e-2)
        np.testing.assert_allclose(answer["vector"], second.run(**sample)["vector"], atol=1e-5)
        sessions = (mapped(first, sample), mapped(second, sample))
        by_hand = tuple(looped(loop, jpeg, cores()) for loop in loops)
        turns = bench.in_turn(
            {
                "one pipeline": bench.rate(mapped(together, sample)),
                "two sessions, at once": bench.rate(_at_once(sessions)),
                "two sessions, in turn": bench.rate(_in_turn(sessions)),
                "two loops, at once": bench.rate(_at_once((by_hand[0], by_hand[1]))),
                "two loops, in turn": bench.rate(_in_turn((by_hand[0], by_hand[1]))),
            },
            rounds=5,
        )
    bench.turns_table("Orientation and Chinese-CLIP's image tower of each picture", turns, "pictures/s", "one pipeline")
