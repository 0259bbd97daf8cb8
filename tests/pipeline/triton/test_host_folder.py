from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tiny
from offline import agree, run_ensemble

import ops
from ge_engine import Model
from ops import ExportError
from pipeline import Pipeline
from pipeline.triton.repository import export


def test_a_constant_travels_with_its_stage(tmp_path: Path) -> None:
    bank = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    pipeline = Pipeline("bank")
    vector = Model(tiny.vector_model(tmp_path))(pipeline.input("x", tiny.VECTOR))
    pipeline.output(likeness=ops.Similarity()(vector, pipeline.constant("bank", bank)))
    plan = pipeline.compile(gears=(1, 2))
    export(plan, tmp_path / "models")
    agree(plan, tmp_path / "models", tiny.vectors(2))


def test_a_users_op_travels_with_the_modules_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "doubling.py").write_text(
        "from dataclasses import dataclass\nimport numpy as np\nimport ops\nfrom half_of import HALF\n\n"
        "@dataclass(frozen=True)\nclass Double(ops.Op[ops.Edge]):\n"
        "    def infer(self, x: ops.TensorSpec) -> ops.TensorSpec:\n        return x\n\n"
        "    def run(self, x):\n        return x / np.float32(HALF)\n"
    )
    (tmp_path / "half_of.py").write_text("HALF = 0.5\n")
    monkeypatch.syspath_prepend(tmp_path)
    doubling = importlib.import_module("doubling")
    pipeline = Pipeline("own")
    pipeline.output(y=doubling.Double()(pipeline.input("x", tiny.VECTOR)))
    export(pipeline.compile(), tmp_path / "models")
    folder = tmp_path / "models" / "own_1_host0" / "1"
    assert {"doubling.py", "half_of.py"} <= {path.name for path in folder.iterdir()}
    # In a fresh process that knows nothing of ours, and has a foreign `ops` on its path.
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "ops.py").write_text("raise ImportError('a foreign ops')\n")
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path / 'foreign')!r}]\n"
        f"import runpy; runpy.run_path({str(folder / 'model.py')!r})\n"
        "import numpy as np; from ops.host_model import HostModel\n"
        f"print(HostModel({str(folder)!r}).run({{'x': np.full((1, 8), 3, np.float32)}})['y'].tolist())"
    )
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
    )
    assert done.stdout.strip() == str([[6.0] * 8]), done.stderr


def test_an_op_that_imports_what_the_server_lacks_is_refused_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "greedy.py").write_text(
        "from dataclasses import dataclass\nimport ops\n\n"
        "@dataclass(frozen=True)\nclass Greedy(ops.Op[ops.Edge]):\n"
        "    def infer(self, x: ops.TensorSpec) -> ops.TensorSpec:\n        return x\n\n"
        "    def run(self, x):\n        import onnx\n        return x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    pipeline = Pipeline("greedy")
    pipeline.output(y=importlib.import_module("greedy").Greedy()(pipeline.input("x", tiny.VECTOR)))
    with pytest.raises(ExportError, match=r"^\S*greedy\.py:10: imports onnx, which is not on the server"):
        export(pipeline.compile(), tmp_path / "models")
    assert not (tmp_path / "models").exists()


def test_an_op_beside_its_pipeline_is_told_to_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "both.py").write_text(
        "from dataclasses import dataclass\nimport ops\nfrom pipeline import Pipeline\n\n"
        "@dataclass(frozen=True)\nclass Gamma(ops.Op[ops.Edge]):\n"
        "    def infer(self, x: ops.TensorSpec) -> ops.TensorSpec:\n        return x\n\n"
        "    def run(self, x):\n        return x\n\n"
        "pipeline = Pipeline('both')\n"
        "pipeline.output(y=Gamma()(pipeline.input('x', ops.TensorSpec('float32', (8,)))))\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ExportError, match=r"^both\.py:3: imports pipeline, .*, where Gamma runs") as caught:
        export(importlib.import_module("both").pipeline.compile(), tmp_path / "models")
    assert caught.value.fix.startswith("move Gamma into a module of its own")


def test_files_of_ops_are_copied_beside_the_stage(tmp_path: Path) -> None:
    for folder, word in (("a", "cat"), ("b", "dog")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", word]))
    pipeline = Pipeline("words")
    text = pipeline.input("text", ops.TEXT)
    first = ops.Tokenize(vocab=str(tmp_path / "a" / "vocab.txt"), max_length=4)(text)
    second = ops.Tokenize(vocab=str(tmp_path / "b" / "vocab.txt"), max_length=4)(text)
    pipeline.output(first=first.ids, second=second.ids)
    plan = pipeline.compile()
    export(plan, tmp_path / "models")
    for path in tmp_path.rglob("[ab]/vocab.txt"):
        path.unlink()
    got = run_ensemble(tmp_path / "models", "words", {"text": np.array([b"cat dog"], object)})
    assert got["first"].tolist() == [[2, 4, 1, 3]]
    assert got["second"].tolist() == [[2, 1, 4, 3]]


def test_running_a_host_stage_leaves_its_folder_as_it_was_exported(tmp_path: Path) -> None:
    export(tiny.vector_pipeline(tmp_path).compile(), tmp_path / "models")
    folder = tmp_path / "models" / "vector_1_host0" / "1"
    before = sorted(folder.rglob("*"))
    code = f"import sys; sys.path.append({str(folder)!r})\nimport model\n"
    subprocess.run([sys.executable, "-I", "-c", code], check=True)
    assert sorted(folder.rglob("*")) == before
