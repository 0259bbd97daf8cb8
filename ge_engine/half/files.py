"""Files: a model's file as a CPU runs it in another precision."""

from __future__ import annotations

from pathlib import Path

from ops import ModelError

from ..runtime import first_line
from ..single_file import read_graph
from ..weights import WeightFile
from .precision import on_cpu
from .rewrite import emulated


def write_emulated(path: Path, precision: str, folder: Path) -> str:
    """Write the emulated form of an ONNX file, with its weights beside it; where it is.

    Errors: ModelError for a file that onnx cannot read, or whose shapes do not fit together; OSError.
    """
    try:
        model = emulated(read_graph(str(path)), precision)
    except OSError:
        raise
    except Exception as error:  # onnx has no family of exceptions
        fix = "look at the cause; precision origin runs the file as it is"
        raise ModelError(f"{path} cannot be computed in {precision}: {first_line(error)}", fix=fix) from error
    target = Path(on_cpu(str(folder / path.name), precision))
    with WeightFile(target.with_suffix(".weights")) as weights:
        weights.take(model)
    target.write_bytes(model.SerializeToString())
    return str(target)
