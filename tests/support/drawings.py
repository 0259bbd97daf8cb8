"""Drawings for tests: a real plan of many kinds of steps, and made-up ones of any shape."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import tiny

import ops
from ge_engine import Model
from pipeline import Pipeline
from pipeline.draw import Drawing
from pipeline.draw.drawing import Box, Frame, Wire

NASTY = 'a<b>&"c"\'猫 ]]> `x` #1'


def shop(folder: Path) -> Pipeline:
    """26 nodes: two towers on one picture, a third on features, a constant, a model behind a model."""
    pipeline = Pipeline("shop")
    pixels = ops.DecodeImage(color="RGB")(
        pipeline.input("photo", ops.ENCODED_IMAGE), name="the_photo_as_it_has_come_in"
    )
    boxed, transform = ops.Letterbox(height=64, width=64)(pixels)
    plain = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))
    large = Model(tiny.picture_model(folder, "large"))(plain(boxed))
    small = Model(tiny.picture_model(folder, "small"))(plain(ops.Resize(height=32, width=32)(pixels)))
    dense = Model(tiny.vector_model(folder, "dense"))(tiny.Scale(2.0)(pipeline.input("features", tiny.VECTOR)))
    bank = pipeline.constant("bank", np.eye(5, 4, dtype=np.float32))
    towers = [ops.L2Normalize()(tower) for tower in (large, small, dense)]
    likely = [ops.Softmax()(ops.Similarity()(tower, bank)) for tower in towers]
    first = ops.TopK(k=2)(tiny.Scale(3.0)(tiny.Same()(likely[0])))
    second = Model(tiny.vector_model(folder, "second", size=4))(tiny.Same()(towers[2]))
    pipeline.output(scores=first[0], indices=first[1], small=ops.TopK(k=2)(likely[1])[0], third=likely[2])
    pipeline.output(where=transform, last=tiny.Picky()(second))
    return pipeline


def made_up(seed: int) -> Drawing:
    """Of some stages, any nodes in them, and any wires down; with names that are hard to write."""
    choose = random.Random(seed)
    bands = choose.randint(1, 5)
    frames, boxes = [], [Box(f"i{n}", "input", "", f"in{n}", band=0) for n in range(choose.randint(1, 3))]
    for band in range(1, bands + 1):
        for number in range(1 if band % 2 else choose.randint(1, 3)):
            frame = Frame(f"s{band}_{number}", "host" if band % 2 else "device", band, ("device", "gears 1,2,4,8"))
            frames.append(frame)
            for index in range(choose.randint(1, 4)):
                id = f"{frame.name}_{index}"
                boxes.append(Box(id, "host", choose.choice(("Op", NASTY)), id, "graph.py:1", "1 ms", frame.name, band))
    boxes.append(Box("o", "output", "", "out", band=bands + 1))
    wires = []
    for at, box in enumerate(boxes[:-1]):
        later = [
            other.id
            for other in boxes[at + 1 :]
            if other.band > box.band or (other.frame == box.frame and other.frame and other.band == box.band)
        ]
        targets = choose.sample(later, min(len(later), choose.randint(1, 3)))
        wires.append(Wire(f"v{at}", box.id, tuple(targets), f"float32[{'8,' * choose.randint(1, 6)}1]", "1.2 MB"))
    return Drawing(NASTY, NASTY, tuple(boxes), tuple(wires), tuple(frames))
