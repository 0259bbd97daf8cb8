from __future__ import annotations

import json
import shutil
from pathlib import Path

import command_line
import pytest
import tiny_torch
from onnx_files import scale_model


def gepipe(*words: str) -> tuple[int, str, str]:
    result = command_line.gepipe("convert", *words, COLUMNS="120")
    return result.exit_code, result.stdout, result.stderr


def test_it_prints_how_far_the_two_are_apart_and_what_is_there_now(tmp_path: Path) -> None:
    source, target = scale_model(tmp_path / "m.onnx"), tmp_path / "n.onnx"
    code, told, _ = gepipe(str(source), "-o", str(target))
    assert code == 0
    heading, first, second, file = told.splitlines()
    assert heading.split() == ["inputs", "output", "shape", "max", "abs", "relative"]
    assert first.split() == ["ok", "random,", "batch", "1", "y", "[1,4]", "0.0e+00", "0.0e+00"]
    assert second.split()[1:6] == ["random,", "batch", "3", "y", "[3,4]"]
    assert file == str(target)
    code, told, _ = gepipe(str(source), "-o", str(target), "--json")
    document = json.loads(told)
    assert (document["kind"], document["files"], len(document["rows"])) == ("ONNX", [str(target)], 2)


def departing(folder: Path, gives: str) -> tuple[str, ...]:
    """What converts a model whose ONNX file multiplies by another number than 2."""
    shutil.copyfile(tiny_torch.__file__, folder / "torch.py")
    code = f'import torch\ndef make():\n    return torch.Net(2, {gives}), {{"x": torch.rand((1, 4))}}\n'
    (folder / "net.py").write_text(code)
    return (f"{folder}/net.py:make", "-o", str(folder / "n.onnx"))


def test_what_departs_is_exit_1_and_nothing_is_written(tmp_path: Path) -> None:
    exit_code, told, _ = gepipe(*departing(tmp_path, "2.1"))
    assert exit_code == 1
    verdict, fix = told.splitlines()[-2:]
    assert verdict == "NOT converted, nothing was written: it departs from its source by more than 0.0001"
    assert fix == "fix: try another --opset; or, if these figures are good enough, a larger --tolerance"
    assert not (tmp_path / "n.onnx").exists()


def test_where_there_is_no_answer_nothing_is_measured(tmp_path: Path) -> None:
    shutil.copyfile(tiny_torch.__file__, tmp_path / "torch.py")
    code = 'import torch\ndef make():\n    return torch.Net(2, 2, fixed=0), {"x": torch.rand((1, 3))}\n'
    (tmp_path / "net.py").write_text(code)
    exit_code, told, _ = gepipe(f"{tmp_path}/net.py:make", "-o", str(tmp_path / "n.onnx"))
    assert exit_code == 1
    assert told.splitlines()[1].split() == ["NO", "random,", "batch", "1", "output0", "no", "answer"]
    assert "which was traced with batch=2: on x [3, 3] the source answers, and what was made fails" in told


def test_what_is_no_number_is_null_for_programs(tmp_path: Path) -> None:
    exit_code, told, _ = gepipe(*departing(tmp_path, 'float("nan")'), "--json")
    document = json.loads(told, parse_constant=pytest.fail)
    assert (exit_code, document["files"]) == (1, [])
    assert document["why_not"]["reason"] == "it departs from its source by more than 0.0001"
    assert document["rows"][0]["relative"] is None
    assert document["rows"][0]["absolute"] is None


def test_an_entry_has_one_size(tmp_path: Path) -> None:
    source = scale_model(tmp_path / "m.onnx", dims=("n", "width"))
    words = (str(source), "-o", str(tmp_path / "models" / "m"), "--at", "width=4")
    code, _, told = gepipe(*words, "--at", "width=8")
    assert code == 2
    assert "an entry of a repository has one size" in told
    assert gepipe(*words)[0] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--tolerance", "-1"), "tolerance is -1"),
        (("--opset", "-1"), "opset is -1"),
        (("--outputs", "a,b,a"), "outputs are 'a', 'b', 'a'"),
        (("--outputs", "a,,b"), "--outputs 'a,,b' has an empty name"),
        (("--at", "height"), "--at 'height': 'height' is no size"),
        (("--target", "24.03"), "there is no target 24.03"),
        (("--gears", "1,1"), "gears (1, 1) are not distinct"),
        (("--data", "none.npz"), "none.npz cannot be read"),
    ],
)
def test_what_was_typed_wrong_is_exit_2(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    source = str(scale_model(tmp_path / "m.onnx"))
    code, _, told = gepipe(source, "-o", str(tmp_path / "n.onnx"), *words)
    assert code == 2
    assert message in told
