"""What only TensorFlow can do, as a program of its own: freeze a SavedModel, run a model. It imports nothing of ours.

Called with a job as JSON: {"do": "freeze", "kind", "source", "signature", "target"}, or {"do": "run", "kind", "source",
"signature", "outputs", "feeds": [npz], "answers": [npz]}. What it found goes to the job's "report", as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Arrays = Mapping[str, Any]


def main(job_file: str) -> None:
    """Do one job."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    if job["do"] == "freeze":
        report = freeze(job["source"], job["signature"], job["target"])
    else:
        run = RUNS[job["kind"]](job)
        report = {"failed": [answered(run, *files) for files in zip(job["feeds"], job["answers"])]}
    Path(job["report"]).write_text(json.dumps(report), encoding="utf-8")


def answered(run: Callable[[Arrays], Arrays], feeds: str, answers: str) -> str:
    """Write the outputs by name; or why there are none."""
    with np.load(feeds) as arrays:
        try:
            np.savez(answers, **run(dict(arrays)))
        except Exception as error:  # TensorFlow raises errors of many families
            return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    return ""


def signature_of(source: str, wanted: str) -> tuple[Any, Any]:
    """A SavedModel, and its signature of that name: `serving_default` or the only one by default."""
    import tensorflow as tf

    with contextlib.suppress(ImportError):
        import tf_keras  # noqa: F401  # older SavedModels of Keras need its classes
    loaded = tf.saved_model.load(source)
    names = list(loaded.signatures)
    name = wanted or ("serving_default" if "serving_default" in names or not names else names[0])
    if name not in names or (not wanted and name != "serving_default" and len(names) > 1):
        choice = "name one: --signature" if names else "save the model with a signature: model.export(folder)"
        sys.exit(f"gepipe: signature {name!r} is not to be chosen from {', '.join(names) or 'none'}\nfix: {choice}")
    return loaded, loaded.signatures[name]  # the variables live as long as what was loaded


def freeze(source: str, signature: str, target: str) -> dict[str, Any]:
    """Write a frozen graph; its outputs, by the names of the signature: value and dtype."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    _loaded, function = signature_of(source, signature)
    frozen = convert_variables_to_constants_v2(function)
    Path(target).write_bytes(frozen.graph.as_graph_def().SerializeToString())
    names = sorted(function.structured_outputs)  # TensorFlow flattens a dict in this order
    return {"outputs": {name: [made.name, made.dtype.name] for name, made in zip(names, frozen.outputs)}}


def run_saved_model(job: Mapping[str, Any]) -> Callable[[Arrays], Arrays]:
    """Named arrays to named arrays."""
    import tensorflow as tf

    loaded, function = signature_of(job["source"], job["signature"])
    names = sorted(function.structured_outputs)

    def run(feeds: Arrays, _kept: Any = loaded) -> Arrays:
        answer = function(**{name: tf.constant(array) for name, array in feeds.items()})
        return {name: answer[name].numpy() for name in names}

    return run


def run_frozen(job: Mapping[str, Any]) -> Callable[[Arrays], Arrays]:
    """outputs: of the job, the values to give."""
    import tensorflow as tf

    graph_def = tf.compat.v1.GraphDef.FromString(Path(job["source"]).read_bytes())
    outputs = [name if ":" in name else f"{name}:0" for name in job["outputs"]]

    def run(feeds: Arrays) -> Arrays:
        with tf.Graph().as_default() as graph:
            tf.compat.v1.import_graph_def(graph_def, name="")
            with tf.compat.v1.Session(graph=graph) as session:
                answer = session.run(outputs, {f"{name}:0": array for name, array in feeds.items()})
        return dict(zip(job["outputs"], answer))

    return run


def run_tflite(job: Mapping[str, Any]) -> Callable[[Arrays], Arrays]:
    """Inputs by their names, or by place where the names are others."""
    import tensorflow as tf

    interpreter = tf.lite.Interpreter(model_path=job["source"])

    def run(feeds: Arrays) -> Arrays:
        ports = interpreter.get_input_details()
        by_name = {port["name"] for port in ports} == set(feeds)
        arrays = [feeds[port["name"]] for port in ports] if by_name else list(feeds.values())
        for port, array in zip(ports, arrays):
            interpreter.resize_tensor_input(port["index"], array.shape)
        interpreter.allocate_tensors()
        for port, array in zip(ports, arrays):
            interpreter.set_tensor(port["index"], array)
        interpreter.invoke()
        return {port["name"]: interpreter.get_tensor(port["index"]) for port in interpreter.get_output_details()}

    return run


RUNS: Mapping[str, Callable[[Mapping[str, Any]], Callable[[Arrays], Arrays]]] = {
    "SavedModel": run_saved_model,
    "frozen graph": run_frozen,
    "TFLite": run_tflite,
}

if __name__ == "__main__":
    main(sys.argv[1])
