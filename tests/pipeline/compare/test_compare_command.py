from __future__ import annotations

import csv
import errno
import json
import os
from pathlib import Path

import half_models
import numpy as np
import pytest
from command_line import failed, gepipe


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return half_models.overflowing(tmp_path / "m.onnx")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    np.savez(tmp_path / "one.npz", x=half_models.rows())
    return tmp_path / "one.npz"


def words(text: str) -> str:
    return " ".join(text.split())


def test_it_prints_the_layer_that_departs_and_what_to_keep_and_fails(model: Path, data: Path) -> None:
    result = gepipe("compare", str(model), "--data", str(data))
    assert result.exit_code == 1
    text = words(result.stdout)
    assert "limits: cosine similarity at least 0.99, relative Euclidean distance at most 0.05" in text
    assert "the first layer that departs: boosted node boost (Mul):" in text
    assert "values are not finite alike" in text
    assert "fp32 for 2 nodes is enough" in text
    assert "boost (Mul) loses inf by itself without it: cosine" in text


def test_it_succeeds_where_the_outputs_agree(tmp_path: Path, data: Path) -> None:
    result = gepipe("compare", str(half_models.harmless(tmp_path / "fine.onnx")), "--data", str(data))
    assert result.exit_code == 0
    assert "no layer departs" in result.stdout
    assert "top-1 100%, top-5 100%" in words(result.stdout)


def test_json_holds_all_of_it(model: Path, data: Path) -> None:
    result = gepipe("compare", str(model), "--data", str(data), "--json")
    document = json.loads(result.stdout)
    assert (document["agrees"], document["first_departing"]["node"]) == (False, "boost")
    assert [layer["tensor"] for layer in document["layers"]] == ["mixed", "boosted", "calmed", "shifted", "y"]
    assert set(document["keep"]["m"]["nodes"]) == {"boost", "calm"}


def test_csv_has_the_columns_of_ascends_tools(model: Path, data: Path, tmp_path: Path) -> None:
    gepipe("compare", str(model), "--data", str(data), "--csv", str(tmp_path / "result.csv"))
    with (tmp_path / "result.csv").open(encoding="utf-8", newline="") as file:
        head, *lines = csv.reader(file)
    assert head[:8] == ["Index", "OpType", "NPUDump", "DataType", "GroundTruth", "DataType", "TensorIndex", "Shape"]
    boost = dict(zip(head, lines[1]))
    assert (boost["OpType"], boost["OverFlow"], boost["Shape"]) == ("Mul", "YES", "[4,16]")
    assert 0 < float(boost["CosineSimilarity"]) <= 1


def test_the_lists_are_written_as_cann_reads_them(model: Path, data: Path, tmp_path: Path) -> None:
    gepipe("compare", str(model), "--data", str(data), "--keep", str(tmp_path / "lists"))
    assert (tmp_path / "lists" / "keep_dtype.cfg").read_text(encoding="utf-8") == "boost\ncalm\n"
    mix = json.loads((tmp_path / "lists" / "modify_mixlist.json").read_text(encoding="utf-8"))
    assert mix == {"black-list": {"to-add": ["Div", "Mul"]}}


def test_limits_can_be_set(tmp_path: Path, data: Path) -> None:
    fine = str(half_models.harmless(tmp_path / "fine.onnx"))
    assert gepipe("compare", fine, "--data", str(data), "--distance", "1e-9").exit_code == 1


def test_wrong_words_are_refused(model: Path, data: Path, tmp_path: Path) -> None:
    assert "there is no" in failed(2, "compare", str(model), "--data", str(tmp_path / "gone"))
    assert "the cosine limit is 2.0" in failed(2, "compare", str(model), "--cosine", "2")
    said = failed(2, "compare", str(model), "--data", str(data), "--csv", str(tmp_path / "no" / "where.csv"))
    assert "cannot be written" in said


def test_inspect_compares_too(model: Path, data: Path) -> None:
    result = gepipe("inspect", str(model), "--compare", "fp16", "--data", str(data))
    assert result.exit_code == 1
    assert "the first layer that departs: boosted" in result.stdout
    document = json.loads(gepipe("inspect", str(model), "--compare", "fp16", "--data", str(data), "--json").stdout)
    assert document["comparison"]["first_departing"]["node"] == "boost"
    assert "--data is for --compare" in failed(2, "inspect", str(model), "--data", str(data))


def test_where_nothing_has_to_be_kept_that_is_said(tmp_path: Path, data: Path) -> None:
    fine = half_models.harmless(tmp_path / "fine.onnx")
    result = gepipe("compare", str(fine), "--data", str(data), "--keep", str(tmp_path / "lists"))
    assert "no node has to stay in fp32: nothing is written" in words(result.stderr)
    assert not (tmp_path / "lists").exists()


def test_a_list_that_was_written_is_tried(model: Path, data: Path, tmp_path: Path) -> None:
    gepipe("compare", str(model), "--data", str(data), "--keep", str(tmp_path / "lists"))
    for name in ("keep_dtype.cfg", "customize_dtypes.cfg", "modify_mixlist.json"):
        result = gepipe("compare", str(model), "--data", str(data), "--kept", str(tmp_path / "lists" / name))
        assert (result.exit_code, "no layer departs" in result.stdout) == (0, True)
    (tmp_path / "wrong.cfg").write_text("bost\n", encoding="utf-8")
    said = failed(2, "compare", str(model), "--data", str(data), "--kept", str(tmp_path / "wrong.cfg"))
    assert "there is no node 'bost' to keep in fp32" in said
    assert "boost" in said
    kept = ("--kept", str(tmp_path / "lists" / "keep_dtype.cfg"))
    assert "is no precision" in failed(2, "compare", str(model), "--with", str(model), *kept)


def test_what_is_compared_is_not_written_over(model: Path, data: Path) -> None:
    for file in (model, data):
        before = file.read_bytes()
        said = failed(2, "compare", str(model), "--data", str(data), "--csv", str(file))
        assert f"{file} is what is read: it would be lost fix: name another file" in said
        assert file.read_bytes() == before


def test_a_disk_that_is_full_at_the_end_takes_no_result(
    model: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    file = tmp_path / "result.csv"
    file.write_text("earlier", encoding="utf-8")
    monkeypatch.setattr(os, "replace", full)
    result = gepipe("compare", str(model), "--data", str(data), "--with", str(model), "--csv", str(file))
    assert "no layer departs" in result.stdout
    assert f"{file} cannot be written: No space left on device fix: make room there" in words(result.stderr)
    assert file.read_text(encoding="utf-8") == "earlier"
