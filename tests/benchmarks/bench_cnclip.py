"""The image tower of Chinese-CLIP (its small stand-in) from a JPEG, in Pillow's bicubic filter."""

from __future__ import annotations

import numpy as np
import tasks
from bench import Bench
from from_jpeg import MAP, SUBMIT, rates
from machine import cores
from weights import ROOT

from baselines.cnclip import Loop


def test_cnclip(bench: Bench) -> None:
    model, jpeg = ROOT / tasks.CNCLIP_IMAGE, tasks.bus()
    with tasks.cnclip_image().compile(gears=(1, 2, 4, 8), streams=cores()).session() as session:
        np.testing.assert_allclose(Loop(model)(jpeg), session.run(image=jpeg)["vector"], atol=2e-2)  # decoders: 1 level
        turns = rates(bench, session, jpeg, model, Loop, {}, rounds=3)
    bench.turns_table("Chinese-CLIP image tower from JPEG", turns, "samples/s", turns.best(MAP, SUBMIT))
