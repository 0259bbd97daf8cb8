from __future__ import annotations

import math
from pathlib import Path

import half_models
import pytest

from ge_engine.skeleton import read_skeleton
from pipeline.compare import search
from pipeline.compare.case import Case
from pipeline.compare.limits import Limits
from pipeline.compare.search import Kept, Search

USUAL = Limits()


def searched(path: Path, limits: Limits = USUAL, told: list[str] | None = None, precision: str = "fp16") -> Kept:
    case = Case("m", read_skeleton(str(path)).model, ({"x": half_models.rows()},))
    return Search(case, precision, limits, (told if told is not None else []).append).run()


def test_the_nodes_between_which_values_overflow_are_kept(tmp_path: Path) -> None:
    kept = searched(half_models.overflowing(tmp_path / "m.onnx"))
    assert kept.enough
    assert set(kept.nodes) == {"boost", "calm"}
    assert [step.loss for step in kept.steps] == [math.inf, math.inf]
    assert all(USUAL.broken_by(step.without) for step in kept.steps)  # one alone gains nothing
    assert not USUAL.broken_by(kept.result)


def test_what_is_lost_where_no_value_overflows_is_found_too(tmp_path: Path) -> None:
    kept = searched(half_models.cancelling(tmp_path / "m.onnx"))
    assert kept.enough
    assert set(kept.nodes) == {"lift", "lower"}
    assert kept.result.distance < 0.001 < 0.05 < min(step.without.distance for step in kept.steps)


def test_limits_that_only_fp32_keeps_keep_every_node(tmp_path: Path) -> None:
    kept = searched(half_models.harmless(tmp_path / "m.onnx"), Limits(cosine=1.0, distance=0.0))
    assert (kept.enough, set(kept.nodes), kept.result.max_abs) == (True, {"mix", "squash"}, 0)


def test_nodes_that_the_precision_leaves_alone_are_not_asked_for(tmp_path: Path) -> None:
    path = half_models.harmless(tmp_path / "m.onnx")
    kept = searched(path, Limits(cosine=1.0, distance=0.0), precision="cube_fp16in_fp32out")
    assert kept.nodes == ("mix",)


def test_a_model_that_needs_too_many_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST", 1)
    kept = searched(half_models.overflowing(tmp_path / "m.onnx"))
    assert (kept.enough, len(kept.nodes)) == (False, 1)


def test_what_is_tried_is_told_and_nothing_twice(tmp_path: Path) -> None:
    told: list[str] = []
    searched(half_models.overflowing(tmp_path / "m.onnx"), told=told)
    assert told[0].startswith("m: 1 node in fp32: the worst output has cosine ")
    assert told[-1].startswith("m: ")
    assert len(told) < 10
