"""Small networks whose every axis varies, with the names that exporters give to such axes."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx_files import node, onnx_model, tensor

INPUTS = (
    ("s0", "s1", "s2"),
    ("batch", "height", "width"),
    ("batch size", "input.1_dim_2", "input.1_dim_3"),
    ("n", "seq", "seq_len"),  # npu_ge finds the one in the other
    ("2nd", "高", "宽"),
)


@dataclass
class Chain:
    """A network as it grows, and what an exporter would call its height and width."""

    rng: random.Random
    height: str
    width: str
    channels: int = 2
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: dict[str, Any] = field(default_factory=dict)
    last: str = "x"

    def add(self, op: str, *more: Any, **attributes: Any) -> None:
        name = f"v{len(self.nodes)}"
        inputs = [self.last]
        for value in more:
            inputs.append("" if value is None else f"{name}_{len(inputs)}")
            if value is not None:
                self.weights[inputs[-1]] = value
        self.nodes.append(node(op, inputs, [name], **attributes))
        self.last = name

    def both(self, text: str) -> None:
        self.height, self.width = text.format(self.height), text.format(self.width)

    def conv(self) -> None:
        kernel, stride, pad, gap = (self.rng.choice(c) for c in ((1, 2, 3, 5), (1, 2, 3), (0, 1, 2), (1, 1, 2)))
        self.add(
            "Conv", np.ones((2, self.channels, kernel, kernel), np.float32),
            strides=[stride] * 2, pads=[pad] * 4, dilations=[gap] * 2,
        )  # fmt: skip
        self.channels = 2
        more = 2 * pad - gap * (kernel - 1) - 1
        texts = (f"((({{}}) + {more})//{stride}) + 1", f"floor(({{}})/{stride} + {more}/{stride}) + 1",
                 f"floor(({{}} + {more + stride})/{stride})")  # fmt: skip
        self.both(self.rng.choice(texts).replace("+ -", "- "))

    def pool(self) -> None:
        stride, up = self.rng.choice((2, 3)), self.rng.choice((0, 1))
        self.add("MaxPool", kernel_shape=[stride] * 2, strides=[stride] * 2, ceil_mode=up)
        self.both(f"ceil(({{}})/{stride})" if up else f"floor(({{}})/{stride})")

    def cut(self) -> None:
        self.add("Slice", np.int64([1]), np.int64([-1]), np.int64([2]))
        self.height = f"{self.height} - 2"

    def skip(self) -> None:
        self.add("Slice", np.int64([0]), np.int64([2**40]), np.int64([3]), np.int64([2]))
        self.width = f"CeilDiv({self.width}, 2)"

    def twice(self) -> None:
        self.nodes.append(node("Concat", [self.last, self.last], [f"c{len(self.nodes)}"], axis=3))
        self.last = self.nodes[-1].output[0]
        self.width = f"2*({self.width})"

    def grow(self) -> None:
        scale, text = self.rng.choice(((2.0, "2.0*({})"), (0.5, "floor(0.5*({}))"), (1.5, "floor(1.5*({}))")))
        self.add("Resize", None, np.float32([1, 1, scale, scale]), mode="nearest")
        self.both(text)

    def frame(self) -> None:
        self.add("Pad", np.int64([0, 0, 1, 0, 0, 0, 2, 3]))
        self.height, self.width = f"3 + {self.height}", f"({self.width} + 3)"

    def flat(self) -> None:
        self.add("Reshape", np.int64([0, self.channels, -1]))


def chain(seed: int) -> tuple[onnx.ModelProto, tuple[str, ...], tuple[int | str, ...]]:
    """The model, the names of its batch, height and width, and what its output is declared to be."""
    rng = random.Random(seed)
    names = INPUTS[seed % len(INPUTS)]
    made = Chain(rng, names[1], names[2])
    steps = [made.conv, made.pool, made.cut, made.skip, made.twice, made.grow, made.frame]
    for step in rng.sample(steps, 3):
        made.conv()
        step()
    dims: tuple[int | str, ...] = (names[0], made.channels, made.height, made.width)
    if seed % 3 == 0:
        made.flat()
        dims = (names[0], made.channels, f"({made.height})*({made.width})")
    inputs = [tensor("x", (names[0], 2, *names[1:]))]
    return onnx_model(made.nodes, inputs, [tensor(made.last, dims)], made.weights), names, dims
