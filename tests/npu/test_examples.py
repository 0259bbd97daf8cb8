"""The examples on a card, as on the CPU: within what float32 allows where sums are made in another order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from weights import ROOT, laid_out

from pipeline import Plan
from pipeline.load import load

pytestmark = [pytest.mark.npu, pytest.mark.weights, pytest.mark.timeout(1800)]  # atc takes minutes

GEARS = (1, 2, 4)
DEVICE = "npu:0"


@pytest.fixture(scope="module")
def yolo11() -> Plan:
    laid_out("examples/yolo11/weights/yolo11n.onnx")
    return load(str(ROOT / "examples/yolo11/graph.py")).compile(gears=GEARS, streams=2)


@pytest.fixture(scope="module")
def cnclip() -> Plan:
    return load(str(ROOT / "examples/cnclip/graph.py")).compile(gears=GEARS, streams=2)


def photos() -> list[dict[str, Any]]:
    return [{"image": laid_out(f"examples/yolo11/weights/{name}.jpg").read_bytes()} for name in ("bus", "zidane")]


def both(plan: Plan, samples: list[dict[str, Any]]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """For each sample the card's answer, and the CPU's."""
    with plan.session() as session:
        wanted = session.run_batch(samples)
    with plan.session(DEVICE) as session:
        got = [*session.run_batch(samples), *session.map(samples)]
    failed = [each for each in (*wanted, *got) if isinstance(each, Exception)]
    assert not failed
    return list(zip(got, wanted * 2))  # type: ignore[arg-type]


def test_what_is_on_the_photos_is_what_the_cpu_finds(yolo11: Plan) -> None:
    for got, wanted in both(yolo11, photos() * 4):
        assert got["classes"].tolist() == wanted["classes"].tolist()
        np.testing.assert_allclose(got["scores"], wanted["scores"], atol=0.005)
        np.testing.assert_allclose(got["boxes"], wanted["boxes"], atol=1.5)


def test_pictures_and_sentences_are_as_close_to_each_other_as_on_the_cpu(cnclip: Plan) -> None:
    picture = laid_out("examples/cnclip/weights/chelsea.png").read_bytes()
    samples = [{"image": picture, "text": text.encode()} for text in ("一只猫", "一辆公共汽车")]
    for got, wanted in both(cnclip, samples):
        assert got.keys() == wanted.keys()
        for name in wanted:
            np.testing.assert_allclose(got[name], wanted[name], atol=0.01)


def test_a_sample_that_fails_leaves_the_card_in_service(yolo11: Plan) -> None:
    good = photos()[0]
    with yolo11.session(DEVICE) as session:
        first, bad, last = session.run_batch([good, {"image": b"no picture"}, good])
    assert isinstance(bad, Exception)
    assert isinstance(first, dict)
    assert isinstance(last, dict)
    assert first["boxes"].tobytes() == last["boxes"].tobytes()
