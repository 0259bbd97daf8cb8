"""Ensembles whose own config is wrong, and the models that ensembles are made of."""

# ruff: noqa: E501  # a config is easier to read in one line

from __future__ import annotations

from lint_case import ECHO, FROM_MID, IN, MID, OUT, Case, config, ensemble, host, step, tensor

PARTS = (
    host("u", config()),
    host("u8", config("max_batch_size: 8")),
    host("u4", config("max_batch_size: 4")),
    host("i32", config("", [tensor("x", kind="INT32")], [tensor("y", kind="INT32")])),
    host("six", config("", [tensor("x", "6")], [tensor("y", "6")])),
    host("two", config("", [tensor("x"), tensor("m")], [tensor("y"), tensor("z")])),
    host("two8", config("max_batch_size: 8", [tensor("x"), tensor("m")])),
    host("opt", config("", [tensor("x"), tensor("m", extra="optional: true")])),
    host("var", config("", [tensor("x", "-1")], [tensor("y", "-1")])),
    host("rows", config("", [tensor("x", "-1, 4")], [tensor("y", "-1, 4")])),
    host("text", config("", [tensor("x", kind="STRING")], [tensor("y", kind="STRING")])),
    host("silent", config(), files={"1/model.py": ECHO.replace('[pb.Tensor("y", tensor)]', "[]")}),
    host("dec", config("model_transaction_policy { decoupled: true }")),
    host("dec2", config("model_transaction_policy { decoupled: true }")),
    host("flat", config("", [tensor("x", "6", extra="reshape { shape: [ 2, 3 ] }")], [tensor("y", "6")])),
)

WIRING = (
    ensemble("wired", [step("u", IN, OUT)]),
    ensemble("any_order", [step("u", FROM_MID, OUT), step("u", IN, MID)]),
    ensemble(
        "E01_backend", [step("u", IN, OUT)], "E01", words="whose platform is not ensemble", head='backend: "python"'
    ),
    ensemble(
        "E02_both",
        [step("u", IN, OUT)],
        "E02",
        words="empty backend type",
        head='platform: "ensemble" backend: "python"',
    ),
    Case("E03_no_steps", config(head='platform: "ensemble"'), ("E03",), "ensemble scheduling must be set", False),
    ensemble("E04_nothing", [step("u", IN, OUT)], "E04", words="Could not determine backend", head=""),
    ensemble(
        "E05_instances",
        [step("u", IN, OUT)],
        "E05",
        words="instance group should not",
        extra="instance_group [ { count: 1 } ]",
    ),
    ensemble(
        "E06_optimization", [step("u", IN, OUT)], "E06", words="optimization should not", extra="optimization { }"
    ),
    ensemble(
        "E07_warmup", [step("u", IN, OUT)], "E07", words="model_warmup can not", extra='model_warmup [ { name: "w" } ]'
    ),
    ensemble(
        "E08_batcher", [step("u", IN, OUT)], "E08", words='oneof "scheduling_choice"', extra="dynamic_batching { }"
    ),
    ensemble("E09_empty", [], "E09", words="must specify 'step'"),
    ensemble(
        "E10_model",
        ['{ input_map { key: "x" value: "in" } output_map { key: "y" value: "out" } }'],
        "E10",
        words="'model_name' in step 0",
    ),
    ensemble(
        "E10_inputs",
        ['{ model_name: "u" model_version: -1 output_map { key: "y" value: "out" } }'],
        "E10",
        "E12",
        "E33",
        words="'input_map' in step 0",
    ),
    ensemble("E10_outputs", [step("u", IN, {}), step("u", IN, OUT)], "E10", words="'output_map' in step 0"),
    ensemble("E11_two_steps", [step("u", IN, OUT), step("u", IN, OUT)], "E11", words="step 1"),
    ensemble("E11_one_step", [step("two", {"x": "in", "m": "in"}, {"y": "out", "z": "out"})], "E11", words="step 0"),
    ensemble(
        "E12_input",
        [step("u", IN, OUT)],
        "E12",
        words="ensemble input 'mask' for ensemble",
        inputs=[tensor("in"), tensor("mask")],
    ),
    ensemble(
        "E13_output",
        [step("u", IN, OUT)],
        "E13",
        words="ensemble output 'score' for ensemble",
        outputs=[tensor("out"), tensor("score")],
    ),
    ensemble(
        "E14_missing", [step("two", {"x": "in", "m": "gone"}, OUT)], "E14", "E15", words="'gone', is not connected"
    ),
    ensemble(
        "E14_circle",
        [step("two", {"x": "in", "m": "t"}, {"y": "t", "z": "out"})],
        "E14",
        "E15",
        words="'t', is not connected",
    ),
    ensemble("E14_no_input", [step("u", IN, OUT)], "E14", "E15", "L07", words="'in', is not connected", inputs=[]),
    ensemble(
        "E15_unread",
        [step("two", {"x": "in", "m": "in"}, {"y": "out", "z": "debug"})],
        "E15",
        words="'debug' is unused",
    ),
    ensemble(
        "E15_never",
        [step("two", {"x": "in", "m": "gone"}, MID), step("u", IN, OUT)],
        "E15",
        words="is unused in ensemble",
    ),
    ensemble("E15_no_output", [step("u", IN, OUT)], "E15", "L07", words="'out' is unused", outputs=[]),
    ensemble(
        "E16_lost",
        [
            '{ model_name: "u" model_version: -1 input_map { key: "x" value: "in" }\noutput_map { key: "y" value: "t" } output_map { key: "y" value: "out" } }'
        ],
        "E16",
        words="'t' is lost",
        loads=True,
    ),
    ensemble(
        "E16_broken",
        [
            '{ model_name: "u" model_version: -1 input_map { key: "x" value: "in" }\noutput_map { key: "y" value: "out" } output_map { key: "y" value: "t" } }'
        ],
        "E13",
        "E15",
        "E16",
        words="ensemble output 'out' for ensemble",
    ),
    ensemble(
        "E17_pairs",
        [
            '{ model_name: "two" model_version: -1 input_map { key: "x" value: "in" key: "m" value: "in" } output_map { key: "y" value: "out" } }'
        ],
        "E17",
        words="failed to read text proto",
    ),
    ensemble("E20_absent", [step("preproces", IN, OUT)], "E20", words="not available or ambiguous: preproces"),
    ensemble("E20_refused", [step("M01_type", IN, OUT)], "E20", words="not available or ambiguous: M01_type"),
    ensemble(
        "E21_itself",
        [step("E21_itself", {"in": "in"}, {"out": "out"})],
        "E21",
        words="circular dependency between ensembles: E21_itself -> ... -> E21_itself",
    ),
    ensemble(
        "E21_first",
        [step("E21_second", {"in": "in"}, {"out": "out"})],
        "E21",
        words="circular dependency between ensembles",
    ),
    ensemble(
        "E21_second", [step("E21_first", {"in": "in"}, {"out": "out"})], "E21", words="circular dependency", asked=False
    ),
    ensemble("E22_fallen", [step("M27_dim", IN, OUT)], "E22", words="which has no loaded version"),
    ensemble("E23_left_out", [step("u", IN, OUT, "")], "E23", "L01", words="whose required version 0 is not loaded"),
    ensemble(
        "E23_pinned",
        [step("u", IN, OUT, "model_version: 3")],
        "E23",
        "L01",
        words="whose required version 3 is not loaded",
    ),
    ensemble("L01_pinned", [step("u", IN, OUT, "model_version: 1")], "L01", words="model_version: 1", loads=True),
)
