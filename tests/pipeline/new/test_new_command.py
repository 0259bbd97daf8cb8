from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import kind_models
import numpy as np
import pytest
from command_line import failed, gepipe
from onnx_files import node, save, scale_model, tensor


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    scale_model(tmp_path / "scale.onnx")
    return Path("scale.onnx")


def test_new_writes_a_pipeline_that_passes_check_and_says_what_comes_next(model: Path) -> None:
    result = gepipe("new", str(model))
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "graph.py: a sample to what the model makes of it",
        "  graph.py:7: what the model is for is not sure: its inputs are neither one picture nor the ids of a text",
        "",
        "next:",
        "  gepipe check graph.py",
        "  gepipe run graph.py -i x=@x.npy",
        "  gepipe export graph.py -o models",
    ]
    assert 'Model("scale.onnx")' in Path("graph.py").read_text(encoding="utf-8")
    assert gepipe("check", "graph.py").exit_code == 0
    answer = gepipe("run", "graph.py", "-i", "x=[1, 2, 3, 4]", "--json")
    assert json.loads(answer.stdout) == {"y": [2, 4, 6, 8]}


def test_what_to_write_instead_is_printed(model: Path) -> None:
    pictures = kind_models.head(Path("wide.onnx"), 5, size=(32, 64), metadata=kind_models.LABELS)
    lines = gepipe("new", str(pictures)).stdout.splitlines()
    (number,) = (number for number, line in enumerate(lines) if "with a border" in line)
    assert lines[number].endswith(
        "the whole picture is stretched to 32x64, its aspect not kept: do what was done in training; "
        "if its aspect was kept, and the rest filled with a border, write instead:"
    )
    assert lines[number + 1] == "      framed, _ = ops.Letterbox(height=32, width=64)(pixels)"


def test_a_file_that_is_there_is_left_alone_unless_forced(model: Path) -> None:
    Path("graph.py").write_text("mine", encoding="utf-8")
    said = failed(2, "new", str(model))
    assert "graph.py is there" in said
    assert "--force" in said
    assert Path("graph.py").read_text(encoding="utf-8") == "mine"
    assert gepipe("new", str(model), "--force").exit_code == 0
    assert Path("graph.py").read_text(encoding="utf-8") != "mine"


def test_json_holds_the_kind_the_checks_and_the_commands(model: Path) -> None:
    result = gepipe("new", str(model), "-o", "deep/er/scale.py", "--json")
    document = json.loads(result.stdout)
    assert document["file"] == str(Path("deep/er/scale.py"))
    assert document["kind"] == "unknown"
    assert [check["line"] for check in document["checks"]] == [7]
    assert document["next"][0] == f"gepipe check {Path('deep/er/scale.py')}"
    assert gepipe("check", "deep/er/scale.py").exit_code == 0


def test_a_vocabulary_larger_than_the_models_table_is_no_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    nodes = [node("Gather", ["words", "input_ids"], ["w"]), node("ReduceMean", ["w"], ["vector"], axes=[1], keepdims=0)]
    ids, vector = tensor("input_ids", ("batch", 6), np.int64), tensor("vector", ("batch", 4))
    save(tmp_path / "text.onnx", nodes, [ids], [vector], {"words": np.ones((4, 4), np.float32)})
    Path("fits.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n", encoding="utf-8")
    Path("vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nword\n", encoding="utf-8")
    said = failed(1, "new", "text.onnx", "--vocab", "vocab.txt")
    assert "makes ids up to 4, and the model's table 'words' has 4 rows, for 0 to 3" in " ".join(said.split())
    assert not Path("graph.py").exists()
    assert gepipe("new", "text.onnx", "--vocab", "fits.txt").exit_code == 0
    assert "ops.Tokenize" in Path("graph.py").read_text(encoding="utf-8")
    assert gepipe("new", "text.onnx", "--force").exit_code == 0  # the one beside it is not the model's
    assert "= ops.Tokenize(" not in [line for line in Path("graph.py").read_text().splitlines() if line[:1] != "#"]


def test_a_vocabulary_that_nothing_reads_is_no_use(model: Path) -> None:
    Path("vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n", encoding="utf-8")
    assert "has no inputs that the ids of a text would fit" in failed(2, "new", str(model), "--vocab", "vocab.txt")
    assert not Path("graph.py").exists()


def test_a_batch_that_the_file_fixes_is_in_the_commands(model: Path) -> None:
    scale_model(Path("four.onnx"), dims=(4, 4))
    result = gepipe("new", "four.onnx")
    assert "the file fixes its batch to 4: give --gears 4" in result.stdout
    assert "  gepipe check graph.py --gears 4" in result.stdout.splitlines()
    assert gepipe("check", "graph.py", "--gears", "4").exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none.onnx",), "there is no file"),
        (("scale.onnx", "-o", "graph.txt"), "graph.txt is no Python file"),
        (("scale.onnx", "--vocab", "none.txt"), "there is no file none.txt"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_written(words: tuple[str, ...], message: str, model: Path) -> None:
    code = 1 if message == "there is no file" else 2
    assert message in failed(code, "new", *words)
    assert not list(Path().glob("graph.*"))


def test_a_full_disk_leaves_the_file_that_was_to_be_written_over(model: Path) -> None:
    """With a limit on the size of files, which fails as a full disk does."""
    Path("graph.py").write_text("mine", encoding="utf-8")
    program = (
        "import resource, signal\nfrom pipeline.cli import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\nmain()"
    )
    words = [sys.executable, "-B", "-c", program, "new", str(model), "--force"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "graph.py cannot be written: File too large\nfix: make room there" in done.stderr
    assert Path("graph.py").read_text(encoding="utf-8") == "mine"
    assert sorted(file.name for file in Path().iterdir()) == ["graph.py", "scale.onnx"]


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ((), r"input 'x' is one number a sample, and a sample has no scalars fix: export it as [batch, 1]"),
        ((2**31,), "model 'm', input 'x': float32[2147483648]: a dim is 2147483648"),
    ],
)
def test_an_input_that_no_sample_can_be_is_named(model: Path, dims: tuple[int, ...], message: str) -> None:
    save(Path("m.onnx"), [node("Relu", ["x"], ["y"])], [tensor("x", ("n", *dims))], [tensor("y", ("n", *dims))])
    assert message in failed(1, "new", "m.onnx")
