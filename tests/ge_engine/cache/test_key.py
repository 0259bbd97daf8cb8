from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper
from onnx_files import model_stage, node, save, tensor

from ge_engine.build import assembled
from ge_engine.cache import key as module
from ge_engine.cache.digests import sha256
from ge_engine.cache.key import key_of
from ge_engine.gears import Gears
from ge_engine.stage import StageGraph
from ops import Edge, Normalize, Op, TensorSpec
from ops.host_stage import Step

PIXELS, X = TensorSpec("uint8", (4, 4, 3)), TensorSpec("float32", (3, 4, 4))
GEARS = Gears.of_batches((1, 2))


def heavy_model(path: Path, seed: int = 0, **more: Any) -> Path:
    """y = x @ w, for a w that stays in its file."""
    weights = np.random.default_rng(seed).normal(size=(4, 128)).astype(np.float32)
    names = [tensor("x", ("n", 3, 4, 4))], [tensor("y", ("n", 3, 4, 128))]
    return save(path, [node("MatMul", ["x", "w"], ["y"])], *names, {"w": weights}, **more)


def stage_of(path: Path, op: Op[Any] | None = None) -> StageGraph:
    """An op, and a model behind it."""
    model = model_stage(path, X).steps[0]
    step = Step("norm", op or Normalize((0.5,) * 3, (1.0,) * 3), ("pixels",), (("x", "", X),), "graph.py:1")
    return StageGraph("stage", (step, model), (("pixels", PIXELS),), model_stage(path, X).outputs, {})


def key(stage: StageGraph, gears: Gears = GEARS) -> str:
    return key_of(stage, gears, assembled(stage, gears)[0], sha256)


@pytest.fixture
def stage(tmp_path: Path) -> StageGraph:
    return stage_of(heavy_model(tmp_path / "model.onnx"))


def test_the_key_is_the_same_wherever_and_whenever_it_is_made(stage: StageGraph, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    moved = stage_of(heavy_model(tmp_path / "elsewhere" / "model.onnx"))
    later = [dataclasses.replace(step, where="other.py:99") for step in moved.steps]
    assert key(dataclasses.replace(moved, steps=tuple(later))) == key(stage)


def test_the_key_is_the_same_in_another_process(stage: StageGraph, tmp_path: Path) -> None:
    code = "import sys; sys.path[:0] = sys.argv[2:]; from pathlib import Path; from test_key import key, stage_of\n"
    code += "print(key(stage_of(Path(sys.argv[1]))))"
    support = Path(__file__).parents[2] / "support"
    command = [sys.executable, "-c", code, tmp_path / "model.onnx", Path(__file__).parent, support]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == key(stage)


CHANGES: dict[str, Callable[[StageGraph], StageGraph]] = {
    "the name of the stage": lambda stage: dataclasses.replace(stage, name="other"),
    "the name of a step": lambda stage: dataclasses.replace(
        stage, steps=(dataclasses.replace(stage.steps[0], name="other"), stage.steps[1])
    ),
    "an attribute of an op": lambda stage: dataclasses.replace(
        stage, steps=(dataclasses.replace(stage.steps[0], op=Normalize((0.25,) * 3, (1.0,) * 3)), stage.steps[1])
    ),
    "the order of the outputs": lambda stage: dataclasses.replace(stage, outputs=(*stage.outputs, ("x", X))),
    "the spec of an output": lambda stage: dataclasses.replace(
        stage, outputs=(("y", TensorSpec("float32", ("rows", 4, 128))),)
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_the_stage_is_another_key(what: str, stage: StageGraph) -> None:
    assert key(CHANGES[what](stage)) != key(stage)


def test_other_gears_are_another_key(stage: StageGraph) -> None:
    assert key(stage, Gears.of_batches((1, 2, 4))) != key(stage)
    sizes = [Gears.of_sizes([(4, width)]) for width in (4, 8)]
    model = assembled(stage, GEARS)[0]
    assert len({key_of(stage, gears, model, sha256) for gears in sizes}) == 2


def test_another_opset_is_another_key(stage: StageGraph, tmp_path: Path) -> None:
    assert key(stage_of(heavy_model(tmp_path / "older.onnx", opset=15))) != key(stage)


def test_other_weights_are_another_key(stage: StageGraph, tmp_path: Path) -> None:
    before = key(stage)
    heavy_model(tmp_path / "model.onnx", seed=1)
    assert key(stage) != before


def test_weights_outside_the_model_file_count(tmp_path: Path) -> None:
    path = heavy_model(tmp_path / "model.onnx")
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="model.bin", size_threshold=0)
    before = key(stage_of(path))
    data = bytearray((tmp_path / "model.bin").read_bytes())
    data[7] ^= 1
    (tmp_path / "model.bin").write_bytes(data)
    assert key(stage_of(path)) != before


def test_weights_in_the_branch_of_an_if_count(tmp_path: Path) -> None:
    def model(seed: int) -> Path:
        weights = np.random.default_rng(seed).normal(size=(4, 128)).astype(np.float32)
        constant = node("Constant", [], ["w"], value=onnx.numpy_helper.from_array(weights))
        nodes = [constant, node("MatMul", ["x", "w"], ["z"])]
        yes, no = (helper.make_graph(nodes, "branch", [], [tensor("z", ("n", 3, 4, 128))]) for _ in range(2))
        chosen = node("If", ["always"], ["y"], then_branch=yes, else_branch=no)
        inputs, outputs = [tensor("x", ("n", 3, 4, 4))], [tensor("y", ("n", 3, 4, 128))]
        return save(tmp_path / f"if{seed}.onnx", [chosen], inputs, outputs, {"always": np.bool_(True)})

    first, second = (assembled(stage_of(model(seed)), GEARS)[0] for seed in (0, 1))
    stage = stage_of(model(0))
    assert key_of(stage, GEARS, first, sha256) != key_of(stage, GEARS, second, sha256)


def test_a_constant_is_part_of_the_key(tmp_path: Path) -> None:
    path = save(
        tmp_path / "add.onnx",
        [node("Add", ["x", "t"], ["y"])],
        [tensor("x", ("n", 4)), tensor("t", ("n", 4))],
        [tensor("y", ("n", 4))],
    )
    spec = TensorSpec("float32", (4,))
    stages = [model_stage(path, spec, spec, constants={"t": np.full(4, value, np.float32)}) for value in (1, 2)]
    assert key(stages[0]) != key(stages[1])


@dataclasses.dataclass(frozen=True)
class Halves(Op[Edge]):
    """A user's own op, whose code changes though its attributes do not."""

    def infer(self, image: TensorSpec) -> TensorSpec:
        return X

    def lower(self, g: Any, image: Any) -> Any:
        floats = g.op("Transpose", g.op("Cast", image, to=onnx.TensorProto.FLOAT), perm=[0, 3, 1, 2])
        return g.op("Mul", floats, g.constant(np.float32([0.5])))


def test_other_code_of_a_users_own_op_is_another_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = stage_of(heavy_model(tmp_path / "model.onnx"), Halves())
    before = key(stage)
    real = np.float32
    monkeypatch.setattr(np, "float32", lambda value: real(value) + real(0.25) if value == [0.5] else real(value))
    assert key(stage) != before


@pytest.mark.parametrize(
    ("owner", "version"),
    [(onnx, "__version__"), (onnxruntime, "__version__"), (np, "__version__"), (module, "FORMAT")],
)
def test_another_version_is_another_key(
    owner: Any, version: str, stage: StageGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = key(stage)
    monkeypatch.setattr(owner, version, 99)
    module.versions.cache_clear()
    try:
        assert key(stage) != before
    finally:
        monkeypatch.undo()
        module.versions.cache_clear()
    assert key(stage) == before


@pytest.mark.parametrize(("part", "other"), [("versions", lambda: ()), ("machine", lambda: ()), ("SOURCE", "other")])
def test_what_builds_is_part_of_the_key(
    part: str, other: Any, stage: StageGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = key(stage)
    monkeypatch.setattr(module, part, other)
    assert key(stage) != before


def test_the_machine_is_its_instructions_and_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    def machine() -> tuple[str, ...]:
        module.machine.cache_clear()
        return module.machine()

    try:
        before = machine()
        monkeypatch.setattr(module, "_features", lambda: {"AVX512F": False})
        assert machine() != before
        monkeypatch.undo()
        monkeypatch.delattr("os.sched_getaffinity", raising=False)
        monkeypatch.setattr("os.cpu_count", lambda: 99)
        assert machine() != before
    finally:
        monkeypatch.undo()
        module.machine.cache_clear()
    assert machine() == before


def test_the_key_depends_on_the_precision(stage: StageGraph) -> None:
    keys = {key(dataclasses.replace(stage, precision=name)) for name in ("origin", "fp16", "cube_fp16in_fp32out")}
    assert len(keys) == 3
