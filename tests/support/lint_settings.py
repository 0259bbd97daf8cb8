"""Models that a server refuses when it polls their config."""

# ruff: noqa: E501  # a config is easier to read in one line

from __future__ import annotations

from lint_case import changed, config, host, tensor

SETTINGS = (
    host("M01_type", changed("TYPE_FP32", "FP32"), "M01", words="has no value named FP32"),
    host("M01_field", config("max_batchsize: 3"), "M01", words='has no field named "max_batchsize"'),
    host("M01_colon", config("max_batch_size 3"), "M01", words='Expected ":"'),
    host("M01_twice", config("max_batch_size: 2 max_batch_size: 4"), "M01", words="multiple"),
    host("M01_float", config("max_batch_size: 4.0"), "M01", words="4.0"),
    host("M01_range", config("max_batch_size: 4294967296"), "M01", words="4294967296"),
    host("M01_mark", "\ufeff" + config(), "M01", words="1:1"),
    host("M01_blank", config("\u3000max_batch_size: 2"), "M01", words="2:1: '\\u3000' (U+3000)"),
    host("M01_comma", changed("dims: [ 4 ]", "dims: [ 4, ]"), "M01", words="3:53"),
    host("M01_number", config('parameters { key: "k" value { string_value: 3 } }'), "M01", words="Expected string"),
    host("M01_bracket", config().rstrip()[:-1], "M01", words='Expected ","'),
    host("M01_escape", config(r'parameters { key: "k" value { string_value: "a\#" } }'), "M01", words="an escape in a string that there is not"),
    host("M01_newer", config("model_metrics { }"), "M01", words='no field named "model_metrics"'),
    host("comments", "# 中文\n" + config("max_batch_size: 0x2, # two\n")),
    host("spelled", "backend: 'py' \"thon\";\ninput: [ < name: \"x\"; data_type: 11, dims: 4 > ];\noutput { name: \"y\" data_type: TYPE_FP32 dims: [ 4 ] }"),
    host("M02_name", 'name: "other"\n' + config(), "M02", words="directory name must equal model name"),
    host("M03_platform", config(head='platform: "npu_ge"'), "M03", words="unexpected platform type 'npu_ge'"),
    host("M04_pair", config(head='platform: "pytorch_libtorch" backend: "onnxruntime"'), "M04", words="got:pytorch_libtorch, onnxruntime"),
    host("any_platform", config(head='platform: "mine" backend: "python"')),
    host("M05_negative", config("max_batch_size: -1"), "M05", words="must be non-negative value for M05_negative"),
    host("M06_zero", config("max_batch_size: 4 dynamic_batching { preferred_batch_size: [ 0 ] }"), "M06", words="must be positive"),
    host("M06_large", config("max_batch_size: 4 dynamic_batching { preferred_batch_size: [ 8 ] }"), "M06", words="must be <= max batch size"),
    host("M06_none", config("dynamic_batching { preferred_batch_size: [ 8 ] }"), "M06", words="must be <= max batch size"),
    host("batching_of_nothing", config("dynamic_batching { }")),
    host("M07_default", config("max_batch_size: 4 dynamic_batching { priority_levels: 2 }"), "M07", words="default priority level must be in range [1, 2]"),
    host("M07_key", config("max_batch_size: 4 dynamic_batching { priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 3 value { } } }"), "M07", words="priority queue policy must have priority level"),
    host("M08_levels", config("max_batch_size: 4 dynamic_batching { preserve_ordering: true priority_levels: 2 default_priority_level: 1 }"), "M08", words="Only one priority level is allowed"),
    host("M08_delay", config("max_batch_size: 4 dynamic_batching { preserve_ordering: true default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 5 } }"), "M08", words="can not have DELAY"),
    host("M09_decoupled", config("response_cache { enable: true } model_transaction_policy { decoupled: true }"), "M09", words="'decoupled' transaction policy"),
    host("M09_sequence", config("response_cache { enable: true } sequence_batching { }"), "M09", words="sequence batching scheduler"),
    *(
        host(f"M10_{name}", config(f"max_batch_size: 4 sequence_batching {{ {text} }}"), "M10", words=words)
        for name, text, words in (
            ("one_value", 'control_input [ { name: "s" control [ { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0 ] } ] } ]', "must have exactly 2 entries"),
            ("two_types", 'control_input [ { name: "s" control [ { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] fp32_false_true: [ 0, 1 ] } ] } ]', "specifies more than one from"),
            ("no_values", 'control_input [ { name: "s" control [ { kind: CONTROL_SEQUENCE_END } ] } ]', "must specify either"),
            ("two_starts", 'control_input [ { name: "s" control [ { int32_false_true: [ 0, 1 ] } ] }, { name: "t" control [ { int32_false_true: [ 0, 1 ] } ] } ]', "specifies multiple CONTROL_SEQUENCE_START tensors"),
            ("id_type", 'control_input [ { name: "s" control [ { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_FP32 } ] } ]', "unexpected data type for control CONTROL_SEQUENCE_CORRID"),
            ("id_values", 'control_input [ { name: "s" control [ { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 int32_false_true: [ 0, 1 ] } ] } ]', "must not specify either"),
            ("no_name", "control_input [ { control [ { int32_false_true: [ 0, 1 ] } ] } ]", "control tensor must have a name"),
            ("preferred", "oldest { preferred_batch_size: [ 8 ] }", "preferred batch size must be <= max batch size"),
            ("slots", "direct { minimum_slot_utilization: 2.0 }", "minimum slot utilization must be in range"),
        )
    ),
    host("queued", config("max_batch_size: 4 dynamic_batching { default_queue_policy { max_queue_size: 1 } }")),
    host("L09_sizes", config("max_batch_size: 4 dynamic_batching { }", [tensor("x", "-1")], [tensor("y", "-1")]), "L09", words="never merged", loads=True),
)  # fmt: skip
