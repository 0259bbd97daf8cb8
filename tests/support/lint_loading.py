"""Models that a server refuses when it loads them."""

# ruff: noqa: E501  # a config is easier to read in one line

from __future__ import annotations

from lint_case import ECHO, Case, changed, config, host, tensor

PARAMETER = 'parameters { key: "k" value { string_value: "v" } }\n'
LOADING = (
    Case("M20_none", config(), ("M20",), "at least one version must be available", False, folders=()),
    Case("M20_text", config(), ("M20",), "at least one version must be available", False, folders=("x",)),
    Case(
        "M20_zeros",
        config(),
        ("L13", "M20"),
        "at least one version must be available",
        False,
        {"01/model.py": ECHO},
        ("01",),
    ),
    host(
        "M20_policy",
        config("version_policy { latest { num_versions: 0 } }"),
        "M20",
        words="under the version policy of model",
    ),
    host(
        "M20_specific",
        config("version_policy { specific { versions: [ 7 ] } }"),
        "M20",
        words="under the version policy of model",
    ),
    host("some_versions", config("version_policy { specific { versions: [ 1, 7 ] } }")),
    host("zero", config(), folders=("0",), files={"0/model.py": ECHO}),
    host(
        "M23_library",
        config(head='backend: "npuge"'),
        "M23",
        words="unable to find backend library for backend 'npuge'",
    ),
    host("M24_file", config('runtime: "nolib.so"'), "M24", words="unable to find backend library 'nolib.so'"),
    host(
        "M24_python", config('runtime: "model.py"'), "M24", words="unable to find Python backend based backend library"
    ),
    host(
        "M25_gpu",
        config("instance_group [ { kind: KIND_GPU } ]"),
        "M25",
        words="has kind KIND_GPU but no GPUs are available",
    ),
    host(
        "M25_cpu",
        config("instance_group [ { kind: KIND_CPU gpus: [ 0 ] } ]"),
        "M25",
        words="has kind KIND_CPU but specifies one or more GPUs",
    ),
    host(
        "M25_auto",
        config("instance_group [ { gpus: [ 0 ] } ]"),
        "M25",
        words="has kind KIND_CPU but specifies one or more GPUs",
    ),
    host(
        "M25_id",
        config("instance_group [ { kind: KIND_GPU gpus: [ 9 ] } ]"),
        "M25",
        words="specifies invalid or unsupported gpu id 9",
    ),
    host("no_instances", config("instance_group [ { count: 0 } ]")),
    host(
        "M26_profile",
        config('instance_group [ { profile: [ "0" ] } ]'),
        "M26",
        words="profile field which is only supported for TensorRT models",
    ),
    host("M27_name", changed('name: "x" ', ""), "M27", words="model input must specify 'name'"),
    host("M27_type", changed("data_type: TYPE_FP32 ", ""), "M27", words="must specify 'data_type' for M27_type"),
    host("M27_dims", changed("dims: [ 4 ]", "dims: [ ]"), "M27", words="must specify 'dims' for M27_dims"),
    host("M27_dim", changed("[ 4 ]", "[ 0 ]"), "M27", words="dimension must be integer >= 1, or -1"),
    host("M27_negative", changed("[ 4 ]", "[ -2 ]"), "M27", words="dimension must be integer >= 1, or -1"),
    host(
        "M28_size",
        changed("dims: [ 4 ]", "dims: [ 4 ] reshape { shape: [ 5 ] }"),
        "M28",
        words="has different size for dims and reshape",
    ),
    host(
        "M28_between",
        changed("dims: [ 4 ]", "dims: [ -1, 2, 3 ] reshape { shape: [ -1, 5 ] }"),
        "M28",
        words="has different size for dims and reshape",
    ),
    host(
        "M28_variable",
        changed("dims: [ 4 ]", "dims: [ -1, 2 ] reshape { shape: [ -1, -1 ] }"),
        "M28",
        words="has different number of variable-size dimensions",
    ),
    host(
        "M28_zero",
        changed("dims: [ 4 ]", "dims: [ 4 ] reshape { shape: [ 0 ] }"),
        "M28",
        words="reshape dimensions must be integer >= 1",
    ),
    host(
        "M28_scalar",
        changed("dims: [ 4 ]", "dims: [ 1 ] reshape { }"),
        "M28",
        words="cannot have empty reshape for non-batching model",
    ),
    host("scalar_in_batch", changed("dims: [ 4 ]", "dims: [ 1 ] reshape { shape: [ ] }", "max_batch_size: 2")),
    host(
        "M29_format",
        changed("data_type", "format: FORMAT_NCHW data_type"),
        "M29",
        words="model input NHWC/NCHW require 3 dims",
    ),
    host(
        "M29_shape",
        changed("data_type", "is_shape_tensor: true data_type"),
        "M29",
        words="shape tensors are only supported for TensorRT",
    ),
    *(
        host(f"M30_{name}", config(f"max_batch_size: 4 {field} [ {{ {text} }} ]"), "M30", words=words)
        for name, field, text, words in (
            (
                "type",
                "batch_input",
                'kind: BATCH_ELEMENT_COUNT target_name: "n" data_type: TYPE_INT64 source_input: "x"',
                "batch input data type must be TYPE_INT32 or TYPE_FP32",
            ),
            (
                "source",
                "batch_input",
                'kind: BATCH_ELEMENT_COUNT target_name: "n" data_type: TYPE_INT32 source_input: "q"',
                "unknown source input name 'q'",
            ),
            (
                "count",
                "batch_input",
                'kind: BATCH_ELEMENT_COUNT target_name: "n" data_type: TYPE_INT32',
                "expects 1 source input, got 0",
            ),
            (
                "target",
                "batch_output",
                'kind: BATCH_SCATTER_WITH_INPUT_SHAPE target_name: "q" source_input: "x"',
                "unknown target output name 'q'",
            ),
        )
    ),
    host(
        "M31_labels",
        changed(
            'name: "y" data_type: TYPE_FP32 dims: [ 4 ]',
            'name: "y" data_type: TYPE_FP32 dims: [ 4 ] label_filename: "labels.txt"',
        ),
        "M31",
        words="failed to open text file for read",
    ),
    *(
        host(
            f"M32_{name}",
            config(f'max_batch_size: 2 model_warmup [ {{ name: "w" batch_size: 1 {inputs} }} ]'),
            "M32",
            words=words,
            files={"warmup/short": "ab"},
        )
        for name, inputs, words in (
            (
                "shape",
                'inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 5 ] zero_data: true } }',
                "unexpected shape for input 'x' for model 'M32_shape'. Expected [-1,4], got [1,5]",
            ),
            (
                "variable",
                'inputs { key: "x" value { data_type: TYPE_FP32 dims: [ -1 ] zero_data: true } }',
                "expects all variable-size dimensions are specified",
            ),
            (
                "type",
                'inputs { key: "x" value { data_type: TYPE_INT32 dims: [ 4 ] zero_data: true } }',
                "data-type is 'INT32', but model 'M32_type' expects 'FP32'",
            ),
            ("missing", "", "expected 1 inputs but got 0 inputs"),
            (
                "file",
                'inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 4 ] input_data_file: "none" } }',
                "failed to open text file for read",
            ),
            (
                "short",
                'inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 4 ] input_data_file: "short" } }',
                "expects 16 bytes, but the data provided from short",
            ),
            (
                "nothing",
                'inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 4 ] } }',
                "to have input_data_type set",
            ),
        )
    ),
    host(
        "warm",
        config(
            'max_batch_size: 2 model_warmup [ { name: "w" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 4 ] zero_data: true } } } ]'
        ),
    ),
    host("skipped_warmup", config('max_batch_size: 2 model_warmup [ { name: "w" } ]')),
    host(
        "M33_batch",
        config(
            'max_batch_size: 2 model_warmup [ { name: "w" batch_size: 8 inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 4 ] zero_data: true } } } ]'
        ),
        "M33",
        words="end the whole server",
        loads=None,
    ),
    host(
        "M35_resource",
        config(
            'instance_group [ { kind: KIND_CPU rate_limiter { resources [ { name: "r" count: 1 global: true }, { name: "r" count: 1 } ] } } ]'
        ),
        "M35",
        words="both global and device-specific",
        loads=True,
    ),
    host("M36_shell", config('instance_group [ { name: "a;b" } ]'), "M36", words="Invalid stub name", loads=None),
    host(
        "L05_twice",
        config("", [tensor("x"), tensor("x", kind="INT32")]),
        "L05",
        words="2 inputs of L05_twice are called 'x'",
        loads=True,
    ),
    host("L07_nothing", 'backend: "python"', "L07", words="no input", loads=True),
    host("L05_parameter", config(PARAMETER * 2), "L05", words="the last one counts", loads=True),
    host("from_file", None, "L07", words="no input", loads=True),
    Case("E04_no_files", None, ("E04",), "Could not determine backend for model 'E04_no_files'", False),
    Case("L17_no_file", config(), ("L17",), "loading does not return", None),
    host("L17_other_name", config('default_model_filename: "other.py"'), "L17", words="1/other.py", loads=None),
    host(
        "L18_bf16",
        config("", [tensor("x", kind="BF16")], [tensor("y", kind="BF16")]),
        "L18",
        words="as_numpy raises",
        loads=True,
    ),
)
