from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from mended import mended, run
from onnx import TensorProto, helper
from onnx_files import node, save, scale_model, tensor

from ge_engine.inspect import facts_of
from ge_engine.inspect.fixes.case import Case
from ge_engine.inspect.repair import repair
from ops import ModelError


def test_a_clean_model_is_copied_as_it_is(tmp_path: Path) -> None:
    done = mended(scale_model(tmp_path / "m.onnx"), (1, 4))
    assert not done.repaired.changed
    assert done.repaired.fixes == ()
    assert done.repaired.proof.deviation == 0.0
    assert done.repaired.proof.points == ({"x": (1, 4)}, {"x": (4, 4)})
    assert done.operators == ["Mul"]


def test_each_fix_has_its_own_proof_and_all_together_have_one_at_every_gear(tmp_path: Path) -> None:
    nodes = [node("Mul", ["x", "w"], ["y"]), node("Abs", ["x"], ["idle"])]
    ports = [tensor("x", (None, 4), np.float64)], [tensor("y", (None, 4), np.float64)]
    done = mended(save(tmp_path / "m.onnx", nodes, *ports, {"w": np.float64([2])}), (1, 2, 4, 8))
    assert set(done.made) == {"names", "types", "dead"}
    assert all(fixed.proof is not None and fixed.proof.deviation == 0 for fixed in done.made.values())
    assert [point["x"] for point in done.repaired.proof.points] == [(1, 4), (2, 4), (4, 4), (8, 4)]
    assert done.ends == {"x": "float32[batch, 4]", "y": "float32[batch, 4]"}
    np.testing.assert_array_equal(done(x=np.float32([[1, 2, 3, 4]]))["y"], np.float32([[2, 4, 6, 8]]))


def test_a_fix_that_is_not_wanted_is_left_out(tmp_path: Path) -> None:
    nodes = [node("Neg", ["x"], ["y"]), node("Abs", ["x"], ["idle"])]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", (None, 4))], [tensor("y", (None, 4))])
    done = mended(path, skip=["dead"])
    assert set(done.made) == {"names"}
    assert done.operators == ["Neg", "Abs"]


def test_a_fix_that_changes_answers_is_not_made_and_says_by_how_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(model: onnx.ModelProto, case: Case) -> list[str]:
        model.graph.node[0].op_type = "Add"
        return ["made it an addition"]

    monkeypatch.setattr("ge_engine.inspect.repair._FIXES", {"wrong": wrong})
    done = mended(scale_model(tmp_path / "m.onnx", factor=3))
    (fixed,) = done.repaired.fixes
    assert fixed.proof is None
    assert "it gives other answers: " in fixed.why_not
    assert done.operators == ["Mul"]


def test_a_fix_that_makes_no_sound_model_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(model: onnx.ModelProto, case: Case) -> list[str]:
        model.graph.node[0].input[0] = "nobody"
        return ["broke it"]

    monkeypatch.setattr("ge_engine.inspect.repair._FIXES", {"broken": broken})
    (fixed,) = mended(scale_model(tmp_path / "m.onnx")).repaired.fixes
    assert fixed.proof is None
    assert "nobody" in fixed.why_not


def test_what_is_right_at_a_few_gears_and_wrong_at_another_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fixes_the_batch(model: onnx.ModelProto, case: Case) -> list[str]:
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
        return ["fixed the batch"]

    monkeypatch.setattr("ge_engine.inspect.repair._FIXES", {"batch": fixes_the_batch})
    monkeypatch.setattr("ge_engine.inspect.repair._few", lambda points: points[:1])
    with pytest.raises(ModelError, match=r"all together are not at every gear: it does not run at x \[4, 4\]"):
        mended(scale_model(tmp_path / "m.onnx"), (1, 4))


def test_what_onnx_runtime_cannot_run_cannot_be_proven(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [node("Nothing", ["x"], ["y"])], [tensor("x", (1,))], [tensor("y", (1,))])
    with pytest.raises(ModelError, match="cannot be run, so that no fix can be proven: "):
        repair(facts_of(str(path)), None, (), tmp_path)


def test_what_runs_at_no_size_cannot_be_mended(tmp_path: Path) -> None:
    ports = [tensor("x", ("batch", "a"))], [tensor("y", ("batch", 2))]
    path = save(tmp_path / "m.onnx", [node("MatMul", ["x", "w"], ["y"])], *ports, {"w": np.ones((1000, 2), np.float32)})
    with pytest.raises(ModelError, match=r"runs at none of the sizes that were tried, so that no fix can be proven"):
        repair(facts_of(str(path)), None, (), tmp_path)
    assert mended(path, sizes=[{"a": 1000}]).repaired.proof.points[0] == {"x": (1, 1000)}


def test_chance_cannot_be_proven(tmp_path: Path) -> None:
    nodes = [node("RandomNormalLike", ["x"], ["noise"]), node("Add", ["x", "noise"], ["y"])]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", ("batch", 4))], [tensor("y", ("batch", 4))])
    with pytest.raises(ModelError, match="does not give the same answer twice"):
        repair(facts_of(str(path)), None, (), tmp_path)


def test_ids_stay_inside_their_table(tmp_path: Path) -> None:
    table = np.arange(40, dtype=np.float32).reshape(20, 2)
    ports = [tensor("ids", (None, "seq"), np.int64)], [tensor("y", (None, "seq", 2))]
    done = mended(save(tmp_path / "m.onnx", [node("Gather", ["table", "ids"], ["y"])], *ports, {"table": table}))
    assert done.ends == {"ids": "int64[batch, seq]", "y": "float32[batch, seq, 2]"}


def test_weights_in_a_file_of_their_own_stay_in_one(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    weights = {"w": np.arange(4000, dtype=np.float32).reshape(1000, 4)}
    ports = [tensor("x", (None, 1000))], [tensor("y", (None, 4))]
    path = save(source / "m.onnx", [node("MatMul", ["x", "w"], ["y"])], *ports, weights)
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="m.bin", size_threshold=0)
    done = mended(path)
    assert (source / "mended_m.onnx.data").stat().st_size == 16000
    assert done.path.stat().st_size < 1000
    x = np.ones((2, 1000), np.float32)
    assert done(x=x)["y"].tobytes() == run(path, x=x)["y"].tobytes()


def test_weights_that_were_constants_stay_weights(tmp_path: Path) -> None:
    value = helper.make_tensor("value", TensorProto.FLOAT, (1000, 4), np.ones(4000, np.float32).tobytes(), raw=True)
    nodes = [node("Constant", [], ["w"], value=value), node("MatMul", ["x", "w"], ["y"])]
    done = mended(save(tmp_path / "m.onnx", nodes, [tensor("x", (None, 1000))], [tensor("y", (None, 4))]))
    assert done.operators == ["MatMul"]
    assert [item.name for item in done.model.graph.initializer] == ["w"]
