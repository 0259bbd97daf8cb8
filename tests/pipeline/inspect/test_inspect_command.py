from __future__ import annotations

import json
import os
from pathlib import Path

import frozen_graphs
import numpy as np
import onnx
import pytest
from command_line import failed, gepipe
from onnx_files import node, save, scale_model, tensor


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    """Every second pixel; nothing has a name."""
    nodes = [
        node("MaxPool", ["x"], ["pooled"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Shape", ["pooled"], ["shape"]),
        node("Reshape", ["pooled", "shape"], ["y"]),
        node("Abs", ["x"], ["idle"]),
    ]
    dims = (None, 3, None, None)
    return save(tmp_path / "pool.onnx", nodes, [tensor("x", dims)], [tensor("y", dims)])


def words(text: str) -> str:
    return " ".join(text.split())


def test_a_table_of_what_the_model_is_and_of_each_gear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    path = scale_model(tmp_path / "m.onnx", dims=("batch", 1000))
    result = gepipe("inspect", str(path), "--gears", "1,4", "--streams", "2")
    assert result.exit_code == 0
    text = words(result.stdout)
    assert "input x float32[batch, 1000] vector" in text
    assert "operators: 1 nodes: 1 Mul" in text
    assert "gear nodes GFLOPs in out peak moved open" in text
    assert "4 1 4e-06 16 kB 16 kB 32 kB 32 kB" in text
    each = "for each stream the weights and the peak of the largest gear"
    assert f"memory on a card with 2 streams: 64 kB ({each})" in text
    assert text.endswith("no problem found")
    text = words(gepipe("inspect", str(path), "--gears", "4", "--streams", "2").stdout)
    assert "with 2 streams: 64 kB (the weights once, and for each stream the peak of the gear)" in text


def test_what_is_missing_for_the_gears_is_said_with_what_to_type(pool: Path) -> None:
    text = words(gepipe("inspect", str(pool)).stdout)
    assert "no gears: the size of x.2, x.3 is not known; give it as --at height=SIZE,width=SIZE" in text


def test_json_holds_facts_and_findings(pool: Path) -> None:
    result = gepipe("inspect", str(pool), "--at", "height=8,width=6", "--gears", "2", "--json")
    document = json.loads(result.stdout)
    assert document["inputs"] == [{"name": "x", "dtype": "float32", "dims": [None, 3, None, None], "layout": "NCHW"}]
    assert document["operators"] == {"Abs": 1, "MaxPool": 1, "Reshape": 1, "Shape": 1}
    (gear,) = document["gears"]
    assert (gear["batch"], gear["sizes"]) == (2, {"height": 8, "width": 6})
    assert (gear["inputs"], gear["outputs"]) == ({"x": [2, 3, 8, 6]}, {"y": [2, 3, 4, 3]})
    assert gear["flops"] == 2 * 3 * 4 * 3 * 4 + 2 * 3 * 8 * 6  # the pool, and what nobody reads
    assert (gear["input_bytes"], gear["output_bytes"]) == (1152, 288)
    assert {finding["rule"] for finding in document["findings"]} == {"I04", "I05", "I07"}


def test_fix_writes_a_mended_model_says_what_was_done_and_how_it_was_proven(pool: Path) -> None:
    out = pool.with_name("out.onnx")
    result = gepipe("inspect", str(pool), "--fix", "-o", str(out))
    assert result.exit_code == 0
    assert "names: equal bytes on random inputs of 2 shapes" in result.stdout
    assert "output 'y' [?, 3, ?, ?]: now [batch, 3, height/2, width/2]" in result.stdout
    assert "1 nodes that no output needs: left out" in result.stdout
    assert f"{out}: all fixes together, equal bytes on random inputs of 2 shapes" in result.stdout
    assert result.stdout.endswith(f"{out}\nno problem found\n")
    assert [value.name for value in onnx.load(out).graph.output] == ["y"]
    assert sorted(path.name for path in out.parent.iterdir()) == ["out.onnx", "pool.onnx"]


def test_fix_as_json(pool: Path) -> None:
    out = pool.with_name("out.onnx")
    result = gepipe(
        "inspect", str(pool), "--fix", "-o", str(out), "--skip", "dead", "--at", "height=8,width=6", "--json"
    )
    mended = json.loads(result.stdout)["mended"]
    assert (mended["path"], mended["deviation"]) == (str(out), 0.0)
    assert mended["shapes"] == [{"x": [1, 3, 8, 6]}, {"x": [2, 3, 8, 6]}]
    assert [(fix["fix"], fix["made"]) for fix in mended["fixes"]] == [("names", True), ("constants", True)]
    (finding,) = mended["findings"]  # what was not wanted
    assert (finding["rule"], finding["fix"]) == (
        "I07",
        "export it without them; --fix did not do it: --skip leaves it out",
    )


def test_no_finding_of_a_mended_model_sends_back_to_fix(pool: Path) -> None:
    """Of several sizes nothing can be folded in the file."""
    out = pool.with_name("out.onnx")
    sizes = ("--at", "height=8,width=6", "--at", "height=6,width=8")
    advised = json.loads(gepipe("inspect", str(pool), *sizes, "--json").stdout)["findings"]
    assert any("; or gepipe inspect" in finding["fix"] for finding in advised)
    document = json.loads(gepipe("inspect", str(pool), *sizes, "--fix", "-o", str(out), "--json").stdout)
    assert [finding["rule"] for finding in document["mended"]["findings"]] == ["I05"]
    after = [*document["findings"], *document["mended"]["findings"]]
    assert not any("gepipe inspect" in finding["fix"] for finding in after)


def test_nothing_to_mend_makes_a_copy(tmp_path: Path) -> None:
    path, out = scale_model(tmp_path / "m.onnx"), tmp_path / "out.onnx"
    text = gepipe("inspect", str(path), "--fix", "-o", str(out)).stdout
    assert f"{out}: nothing to mend: a copy, equal bytes" in text
    assert out.exists()


def test_findings_that_are_not_advice_fail_and_with_strict_all_do(pool: Path, tmp_path: Path) -> None:
    assert gepipe("inspect", str(pool)).exit_code == 0
    assert gepipe("inspect", str(pool), "--strict").exit_code == 1
    dims = [tensor(name, ("batch", 4), np.float64) for name in "xy"]
    path = save(tmp_path / "double.onnx", [node("Neg", ["x"], ["y"])], dims[:1], dims[1:])
    assert gepipe("inspect", str(path)).exit_code == 1
    assert gepipe("inspect", str(path), "--fix", "-o", str(tmp_path / "out.onnx")).exit_code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--fix",), "--fix writes a file fix: name it: --fix -o out.onnx"),
        (("-o", "x.onnx"), "-o is for --fix"),
        (("--fix", "-o", "x.onnx", "--skip", "nmes"), "there is no fix 'nmes' fix: did you mean 'names'?"),
        (("--fix", "-o", "no/x.onnx"), "/no is no folder"),
        (("--fix", "-o", "."), ". is a folder fix: name a file in it"),
        (("--fix", "-o", "pool.onnx"), "pool.onnx is the model itself"),
        (("--gears", "1,x"), "--gears: gears '1,x' are not numbers"),
        (("--gears", "8,8;6,6"), "are sizes fix: give batch sizes here"),
        (("--at", "height"), "'height' is no size fix: write it as \"height=640,width=640\""),
        (("--at", "height=0"), "'height=0' is no size"),
        (("--at", "height=8", "--at", "width=8"), "name different axes"),
        (("--at", "height=8,height=9"), "--at 'height=8,height=9' gives height twice fix: for more sizes write --at"),
        (("--fix", "-o", "x.pb"), "x.pb does not end with .onnx, by which it is known fix: call it x.pb.onnx"),
        (("--cann", "new"), "--cann: 'new' is no version of CANN"),
        (("--cann", "7.0.0"), "nothing is known of CANN 7.0.0"),
    ],
)
def test_wrong_uses(options: tuple[str, ...], message: str, pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(pool.parent)
    assert message in failed(2, "inspect", "pool.onnx", *options)


def test_a_size_of_no_axis(pool: Path) -> None:
    assert "no axis of an input that varies is called 'hight' fix: did you mean 'height'?" in failed(
        1, "inspect", str(pool), "--at", "hight=8,width=8"
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gone.onnx", None, "there is no file"),
        ("folder", b"", "is a folder, not a model"),
        ("empty.onnx", b"", "is empty"),
        ("text.onnx", b"# a text\n", "is not an ONNX model"),
        ("text.pb", b"# a text\n", "is not a frozen TensorFlow graph"),
    ],
)
def test_what_is_no_model(name: str, content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    assert message in failed(1, "inspect", str(path))


def test_a_model_that_is_cut_short(pool: Path) -> None:
    whole = pool.read_bytes()
    pool.write_bytes(whole[: len(whole) // 2])
    assert "is cut short" in failed(1, "inspect", str(pool)) or "damaged" in failed(1, "inspect", str(pool))


def test_a_place_that_cannot_be_written_leaves_what_was_there(pool: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "out.onnx").write_bytes(b"old")
    os.mkfifo(kept / "pipe.onnx")
    assert "pipe.onnx is not a file" in failed(2, "inspect", str(pool), "--fix", "-o", str(kept / "pipe.onnx"))
    assert sorted(path.name for path in kept.iterdir()) == ["out.onnx", "pipe.onnx"]


def test_what_a_file_says_does_not_steer_the_terminal(tmp_path: Path) -> None:
    name = "in\x1b[2J\x9b31m\u202e\r"
    path = save(tmp_path / "m.onnx", [node("Neg", [name], ["y"])], [tensor(name, ("a", 4))], [tensor("y", ("a", 4))])
    result = gepipe("inspect", str(path), "--at", "nothing=1")
    assert "\x1b" not in result.output
    shown = gepipe("inspect", str(path))
    assert "in[2J31m" in shown.stdout
    assert not {*"\x1b\x9b\u202e\r"} & {*shown.stdout}
    assert json.loads(gepipe("inspect", str(path), "--json").stdout)["inputs"][0]["name"] == name


def test_the_longest_chain_from_a_cause_is_shown_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    nodes = [node("NonZero", ["x"], ["places"], name="places"), node("Neg", ["places"], ["n0"], name="n0")]
    nodes += [node("Neg", [f"n{index}"], [f"n{index + 1}"], name=f"n{index + 1}") for index in range(11)]
    outputs = [tensor("n11", (2, None), np.int64)]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", ("batch", 4))], outputs)
    text = words(gepipe("inspect", str(path)).stdout)
    assert "open from gear 1 on: 'n11', by places > n0 > n1 > n2 > n3 > n4 > n5 > 6 more > n11" in text


def test_the_originals_own_weights_are_not_replaced(tmp_path: Path) -> None:
    path = scale_model(tmp_path / "m.onnx")
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="out.onnx.data", size_threshold=0)
    kept = (tmp_path / "out.onnx.data").read_bytes()
    text = failed(2, "inspect", str(path), "--fix", "-o", str(tmp_path / "out.onnx"), "--json")
    assert "out.onnx.data holds the weights of the model itself" in text
    assert (tmp_path / "out.onnx.data").read_bytes() == kept


def test_a_frozen_graph_shows_its_inputs_outputs_and_operators(tmp_path: Path) -> None:
    path = tmp_path / "m.pb"
    parts = [
        frozen_graphs.placeholder("x", (-1, 4)),
        frozen_graphs.constant("w", np.ones((4, 2), np.float32)),
        frozen_graphs.float_op("y", "MatMul", "x", "w"),
    ]
    path.write_bytes(b"".join(parts))
    result = gepipe("inspect", str(path), "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["inputs"] == [{"name": "x", "dtype": "float32", "dims": [None, 4], "layout": ""}]
    assert [port["name"] for port in document["outputs"]] == ["y"]
    assert document["operators"] == {"Const": 1, "MatMul": 1, "Placeholder": 1}
    assert document["gears"] == []
    assert "a frozen TensorFlow graph" in gepipe("inspect", str(path)).stdout
    assert "--fix mends ONNX files" in failed(2, "inspect", str(path), "--fix", "-o", str(tmp_path / "out.onnx"))
