"""Small models of every form of head, as exporters write them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from onnx_files import node, save, tensor

from pipeline.new.kinds import Kind

VOCAB = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nhello\n"


def head(
    path: Path, values: int, *, name: str = "y", size: Any = (32, 32), last: str = "Identity", **more: Any
) -> Path:
    """A picture [batch,3,height,width] to so many values."""
    weights = {"w": np.random.default_rng(0).normal(size=(3, values)).astype(np.float32)}
    nodes = [
        node("GlobalAveragePool", ["x"], ["p"]),
        node("Flatten", ["p"], ["f"]),
        node("MatMul", ["f", "w"], ["m"]),
        node(last, ["m"], [name]),
    ]
    return save(path, nodes, [tensor("x", ("batch", 3, *size))], [tensor(name, ("batch", values))], weights, **more)


def net(path: Path, nodes: list[Any], x: Any, y: Any, weights: Mapping[str, Any] | None = None, **more: Any) -> Path:
    given = x if isinstance(x, list) else [x]
    return save(path, nodes, given, y if isinstance(y, list) else [y], weights or {}, **more)


def yolo(path: Path, rows: int = 9, size: Any = ("h", "w"), **more: Any) -> Path:
    """Of YOLO nothing but the form of its head: anchors at the strides 8, 16 and 32."""
    strides = (8, 16, 32)
    nodes = [node("Conv", ["x", f"k{s}"], [f"c{s}"], strides=[s, s]) for s in strides]
    nodes += [node("Reshape", [f"c{s}", "row"], [f"r{s}"]) for s in strides]
    nodes += [node("Concat", [f"r{s}" for s in strides], ["y"], axis=2)]
    weights = {f"k{s}": np.full((rows, 3, s, s), 1e-3, np.float32) for s in strides}
    x = tensor("x", ("n", 3, *size))
    return net(path, nodes, x, tensor("y", ("n", rows, "anchors")), {**weights, "row": np.int64([0, rows, -1])}, **more)


def same_size(path: Path, dtype: Any, dims: Any, **more: Any) -> Path:
    """x to y, no value changed, as a net with one Identity."""
    return net(path, [node("Identity", ["x"], ["y"])], tensor("x", dims, dtype), tensor("y", dims, dtype), **more)


def ids(path: Path, names: tuple[str, ...], dtype: Any = np.int64, length: Any = 6, *, pooled: bool = True) -> Path:
    """Ids, and what goes with them, to a vector, or one a token."""
    nodes = [node("Gather", ["table", names[0]], ["v0"])]
    for index, name in enumerate(names[1:]):  # whatever else there is has to be read
        nodes += [node("Cast", [name], [f"f{index}"], to=1), node("ReduceSum", [f"f{index}"], [f"s{index}"])]
        nodes += [node("Mul", [f"s{index}", "zero"], [f"z{index}"])]
        nodes += [node("Add", [f"v{index}", f"z{index}"], [f"v{index + 1}"])]
    last, y = f"v{len(names) - 1}", "embedding" if pooled else "y"
    nodes += [node("ReduceMean", [last], [y], axes=[1], keepdims=0) if pooled else node("Identity", [last], [y])]
    weights = {"table": np.eye(200, 4, dtype=np.float32), "zero": np.float32(0)}
    inputs = [tensor(name, ("n", length), dtype) for name in names]
    return net(path, nodes, inputs, tensor(y, ("n", 4) if pooled else ("n", length, 4)), weights)


def text_heads(path: Path, **lasts: str) -> Path:
    """Ids to four values for each name, by that operator."""
    nodes = [node("Gather", ["table", "input_ids"], ["v"]), node("ReduceMean", ["v"], ["m"], axes=[1], keepdims=0)]
    nodes += [node(last, ["m"], [name]) for name, last in lasts.items()]
    outputs = [tensor(name, ("n", 4)) for name in lasts]
    return net(
        path, nodes, tensor("input_ids", ("n", 6), np.int64), outputs, {"table": np.eye(200, 4, dtype=np.float32)}
    )


LABELS = {"names": "['a', 'b', 'c', 'd', 'e']"}
# Of each: what writes it, what it is taken for, what is told of it, and the first sizes of what the draft gives.
PICTURES: dict[str, tuple[Any, Kind, str, dict[str, Any]]] = {
    "a detector that says no size": (
        lambda p: yolo(p), Kind.DETECTOR, "640x640: that is a guess", {"boxes": 4},
    ),
    "a detector without names": (
        lambda p: yolo(p, size=(64, 96)), Kind.DETECTOR, "the file has no names of classes", {"boxes": 4},
    ),
    "a detector with names": (
        lambda p: yolo(p, size=(64, 96), metadata=LABELS), Kind.DETECTOR, "", {"boxes": 4},
    ),
    "a segmenter, whose rows are more than its classes": (
        lambda p: yolo(p, 41, size=(64, 96), metadata=LABELS), Kind.PICTURE,
        "YOLOv8 has 4 rows and one for each of 5 classes", {"y": 41},
    ),
    "rows of another kind": (
        lambda p: net(p, [node("ReduceMean", ["x"], ["y"], axes=[3], keepdims=0)], tensor("x", ("n", 3, 32, 64)),
                      tensor("y", ("n", 3, 32))),
        Kind.PICTURE, "a head of float32[3,32], and YOLOv8 has 42 anchors at 32x64", {"y": 3},
    ),
    "classes with names": (
        lambda p: head(p, 5, metadata=LABELS), Kind.CLASSIFIER, "no Softmax of its own", {"scores": 5, "labels": 5},
    ),
    "classes with a Softmax": (
        lambda p: head(p, 7, last="Softmax"), Kind.CLASSIFIER, "no names of its 7 classes", {"scores": 5, "classes": 5},
    ),
    "tags, by a Sigmoid": (
        lambda p: head(p, 12, last="Sigmoid"), Kind.CLASSIFIER, "each class holds or not", {"probabilities": 12},
    ),
    "tags with names": (
        lambda p: head(p, 5, last="Sigmoid", metadata=LABELS), Kind.CLASSIFIER, "each class holds or not",
        {"probabilities": 5},
    ),
    "classes by the name of the output": (
        lambda p: head(p, 768, name="logits"), Kind.CLASSIFIER, "no names of its 768 classes",
        {"scores": 5, "classes": 5},
    ),
    "ImageNet's classes": (
        lambda p: head(p, 1000, size=("h", "w")), Kind.CLASSIFIER, "224x224: that is a guess",
        {"scores": 5, "classes": 5},
    ),
    "few values": (
        lambda p: head(p, 11), Kind.CLASSIFIER, "11 numbers may be classes, or a vector", {"scores": 5, "classes": 5},
    ),
    "a vector by the name of the output": (
        lambda p: head(p, 33, name="embedding.1"), Kind.IMAGE_ENCODER, "ImageNet's mean and std", {"vector": 33},
    ),
    "a vector by its length": (
        lambda p: head(p, 512), Kind.IMAGE_ENCODER, "512 numbers are usual for a vector", {"vector": 512},
    ),
    "a picture that is not square": (
        lambda p: head(p, 5, size=(32, 64), metadata=LABELS), Kind.CLASSIFIER, "its aspect not kept",
        {"scores": 5, "labels": 5},
    ),
    "a map": (
        lambda p: same_size(p, np.float32, ("n", 3, 32, 48)), Kind.MASKS, "take the largest channel", {"y": 3},
    ),
    "half precision": (
        lambda p: same_size(p, np.float16, ("n", 3, 32, 48)), Kind.MASKS, "take the largest channel", {"y": 3},
    ),
    "classes in half precision": (
        lambda p: net(p, [node("GlobalAveragePool", ["x"], ["p"]), node("Flatten", ["p"], ["logits"])],
                      tensor("x", ("n", 3, 32, 32), np.float16), tensor("logits", ("n", 3), np.float16)),
        Kind.CLASSIFIER, "no names of its 3 classes", {"scores": 3, "classes": 3},
    ),
    "a vector in half precision": (
        lambda p: net(p, [node("GlobalAveragePool", ["x"], ["p"]), node("Flatten", ["p"], ["embedding"])],
                      tensor("x", ("n", 3, 32, 32), np.float16), tensor("embedding", ("n", 3), np.float16)),
        Kind.IMAGE_ENCODER, "brought to length 1", {"vector": 3},
    ),
    "grey": (
        lambda p: same_size(p, np.float32, ("n", 1, 32, 48)), Kind.MASKS, "0..1; the mean and std", {"y": 1},
    ),
    "channels last": (
        lambda p: same_size(p, np.float32, ("n", 32, 48, 3)), Kind.MASKS, "0..255, channels last", {"y": 32},
    ),
    "bytes, channels last": (
        lambda p: same_size(p, np.uint8, ("n", 32, 48, 3)), Kind.PICTURE, "it gives y uint8[32,48,3]", {"y": 32},
    ),
    "a graph that normalises": (
        lambda p: net(p, [node("Sub", ["x", "m"], ["s"]), node("Neg", ["s"], ["y"])], tensor("x", ("n", 3, 32, 32)),
                      tensor("y", ("n", 3, 32, 32)), {"m": np.float32([0.5])}),
        Kind.MASKS, "the graph begins with Sub", {"y": 3},
    ),
}  # fmt: skip
