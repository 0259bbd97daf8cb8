"""The wire: a large picture to a cheap model that takes all of its pixels, 3600 x 3600, as float16.

Our ensemble is sent the JPEG. The usual client decodes, converts and sends the tensor, 78 MB, to the model alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from asking import as_bytes, server
from bench import Bench
from callers import at_once
from models import pooled
from photos import scene

import ops
from baselines.triton import lay_out
from baselines.wire import preprocess
from ge_engine import Model
from pipeline import Pipeline

pytestmark = pytest.mark.triton

SIZE = 3600
NBYTES = 500_000
CLIENTS = 2
JPEG, TENSOR = "the ensemble takes the JPEG", "the client sends the tensor"


def _jpeg() -> bytes:
    """In the quality at which it is about half a megabyte."""
    image = cv2.GaussianBlur(scene(SIZE, SIZE), (0, 0), 3)
    made = (cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1] for quality in range(95, 5, -5))
    return next(data.tobytes() for data in made if data.nbytes <= NBYTES)


def _pipeline(model: Path) -> Pipeline:
    pipeline = Pipeline("wire")
    pixels = ops.DecodeImage(color="RGB")(pipeline.input("image", ops.ENCODED_IMAGE))
    frame = ops.CenterCrop(height=SIZE, width=SIZE)(pixels)
    x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(frame)
    pipeline.output(y=Model(model)(ops.Cast("float16")(x)))
    return pipeline


def test_wire(bench: Bench, tmp_path: Path) -> None:
    import tritonclient.grpc

    model, jpeg = pooled(tmp_path, SIZE), _jpeg()
    repository = tmp_path / "models"
    plan = _pipeline(model).compile()
    plan.export(repository, samples=[{"image": jpeg}])
    lay_out("wire", model, repository)
    want = plan.session().run(image=jpeg)["y"]
    with server(repository) as running, tritonclient.grpc.InferenceServerClient(running.grpc_url) as client:
        infer: Any = tritonclient.grpc.InferInput

        def send_jpeg() -> Any:
            value = infer("image", [1], "BYTES")
            value.set_data_from_numpy(as_bytes(jpeg))
            return client.infer("wire", [value]).as_numpy("y")

        def send_tensor() -> Any:
            x = preprocess(jpeg)
            value = infer("x", list(x.shape), "FP16")
            value.set_data_from_numpy(x)
            return client.infer("hand_wire_model", [value]).as_numpy("y")

        for answer in (send_jpeg(), send_tensor()):
            np.testing.assert_allclose(answer.reshape(-1), want, rtol=1e-2)
        turns = bench.in_turn(
            {
                JPEG: bench.rate(at_once(send_jpeg, CLIENTS)),
                TENSOR: bench.rate(at_once(send_tensor, CLIENTS)),
            },
            rounds=5,
        )
    bench.turns_table(
        f"A JPEG of {SIZE} x {SIZE}, {len(jpeg) // 1000} KB, {CLIENTS} clients", turns, "pictures/s", JPEG
    )
    bench.claim("wire.jpeg", turns.ratio(JPEG, TENSOR))
