"""A folder of small models, one for each thing that a declaration can get right or wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx_files import node, save, tensor


def write_models(folder: Path) -> Path:
    """dense, one_sample, heads, tokens, square, any_size, ... in `folder`/weights; the folder again."""
    weights = folder / "weights"
    for sub in ("image", "text"):
        (weights / sub).mkdir(parents=True, exist_ok=True)
    (weights / "README.md").write_text("not a model", encoding="utf-8")
    dense(weights / "dense.onnx")
    dense(weights / "one_sample.onnx", batch=1)
    dense(weights / "image" / "model.onnx")
    dense(weights / "text" / "model.onnx")
    dense(weights / "opset13.onnx", opset=13)
    picture(weights / "any_size.onnx", ("batch", 3, "height", "width"))
    picture(weights / "square.onnx", ("batch", 3, 640, 640))
    picture(weights / "opset11.onnx", ("batch", 3, 640, 640), opset=11)
    heads(weights / "heads.onnx")
    some(weights / "some.onnx")
    tokens(weights / "tokens.onnx")
    lookup(weights / "lookup.onnx")
    dynamic_int8(weights / "dynamic_int8.onnx")
    com_microsoft(weights / "com_microsoft.onnx")
    return folder


def dense(path: Path, *, batch: int | str = "batch", opset: int = 17) -> None:
    """x float32[8] -> y float32[4]."""
    matrix = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    nodes = [node("MatMul", ["x", "w"], ["y"])]
    save(path, nodes, [tensor("x", (batch, 8))], [tensor("y", (batch, 4))], {"w": matrix}, opset=opset)


def picture(path: Path, dims: tuple[int | str, ...], *, opset: int = 17) -> None:
    """x float32[3,h,w] -> y float32[3]: the mean of each channel."""
    nodes = [node("GlobalAveragePool", ["x"], ["p"]), node("Flatten", ["p"], ["y"])]
    save(path, nodes, [tensor("x", dims)], [tensor("y", ("batch", 3))], opset=opset)


def heads(path: Path) -> None:
    """x float32[8] -> low float32[8], high float32[8]."""
    nodes = [node("Neg", ["x"], ["low"]), node("Abs", ["x"], ["high"])]
    save(path, nodes, [tensor("x", ("batch", 8))], [tensor("low", ("batch", 8)), tensor("high", ("batch", 8))])


def some(path: Path) -> None:
    """x float32[8] -> y float32[8], found float32[k]: the first max(x) of them."""
    nodes = [
        node("Neg", ["x"], ["y"]),
        node("ReduceMax", ["x"], ["m"], keepdims=0),
        node("Cast", ["m"], ["whole"], to=7),
        node("Reshape", ["whole", "one"], ["end"]),
        node("Slice", ["x", "start", "end", "axis"], ["found"]),
    ]
    values = {"one": np.int64([1]), "start": np.int64([0]), "axis": np.int64([1])}
    save(path, nodes, [tensor("x", ("batch", 8))], [tensor("y", ("batch", 8)), tensor("found", ("batch", "k"))], values)


def mod_of_the_width(path: Path) -> Path:
    """y = x without its last width % 3 columns."""
    nodes = [
        node("Shape", ["x"], ["shape"], start=1, end=2),
        node("Mod", ["shape", "three"], ["rest"]),
        node("Sub", ["shape", "rest"], ["end"]),
        node("Slice", ["x", "zero", "end", "one"], ["y"]),
    ]
    weights = {"three": np.int64([3]), "zero": np.int64([0]), "one": np.int64([1])}
    return save(path, nodes, [tensor("x", ("batch", "width"))], [tensor("y", ("batch", "columns"))], weights)


def tokens(path: Path) -> None:
    """ids int64[n], mask int64[n] -> y float32[n]."""
    dims = ("batch", "length")
    nodes = [node("Mul", ["ids", "mask"], ["m"]), node("Cast", ["m"], ["y"], to=1)]
    inputs = [tensor("ids", dims, np.int64), tensor("mask", dims, np.int64)]
    save(path, nodes, inputs, [tensor("y", dims)])


def lookup(path: Path, rows: int = 10) -> None:
    """x float32[8], ids int64[n] -> y float32[n]: of a table, times the mean of x."""
    nodes = [
        node("Identity", ["ids"], ["same"]),
        node("Gather", ["table", "same"], ["found"]),
        node("ReduceMean", ["x"], ["mean"], axes=[1]),
        node("Mul", ["found", "mean"], ["y"]),
    ]
    inputs = [tensor("x", ("batch", 8)), tensor("ids", ("batch", "length"), np.int64)]
    table = np.arange(rows, dtype=np.float32)
    save(path, nodes, inputs, [tensor("y", ("batch", "length"))], {"table": table})


def dynamic_int8(path: Path) -> None:
    """x float32[8] -> y float32[8], quantized with one scale for the whole batch."""
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
        node("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
    ]
    save(path, nodes, [tensor("x", ("batch", 8))], [tensor("y", ("batch", 8))])


def com_microsoft(path: Path) -> None:
    """x float32[8] -> y float32[8], by an operator of ONNX Runtime's own."""
    nodes = [node("Gelu", ["x"], ["y"], domain="com.microsoft")]
    save(path, nodes, [tensor("x", ("batch", 8))], [tensor("y", ("batch", 8))], domains=["com.microsoft"])
