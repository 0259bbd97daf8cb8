from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx_files import node, save, tensor

from ge_engine.runtime import session
from ge_engine.single_file import read_graph, write_single_file


def test_an_output_may_have_the_name_of_another_value_in_the_graph(tmp_path: Path) -> None:
    """As of a Softmax that the pipeline calls y, behind a model whose own output is y and is shown, too."""
    nodes = [node("Neg", ["x"], ["y"]), node("Exp", ["y"], ["z"])]
    dims = ("batch", 4)
    path = save(tmp_path / "in.onnx", nodes, [tensor("x", dims)], [tensor("y", dims), tensor("z", dims)])
    write_single_file(
        read_graph(str(path)), [("y.edge", "x")], [("y", "z"), ("z", "y"), ("again", "y")], tmp_path / "out.onnx"
    )
    onnx.checker.check_model(onnx.load(tmp_path / "out.onnx"), full_check=True)
    x = np.float32([[1, 2, 3, 4]])
    served = session(tmp_path / "out.onnx")
    assert [value.name for value in served.get_inputs()] == ["y.edge"]
    assert [value.name for value in served.get_outputs()] == ["y", "z", "again"]
    y, z, again = served.run(None, {"y.edge": x})
    assert z.tobytes() == again.tobytes() == (-x).tobytes()
    np.testing.assert_allclose(y, np.exp(-x), rtol=1e-6)
