from __future__ import annotations

from pathlib import Path

import model_zoo
import numpy as np
import pytest
from onnx_files import node, save, tensor

from ge_engine.inspect import facts_of
from ops import SpecError

POOL = [node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2])]


@pytest.fixture
def pool(tmp_path: Path) -> str:
    dims = ("batch", 3, "height", None)
    return str(save(tmp_path / "m.onnx", POOL, [tensor("x", dims)], [tensor("y", dims)]))


def test_there_is_a_gear_for_each_batch_at_each_size(pool: str) -> None:
    facts = facts_of(pool, (1, 2), [{"height": 8, "width": 6}, {"height": 4, "x.3": 4}])
    assert [gear.shapes["x"] for gear in facts.gears] == [(1, 3, 8, 6), (2, 3, 8, 6), (1, 3, 4, 4), (2, 3, 4, 4)]
    assert [gear.output_shapes["y"] for gear in facts.gears][::2] == [(1, 3, 4, 3), (1, 3, 2, 2)]


def test_axes_whose_size_nobody_gave_are_named(pool: str) -> None:
    facts = facts_of(pool)
    assert facts.unsized == ("height", "x.3")
    assert facts.gears == ()
    assert facts.memory(1) is None


def test_a_name_that_is_none_and_a_size_that_is_fixed(pool: str, tmp_path: Path) -> None:
    with pytest.raises(
        SpecError, match=r"no axis of an input that varies is called 'hight'\nfix: did you mean 'height'"
    ):
        facts_of(pool, (1,), [{"hight": 3}])
    with pytest.raises(SpecError, match=r"batch is the batch\nfix: give it as a gear: --gears 4"):
        facts_of(pool, (1,), [{"batch": 4, "height": 8, "x.3": 8}])
    with pytest.raises(SpecError, match=r"x\.1 is 3 in the file, not 4\nfix: leave it out"):
        facts_of(pool, (1,), [{"x.1": 4, "height": 8, "width": 8}])


def test_a_fixed_batch_is_the_only_gear_where_none_is_named(tmp_path: Path) -> None:
    ports = [tensor("x", (2, 6))], [tensor("y", (2, 2, 3))]
    path = save(tmp_path / "m.onnx", [node("Reshape", ["x", "to"], ["y"])], *ports, {"to": np.int64([2, 2, 3])})
    (gear,) = facts_of(str(path)).gears
    assert (gear.gear.batch, gear.error) == (2, "")
    assert [gear.error for gear in facts_of(str(path), (1, 2)).gears] == ["the batch is fixed to 2", ""]


def test_a_batch_that_only_the_declaration_fixes_has_gears(tmp_path: Path) -> None:
    model_zoo.dense(tmp_path / "m.onnx", batch=1)
    facts = facts_of(str(tmp_path / "m.onnx"), (1, 4))
    assert [gear.shapes["x"] for gear in facts.gears] == [(1, 8), (4, 8)]
    assert [gear.flops for gear in facts.gears] == [2 * 8 * 4, 2 * 4 * 8 * 4]


def test_sizes_by_place_fit_a_copy_with_other_names(pool: str) -> None:
    assert facts_of(pool).by_place([{"height": 8, "width": 6}]) == ({"x.1": 3, "x.2": 8, "x.3": 6},)


def test_what_folds_is_counted_by_type(tmp_path: Path) -> None:
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Reshape", ["x", "shape"], ["same"]),
        node("Neg", ["same"], ["y"]),
    ]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", ("batch", 4))], [tensor("y", ("batch", 4))])
    assert facts_of(str(path)).folds["Shape"] == 1
