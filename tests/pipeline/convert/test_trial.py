from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx_files import node, save, scale_model, tensor

from ops import ModelError
from pipeline.convert.answers import runnable
from pipeline.convert.axes import Sizes
from pipeline.convert.options import Options
from pipeline.convert.source import ONNX, Source
from pipeline.convert.trial import Pair, Tried, held, sampler_of

DIMS = ("batch", "length")


def tried_on(source: Path, made: Path, *settings: Sizes, everywhere: bool = True) -> tuple[list[Tried], list[str]]:
    pair, said = Pair(Source(ONNX, str(source)), runnable(made), Options()), list[str]()
    sampler = sampler_of(pair, settings[0])
    return held(pair, sampler, settings, everywhere=everywhere, say=said.append), said


def only_at(path: Path, *lengths: int) -> Path:
    """y = x, at these lengths; at others an index is out of bounds."""
    index = np.full(64, 9)
    index[list(lengths)] = 0
    nodes = [
        node("Shape", ["x"], ["length"], start=1),
        node("Gather", ["index", "length"], ["row"]),
        node("Gather", ["one", "row"], ["factor"]),
        node("Mul", ["x", "factor"], ["y"]),
    ]
    weights = {"index": index, "one": np.float32([1])}
    return save(path, nodes, [tensor("x", DIMS)], [tensor("y", DIMS)], weights)


def test_a_single_setting_is_halved_or_doubled_where_other_sizes_have_to_do(tmp_path: Path) -> None:
    model = scale_model(tmp_path / "m.onnx", dims=DIMS)
    for setting, everywhere, labels in (
        ({"length": 6}, True, ["random, batch 1", "random, batch 3", "random, batch 1, length=3"]),
        ({"length": 1}, True, ["random, batch 1", "random, batch 3", "random, batch 1, length=2"]),
        ({"length": 6}, False, ["random, batch 1", "random, batch 3"]),
        ({"length": 6, "batch": 2}, True, ["random", "random, length=3,batch=2"]),
    ):
        tried, said = tried_on(model, model, setting, everywhere=everywhere)
        assert [one.point.label for one in tried] == labels
        assert all(one.ok for one in tried)
        assert not said


def test_a_size_that_the_source_does_not_take_is_left_alone(tmp_path: Path) -> None:
    twice = only_at(tmp_path / "m.onnx", 8, 16)
    tried, said = tried_on(twice, twice, {"length": 8})
    assert [one.point.label for one in tried] == ["random, batch 1", "random, batch 3", "random, batch 1, length=16"]
    assert not said
    lone = only_at(tmp_path / "m.onnx", 8)
    tried, said = tried_on(lone, lone, {"length": 8})
    assert len(tried) == 2
    assert said == ["compared at length=8 only: the source fails at half and at twice that; add others by --at"]


def test_of_several_settings_all_are_compared_and_no_other(tmp_path: Path) -> None:
    model = only_at(tmp_path / "m.onnx", 8, 12)
    tried, said = tried_on(model, model, {"length": 8}, {"length": 12})
    assert [one.point.label for one in tried] == ["random, batch 1", "random, batch 3", "random, batch 1, length=12"]
    assert not said
    with pytest.raises(ModelError, match=r"the source does not run on x \[1, 9\]: .*out of"):
        tried_on(model, model, {"length": 8}, {"length": 9})


def test_what_was_made_is_tried_where_the_source_runs(tmp_path: Path) -> None:
    source, made = scale_model(tmp_path / "s.onnx", factor=1.0, dims=DIMS), only_at(tmp_path / "m.onnx", 8)
    tried, _ = tried_on(source, made, {"length": 8})
    assert [one.ok for one in tried] == [True, True, False]
    assert tried[0].answers["y"].tolist() == tried[0].point.feeds["x"].tolist()


def test_a_model_whose_ids_are_never_right_is_told(tmp_path: Path) -> None:
    weights = {"table": np.float32([1]), "far": np.int64([9])}
    nodes = [node("Add", ["ids", "far"], ["late"]), node("Gather", ["table", "late"], ["y"])]
    path = save(tmp_path / "m.onnx", nodes, [tensor("ids", DIMS, np.int64)], [tensor("y", DIMS)], weights)
    with pytest.raises(ModelError, match=r"the model runs on no random inputs: .*out of"):
        tried_on(path, path, {"length": 8})
