"""A hand-built model with each problem is found out, and nothing is found in a clean one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import frozen_graphs
import model_zoo
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_files import node, onnx_model, save, tensor

from ge_engine.inspect import facts_of
from ge_engine.inspect.operators import release_of
from ops import Finding, ModelError
from pipeline.inspect.judge import judge
from pipeline.rulebook import BOOK


def found(
    path: Path, batches: Sequence[int] | None = None, *sizes: dict[str, int], cann: str | None = None
) -> dict[str, Finding]:
    """The findings of a model, by rule."""
    findings = judge(facts_of(str(path), batches, sizes), release_of(cann))
    assert all(finding.rule in BOOK and finding.fix for finding in findings)
    return {finding.rule: finding for finding in findings}


def ends(kind: Any = np.float32, dims: Sequence[Any] = ("batch", 4)) -> tuple[list[Any], list[Any]]:
    return [tensor("x", dims, kind)], [tensor("y", dims, kind)]


@pytest.mark.parametrize("name", ["dense", "heads", "square"])
def test_a_clean_model_has_no_finding(name: str, models: Path) -> None:
    assert found(models / "weights" / f"{name}.onnx", (1, 4)) == {}


def test_sizes_that_are_given_leave_nothing_to_say(models: Path) -> None:
    assert found(models / "weights" / "any_size.onnx", (1,), {"height": 64, "width": 48}) == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"not a model", "is not an ONNX model"), (b"\x08\x08", "is not an ONNX model")],
)
def test_what_is_no_onnx_at_all_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(Exception, match=message):
        facts_of(str(path))


@pytest.mark.parametrize("text", [b"producer", b"some.domain", b"a key"])
def test_a_text_that_is_no_utf8_is_refused_wherever_it_is(text: bytes, tmp_path: Path) -> None:
    model = onnx_model([node("Neg", ["x"], ["y"])], *ends(), domains=["some.domain"], metadata={"a key": ""})
    model.producer_name = "producer"
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString().replace(text, b"\xff" + text[1:]))
    with pytest.raises(ModelError, match="it holds a name that is not UTF-8: b"):
        facts_of(str(path))


def test_a_damaged_graph_is_judged_as_far_as_it_can_be_read(tmp_path: Path) -> None:
    nodes = [node("Add", [], []), node("Neg", ["x"], ["y"])]
    findings = found(save(tmp_path / "m.onnx", nodes, *ends(np.int64)))
    assert "is not a sound ONNX model" in findings["V28"].message
    assert findings["I07"].message == "1 node leads to no output: Add"


def test_a_model_that_onnx_runtime_cannot_run_says_why(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [node("NoSuchOperator", ["x"], ["y"])], *ends())
    finding = found(path)["V28"]
    assert finding.severity == "refused"
    assert "NoSuchOperator" in finding.message


def test_an_ir_or_opset_that_the_backend_cannot_read(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [node("Neg", ["x"], ["y"])], *ends(), opset=24, ir=10)
    assert "opset 24" in found(path)["V28"].message


def test_an_opset_outside_ges_table_is_advice_and_the_table_is_that_of_the_release(tmp_path: Path) -> None:
    newer = save(tmp_path / "newer.onnx", [node("Neg", ["x"], ["y"])], *ends(), opset=20)
    assert found(newer)["V24"].message == "opset 20: GE's parser is documented for 8 to 18"
    path = save(tmp_path / "m.onnx", [node("Neg", ["x"], ["y"])], *ends(), opset=17)
    assert found(path) == {}
    assert found(path, cann="8.1.RC1")["V24"].message == "opset 17: users report for CANN 8.1.RC1 8 to 13"


def test_an_operator_without_a_parser_and_one_with_a_parser_for_other_opsets(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [node("Gelu", ["x"], ["y"])], *ends(), opset=20)
    messages = [finding.message for finding in judge(facts_of(str(path))) if finding.rule == "V24"]
    assert any(message.startswith("Gelu: GE registers no parser") for message in messages)
    path = save(
        tmp_path / "r.onnx", [node("ReduceL2", ["x", "axes"], ["y"])], *ends(), {"axes": np.int64([1])}, opset=18
    )
    assert found(path)["V24"].message == "ReduceL2: registered for opset 8 to 17 only"


def test_a_size_that_depends_on_data_is_named_with_the_chain_from_its_cause(tmp_path: Path) -> None:
    nodes = [
        node("NonZero", ["x"], ["where"], name="find"),
        node("Transpose", ["where"], ["rows"], name="turn"),
        node("Cast", ["rows"], ["y"], name="cast", to=TensorProto.FLOAT),
    ]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", ("batch", 4))], [tensor("y", ("found", 2))])
    findings = found(path, (1, 4))
    assert findings["V25"].severity == "fails"
    assert findings["V30"].message.startswith("NonZero: ")
    assert findings["G51"].message == (
        "gears 1, 4: the shape of 'where' depends on data, from node 'find' on (3 values): find"
    )


def test_arithmetic_in_int64_is_found_wherever_it_is(tmp_path: Path) -> None:
    nodes = [
        node("Cast", ["x"], ["whole"], to=TensorProto.INT64),
        node("Mul", ["whole", "two"], ["twice"]),
        node("Cast", ["twice"], ["y"], to=TensorProto.FLOAT),
    ]
    path = save(tmp_path / "m.onnx", nodes, *ends(), {"two": np.int64([2])})
    assert found(path)["V30"].message.startswith("Mul on int64: ")


def test_mod_that_stays_and_mod_that_folds_have_other_fixes(tmp_path: Path) -> None:
    stays = save(tmp_path / "stays.onnx", [node("Mod", ["x", "n"], ["y"], fmod=1)], *ends(), {"n": np.float32([3])})
    assert found(stays)["V30"].fix == "calculate in int32 or float32 where values allow"
    findings = found(model_zoo.mod_of_the_width(tmp_path / "folds.onnx"), (1,), {"width": 8})
    command = f"gepipe inspect {tmp_path / 'folds.onnx'} --at width=8 --fix -o {tmp_path / 'folds_mended.onnx'}"
    assert findings["V30"].fix == f"compile it with gepipe, which folds that in each gear; or {command}"
    assert findings["I05"].message.startswith("3 nodes compute what static shapes make constant: ")


def test_shape_arithmetic_is_advised_away(tmp_path: Path) -> None:
    nodes = [
        node("Shape", ["x"], ["shape"], start=0, end=1),
        node("Concat", ["shape", "rest"], ["wanted"], axis=0),
        node("Reshape", ["x", "wanted"], ["y"]),
    ]
    path = save(
        tmp_path / "m.onnx", nodes, [tensor("x", ("batch", 2, 2))], [tensor("y", ("batch", 4))], {"rest": np.int64([4])}
    )
    assert found(path)["I05"].message.startswith("2 nodes compute what static shapes make constant")


def test_control_flow(tmp_path: Path) -> None:
    branch = {
        name: helper.make_graph([node(op, ["x"], [name])], name, [], [tensor(name, ("batch", 4))])
        for name, op in (("plus", "Abs"), ("minus", "Neg"))
    }
    nodes = [
        node("ReduceMax", ["x"], ["most"], keepdims=0),
        node("Greater", ["most", "zero"], ["is"]),
        node("If", ["is"], ["y"], then_branch=branch["plus"], else_branch=branch["minus"]),
    ]
    path = save(tmp_path / "m.onnx", nodes, *ends(), {"zero": np.float32(0)})
    assert found(path)["I01"].message == "If: what it runs is decided by data, on the host"


def test_operators_of_another_domain(models: Path) -> None:
    assert "com.microsoft:" in found(models / "weights" / "com_microsoft.onnx")["G54"].message


@pytest.mark.parametrize(
    ("kind", "name", "severity"),
    [(np.float64, "TYPE_FP64", "refused"), (np.float16, "TYPE_FP16", "advice"), (np.bool_, "TYPE_BOOL", "advice")],
)
def test_types_of_inputs_and_outputs(kind: Any, name: str, severity: str, tmp_path: Path) -> None:
    finding = found(save(tmp_path / "m.onnx", [node("Identity", ["x"], ["y"])], *ends(kind)))["V10"]
    assert finding.severity == severity
    assert name in finding.message


def test_a_string_and_a_sequence_are_no_tensors_for_a_card(tmp_path: Path) -> None:
    strings = [helper.make_tensor_value_info(name, TensorProto.STRING, ("batch",)) for name in "xy"]
    path = save(tmp_path / "s.onnx", [node("Identity", ["x"], ["y"])], strings[:1], strings[1:])
    assert found(path)["V10"].severity == "refused"
    sequence = helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None)
    path = save(tmp_path / "q.onnx", [node("SequenceConstruct", ["x"], ["y"])], [tensor("x", (2, 4))], [sequence])
    assert "output 'y' is sequence" in found(path)["V10"].message


def test_scalars(tmp_path: Path) -> None:
    nodes = [node("Mul", ["x", "scale"], ["y"]), node("ReduceSum", ["x"], ["sum"], keepdims=0)]
    path = save(
        tmp_path / "m.onnx",
        nodes,
        [tensor("x", ("batch", 4)), tensor("scale", ())],
        [tensor("y", ("batch", 4)), tensor("sum", ())],
    )
    messages = [finding.message for finding in judge(facts_of(str(path))) if finding.rule == "V11"]
    assert [message.partition(" is")[0] for message in messages] == ["input 'scale'", "output 'sum'"]


def test_a_batch_that_only_the_declaration_fixes(tmp_path: Path) -> None:
    model_zoo.picture(tmp_path / "m.onnx", (1, 3, 32, 32))
    assert "is fixed by its declaration only" in found(tmp_path / "m.onnx")["G52"].message


def test_a_declared_example(tmp_path: Path) -> None:
    model_zoo.picture(tmp_path / "m.onnx", (10, 3, 32, 32))
    finding = found(tmp_path / "m.onnx")["I02"]
    assert finding.message == (
        "input 'x' is declared float32[10, 3, 32, 32], but the graph takes any batch, height, width"
    )


def test_a_batch_that_the_graph_itself_fixes(tmp_path: Path) -> None:
    nodes = [node("Reshape", ["x", "two"], ["y"])]
    ports = [tensor("x", (2, 6))], [tensor("y", (2, 2, 3))]
    path = save(tmp_path / "m.onnx", nodes, *ports, {"two": np.int64([2, 2, 3])})
    findings = found(path, (2, 4))
    assert findings["G52"].message == "the batch of x is fixed, and the graph takes no other"
    assert findings["I06"].message == "gear 4: the batch is fixed to 2"


def test_an_input_without_a_batch_beside_others_fixes_none(tmp_path: Path) -> None:
    inputs = [tensor("x", ("batch", 2)), tensor("scale", (2,))]
    path = save(tmp_path / "m.onnx", [node("Mul", ["x", "scale"], ["y"])], inputs, [tensor("y", ("batch", 2))])
    facts = facts_of(str(path), (1, 3))
    assert [gear.output_shapes for gear in facts.gears] == [{"y": (1, 2)}, {"y": (3, 2)}]
    assert found(path)["G52"].message == "the first axis of scale is no batch, and that of the other inputs is"


def test_axes_of_a_reduction_are_no_arithmetic_in_int64(tmp_path: Path) -> None:
    ports = [tensor("x", ("batch", 5, 4))], [tensor("y", ("batch", 4))]
    nodes = [node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)]
    assert found(save(tmp_path / "m.onnx", nodes, *ports, {"axes": np.int64([1])})) == {}


def test_an_input_of_any_rank_and_a_model_without_inputs(tmp_path: Path) -> None:
    path = save(tmp_path / "rank.onnx", [node("Neg", ["x"], ["y"])], [tensor("x", None)], [tensor("y", None)])
    assert facts_of(str(path)).gears == ()
    assert found(path)["I04"].message == "input 'x' (float32) declares no shape, not even how many axes it has"
    constant = [node("Neg", ["w"], ["y"])]
    path = save(tmp_path / "none.onnx", constant, [], [tensor("y", (4,))], {"w": np.ones(4, np.float32)})
    assert found(path)["V28"].message == "the model has no inputs"
    (gear,) = facts_of(str(path)).gears
    assert (gear.peak, gear.output_bytes) == (16, 16)


def test_a_sequence_is_named_as_what_it_is(tmp_path: Path) -> None:
    sequence = helper.make_tensor_sequence_value_info("y", 1, None)
    path = save(tmp_path / "m.onnx", [node("SequenceConstruct", ["x"], ["y"])], [tensor("x", ("batch", 4))], [sequence])
    facts = facts_of(str(path))
    assert facts.error is None
    assert (
        next(finding.message for finding in judge(facts)) == "output 'y' is sequence, which the backend does not know"
    )


def test_onnxs_own_domain_by_its_other_name(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [node("Neg", ["x"], ["y"])], *ends())
    model = onnx.load(path)
    model.opset_import[0].domain = "ai.onnx"
    onnx.save(model, path)
    assert found(path, (1, 2)) == {}


def test_a_gear_that_the_graph_refuses(tmp_path: Path) -> None:
    nodes = [node("Add", ["x", "w"], ["y"])]
    ports = [tensor("x", ("batch", "width"))], [tensor("y", ("batch", "width"))]
    path = save(tmp_path / "m.onnx", nodes, *ports, {"w": np.ones(8, np.float32)})
    finding = found(path, (1,), {"width": 6})["I06"]
    assert finding.severity == "refused"
    assert finding.message.startswith("gear 1 at 6: the graph does not take x [1, 6]: ")


def test_a_declared_output_that_the_graph_contradicts(tmp_path: Path) -> None:
    path = save(
        tmp_path / "m.onnx",
        [node("Transpose", ["x"], ["y"], perm=[0, 2, 1])],
        [tensor("x", ("n", 2, 3))],
        [tensor("y", ("n", 3, 5))],
    )
    finding = found(path)["I02"]
    assert finding.severity == "fails"
    assert finding.message == "output 'y' is declared float32[n, 3, 5], and is [1, 3, 2] at gear 1"


def test_dead_outputs_nodes_and_weights(tmp_path: Path) -> None:
    nodes = [
        node("Neg", ["x"], ["y"]),
        node("Abs", ["x"], ["unused"], name="idle"),
        node("Exp", ["w"], ["scale"]),
    ]
    outputs = [tensor("y", ("batch", 4)), tensor("scale", (1,))]
    weights = {"w": np.float32([1]), "left": np.float32([2])}
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", ("batch", 4))], outputs, weights)
    findings = judge(facts_of(str(path)))
    assert [finding.message for finding in findings if finding.rule == "I03"] == [
        "output 'scale' is the same for every sample"
    ]
    assert {finding.message for finding in findings if finding.rule == "I07"} == {
        "1 node leads to no output: idle",
        "1 weight is not read: left",
    }


def test_an_output_that_no_node_makes_is_why_the_model_is_refused(tmp_path: Path) -> None:
    outputs = [tensor("y", ("batch", 4)), tensor("x", ("batch", 4))]
    path = save(tmp_path / "m.onnx", [node("Neg", ["x"], ["y"])], [tensor("x", ("batch", 4))], outputs)
    findings = found(path)
    assert findings["I03"].severity == "refused"
    assert findings["I03"].message == "output 'x' is an input or a weight, which no node makes"


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ((None, 4), "axis 0 of input 'x' (float32[?, 4]) varies and has no name"),
        (("batch.1", 4), "has the name 'batch.1', which npu_ge cannot read"),
    ],
)
def test_axes_without_a_name_that_can_be_used(dims: Sequence[Any], message: str, tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [node("Neg", ["x"], ["y"])], *ends(dims=dims))
    assert message in found(path)["I04"].message


def test_a_name_inside_another(tmp_path: Path) -> None:
    inputs = [tensor("a", ("batch", "seq")), tensor("b", ("batch", "seq_len"))]
    nodes = [node("Concat", ["a", "b"], ["y"], axis=1)]
    path = save(tmp_path / "m.onnx", nodes, inputs, [tensor("y", ("batch", "seq + seq_len"))])
    finding = found(path)["I04"]
    assert "has the name 'seq_len', in which npu_ge replaces another name, too" in finding.message
    assert finding.fix.startswith("export it as 'seqlen'")


def test_an_output_axis_that_no_expression_gives_until_the_size_is_known(tmp_path: Path) -> None:
    nodes = [node("MaxPool", ["x"], ["y"], kernel_shape=[2], strides=[2])]
    path = save(
        tmp_path / "m.onnx", nodes, [tensor("x", ("batch", 3, "width"))], [tensor("y", ("batch", 3, "floor(width/2)"))]
    )
    assert "floor(width/2)" in found(path)["V14"].message
    assert found(path, (1,), {"width": 8}) == {}


def test_an_output_is_named_once_however_many_of_its_axes_are_wrong(tmp_path: Path) -> None:
    nodes = [node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2]), node("Neg", ["x"], ["z"])]
    x = tensor("x", ("batch", 3, "height", "width"))
    y, z = tensor("y", ("batch", 3, "floor(height/2)", "floor(width/2)")), tensor("z", ("batch", None, None, None))
    findings = judge(facts_of(str(save(tmp_path / "m.onnx", nodes, [x], [y, z]))))
    first, second = (finding for finding in findings if finding.rule == "V14")
    assert first.message.startswith("output 'y': dim 'floor(height/2)'")
    assert "; dim 'floor(width/2)'" in first.message
    assert first.fix.startswith("rename the dim to 'height/2'; rename the dim to 'width/2'; ")
    assert second.message == "output 'z': -1 dim has no name"


def test_a_tensor_of_2_gib(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [node("Neg", ["x"], ["y"])], *ends(dims=("batch", 3, 4096, 4096)))
    findings = judge(facts_of(str(path), (1, 16)))
    assert [finding.message for finding in findings if finding.rule == "V21"] == [
        "input 'x' is 3.0 GiB at batch 16: from 2 GiB on the server aborts",
        "output 'y' is 3.0 GiB at batch 16: from 2 GiB on the server aborts",
    ]


def test_a_missing_data_file(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [node("Mul", ["x", "w"], ["y"])], *ends(), {"w": np.ones((400, 4), np.float32)})
    model = onnx.load(path)
    onnx.save(model, path, save_as_external_data=True, location="m.data", size_threshold=0)
    (tmp_path / "m.data").unlink()
    assert "its external data 'm.data' is missing" in found(path)["V28"].message
    (data,) = facts_of(str(path)).file.data_files
    assert (data.location, data.nbytes, data.needed) == ("m.data", None, 6400)


def test_what_a_frozen_graph_does_not_say_is_no_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without OpenVINO nobody knows the types of its outputs."""
    parts = [frozen_graphs.placeholder("x", (-1, 4)), frozen_graphs.float_op("y", "Neg", "x")]
    path = tmp_path / "m.pb"
    path.write_bytes(b"".join(parts))
    monkeypatch.setenv("GEPIPE_CACHE", str(tmp_path / "cache"))  # where what OpenVINO has said before is kept
    monkeypatch.setitem(sys.modules, "openvino", None)
    assert {finding.severity for finding in found(path).values()} <= {"advice"}
    assert [str(port) for port in facts_of(str(path)).file.outputs] == ["?"]
