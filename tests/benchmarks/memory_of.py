"""Say what a model with these gears takes in memory: run it in a process of its own, `memory_of.py MODEL 1,2,4`.

It prints MB: the process's proportional share (PSS) once every gear has run, less what it had before the model.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from ge_engine import Model
from ops import TensorSpec
from pipeline import Pipeline

_SHAPES = {"x": (3, 224, 224), "images": (3, 640, 640)}


def model_alone(model: Path) -> Pipeline:
    """A pipeline of nothing but the model."""
    pipeline = Pipeline(model.stem)
    node = Model(model)
    (shape,) = (_SHAPES[name] for name in node.input_names)
    pipeline.output(y=node(pipeline.input("input", TensorSpec("float32", shape))))
    return pipeline


def pss_mb() -> float:
    """Of this process."""
    found = re.search(r"^Pss:\s+(\d+) kB$", Path("/proc/self/smaps_rollup").read_text(encoding="ascii"), re.MULTILINE)
    assert found is not None
    return int(found[1]) / 1024


def main(model: Path, gears: tuple[int, ...]) -> float:
    """Largest first, as a session that has been in use has run them all."""
    before = pss_mb()
    with model_alone(model).compile(gears=gears).session() as session, session.lease() as context:
        for batch in sorted(gears, reverse=True):
            context.run(batch)
        return pss_mb() - before


if __name__ == "__main__":
    print(main(Path(sys.argv[1]), tuple(int(word) for word in sys.argv[2].split(","))))
