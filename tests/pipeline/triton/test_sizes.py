from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from offline import agree
from onnx_files import node, save, tensor
from served import ask
from triton_servers import Start

import ops
from ge_engine import Model
from ge_engine.dims import Expression
from ge_engine.shapes import shape_of
from ops import ExportError, Graded, TensorSpec
from pipeline import Pipeline
from pipeline.triton.lint import lint
from pipeline.triton.repository import export
from pipeline.triton.sizes import size_expression

SIZES = [{"H": 640, "W": 640}, {"H": 640, "W": 480}, {"H": 320, "W": 320}]


@pytest.mark.parametrize(
    ("values", "expression"),
    [
        ((409600, 307200, 102400), "H*W"),
        ((8400, 6300, 2100), "H*W*21/1024"),  # the anchors of YOLO: strides 8, 16 and 32
        ((20, 15, 10), "W/32"),
        ((84, 84, 84), "84"),
    ],
)
def test_the_expression_gives_each_size_its_value(values: tuple[int, ...], expression: str) -> None:
    found = size_expression(Graded("n", values), SIZES)
    assert found == expression
    assert [Expression(found).value(size) for size in SIZES] == list(values)


def test_the_files_own_expression_comes_first_where_it_is_right() -> None:
    dim = Graded("n", (20, 15, 10))
    assert size_expression(dim, SIZES, ["W/30", "W/64*2", "(W+1)/32"]) == "(W+1)/32"


def test_values_that_follow_no_law_are_refused_with_both() -> None:
    with pytest.raises(
        ExportError, match=r"n is \[1, 2, 7\] at the sizes .*\(640, 480\).*: no expression of H, W was found"
    ):
        size_expression(Graded("n", (1, 2, 7)), SIZES)


def heat_model(path: Path, names: tuple[str, str, str], declared: tuple[Any, ...], flat: tuple[Any, ...]) -> Path:
    """x [batch,3,h,w] -> heat [batch,1,(h+1)/2 + 2,(w+1)/2], and its values in a row."""
    nodes = [
        node("Conv", ["x", "k"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Pad", ["c", "frame"], ["heat"]),
        node("Reshape", ["heat", "row"], ["flat"]),
    ]
    weights = {
        "k": np.random.default_rng(0).normal(size=(1, 3, 3, 3)).astype(np.float32),
        "frame": np.int64([0, 0, 1, 0, 0, 0, 1, 0]),
        "row": np.int64([0, -1]),
    }
    batch, height, width = names
    outputs = [tensor("heat", (batch, 1, *declared)), tensor("flat", (batch, *flat))]
    return save(path, nodes, [tensor("x", (batch, 3, height, width))], outputs, weights)


EXPORTERS = {
    "torch.export": (("s0", "s1", "s2"), ("((s1 - 1)//2) + 3", "((s2 - 1)//2) + 1"),
                     ("(((s1 - 1)//2) + 3)*(((s2 - 1)//2) + 1)",)),
    "sympy": (("batch", "height", "width"), ("floor(height/2 - 1/2) + 3", "floor(width/2 + 1/2)"), ("anchors",)),
    "dots": (("n", "in.put.2", "in put 3"), ("in.put.2//2 + in.put.2 % 2 + 2", "ceil(in put 3/2)"), ("x.y",)),
    "no names": (("n", "h", "w"), (None, None), (None,)),
    "names of values": (("n", "h", "w"), ("Padheat_dim_2", "Padheat_dim_3"), ("Reshapeflat_dim_1",)),
    "wrong names": (("n", "h", "w"), ("h", "w"), ("h*w",)),
    "legal": (("n", "h", "w"), ("(h+1)/2+2", "(w+1)/2"), ("((h+1)/2+2)*((w+1)/2)",)),
}  # fmt: skip


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize("sides", [("H", "W"), ("seq", "seq_len"), ("rows.1", "列")])
def test_a_model_with_an_exporters_names_exports_lints_clean_and_is_sized_right(
    exporter: str, sides: tuple[str, str], tmp_path: Path
) -> None:
    """The stand-in makes room by the names alone: an answer of another size would be cut."""
    names, declared, flat = EXPORTERS[exporter]
    model = Model(heat_model(tmp_path / "heat.onnx", names, declared, flat))
    pipeline = Pipeline("heat")
    height, width = Graded(sides[0], (33, 48, 64)), Graded(sides[1], (64, 31, 48))
    made = model(pipeline.input("x", TensorSpec("float32", (3, height, width))))
    pipeline.output(heat=made, flat=made["flat"])
    plan = pipeline.compile()
    specs = [output.spec for output in plan.graph.outputs]
    assert [[spec.at_gear(gear) for spec in specs] for gear in range(3)] == [
        [(1, 19, 32), (19 * 32,)],
        [(1, 26, 16), (26 * 16,)],
        [(1, 34, 24), (34 * 24,)],
    ]
    root = tmp_path / "models"
    export(plan, root)
    assert [str(finding) for finding in lint(root, "24.02") if finding.severity != "advice"] == []
    rng = np.random.default_rng(1)
    for size in ((33, 64), (48, 31), (64, 48)):
        agree(plan, root, [{"x": rng.normal(size=(3, *size)).astype(np.float32)}])


def test_inputs_that_share_a_size_export_too(tmp_path: Path) -> None:
    """As a text of several lengths: its ids and their mask."""
    nodes = [node("Mul", ["ids", "mask"], ["m"]), node("Concat", ["m", "ids"], ["y"], axis=1)]
    dims = ("n", "seq_len")
    inputs = [tensor("ids", dims, np.int64), tensor("mask", dims, np.int64)]
    model = Model(save(tmp_path / "text.onnx", nodes, inputs, [tensor("y", ("n", "2*seq_len"), np.int64)]))
    pipeline = Pipeline("text")
    spec = TensorSpec("int64", (Graded("length", (8, 16)),))
    pipeline.output(y=model(pipeline.input("ids", spec), pipeline.input("mask", spec)))
    plan, root = pipeline.compile(), tmp_path / "models"
    export(plan, root)
    assert [str(finding) for finding in lint(root, "24.02") if finding.severity != "advice"] == []
    for length in (8, 16):
        agree(plan, root, [{"ids": np.arange(length), "mask": np.ones(length, np.int64)}])


@pytest.mark.triton
def test_a_server_gives_each_size_its_answer(tmp_path: Path, triton_server: Start) -> None:
    names, declared, flat = EXPORTERS["dots"]
    model = Model(heat_model(tmp_path / "heat.onnx", names, declared, flat))
    pipeline = Pipeline("heat")
    height, width = Graded("seq", (33, 48)), Graded("seq_len", (64, 31))
    made = model(pipeline.input("x", TensorSpec("float32", (3, height, width))))
    pipeline.output(heat=made, flat=made["flat"])
    plan = pipeline.compile()
    export(plan, tmp_path / "models")
    server = triton_server(tmp_path / "models")
    rng = np.random.default_rng(1)
    with plan.session() as session:
        for size in ((33, 64), (48, 31)):
            x = rng.normal(size=(3, *size)).astype(np.float32)
            want = session.run(x=x)
            got = ask(server.url, "heat", {"x": x[None]})
            assert {name: value[0].tobytes() for name, value in got.items()} == {
                k: v.tobytes() for k, v in want.items()
            }


def test_the_names_in_the_exported_file_are_the_exporters_rewritten(tmp_path: Path) -> None:
    names, declared, _ = EXPORTERS["torch.export"]
    model = Model(heat_model(tmp_path / "heat.onnx", names, declared, ("(((s1 - 1)//2) + 3)*(((s2 - 1)//2) + 1)",)))
    pipeline = Pipeline("heat")
    framed, _ = ops.Letterbox(sizes=((33, 64), (48, 31)))(pipeline.input("image", TensorSpec("uint8", ("h", "w", 3))))
    x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(framed)
    made = model(x)
    pipeline.output(heat=made, flat=made["flat"])
    export(pipeline.compile(), tmp_path / "models")
    (file,) = (tmp_path / "models" / "heat_1_heat").rglob("*.onnx")
    heat, flat = map(shape_of, onnx.load(file).graph.output)
    assert heat == (1, 1, "(H+1)/2+2", "(W+1)/2")
    assert flat == (1, "((H+1)/2)*((W+1)/2)+2*((W+1)/2)")
