"""A Graph to JSON and back. Reading makes a declaration, and validate a Graph of it, as for any other."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ops import Counted, Finding, GepipeError, Graded, SpecError, TensorSpec, Where
from ops.serial import op_from_json, op_to_json
from ops.spec import Dim

from .declaration import Constant, Declaration, Input, Node, Output, Ref
from .graph import Graph
from .near import near
from .validate import validate

FORMAT = 1


def graph_to_json(graph: Graph, folder: str) -> str:
    """The graph as JSON; the paths of files in it are relative to `folder`.

    Errors: SpecError for an op that JSON cannot hold.
    """
    document = {
        "format": FORMAT,
        "name": graph.name,
        "inputs": [{"name": value.name, "spec": _spec_to_json(value.spec)} for value in graph.inputs],
        "constants": [{"name": name, **_array_to_json(array)} for name, array in graph.constants.items()],
        "nodes": [
            {
                "name": step.name,
                **op_to_json(step.op, folder),
                "inputs": list(step.inputs),
                "outputs": [key for key, _, _ in step.outputs],
                "where": step.where,
            }
            for step in graph.steps
        ],
        "outputs": [{"name": output.name, "from": output.key} for output in graph.outputs],
    }
    return json.dumps(document, ensure_ascii=False, indent=1)


def graph_from_json(text: str, file: str) -> Graph:
    """The graph again. `file` is where the text stands: findings name it, and paths start from its folder.

    The ops of user modules must have been imported: nothing is imported from here.
    Errors: SpecError for what is not such JSON; ValidationError with every problem of the graph in it.
    """
    try:
        document = json.loads(text)
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ValueError(f"not a graph of format {FORMAT}")
        return validate(_Reader(document, os.path.abspath(file)).declaration())
    except GepipeError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise SpecError(f"{file}: {type(error).__name__}: {error}", fix="write the file with graph_to_json") from error


class _Reader:
    def __init__(self, document: dict[str, Any], file: str) -> None:
        self.document = document
        self.where = Where(file, 0)
        self.result = Declaration(document["name"], self.where)
        self.refs: dict[str, Ref] = {}

    def declaration(self) -> Declaration:
        document, result = self.document, self.result
        for value in document["inputs"]:
            self._entry(value["name"], Input(value["name"], _spec_from_json(value["spec"]), self.where))
        for value in document["constants"]:
            self._entry(value["name"], Constant(value["name"], _array_from_json(value), self.where))
        first = len(result.entries)
        nodes = list(self._ops(document["nodes"]))
        for offset, (node, op) in enumerate(nodes):
            for name, key in zip(op.output_names, node["outputs"]):
                self.refs.setdefault(key, (first + offset, name))
        for node, op in nodes:
            inputs = tuple(self._ref(key, f"node '{node['name']}'") for key in node["inputs"])
            result.entries.append(Node(op, inputs, {}, node["name"], self.where))
        for output in document["outputs"]:
            ref = self._ref(output["from"], f"output '{output['name']}'")
            result.outputs.append(Output(output["name"], ref, self.where))
        return result

    def _entry(self, name: str, entry: Input | Constant) -> None:
        self.refs.setdefault(name, (len(self.result.entries), ""))
        self.result.entries.append(entry)

    def _ops(self, nodes: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], Any]]:
        for node in nodes:
            op = self._op(node)
            if op is not None:
                yield node, op

    def _op(self, node: dict[str, Any]) -> Any:
        try:
            return op_from_json(node, self.where.folder)
        except SpecError as error:
            self._add("G13", f"node '{node['name']}': {error.message}", error.fix)
            return None

    def _ref(self, key: str, reader: str) -> Ref | None:
        if key not in self.refs:
            self._add("G02", f"{reader} reads '{key}', which nothing makes", near(key, self.refs))
        return self.refs.get(key)

    def _add(self, rule: str, message: str, fix: str) -> None:
        self.result.findings.append(Finding(rule, "refused", str(self.where), message, fix))


def _spec_to_json(spec: TensorSpec) -> dict[str, Any]:
    return {"dtype": spec.dtype, "shape": [_dim_to_json(dim) for dim in spec.shape]}


def _dim_to_json(dim: Dim) -> Any:
    if isinstance(dim, Counted):
        return {"counted": dim.name, "limit": dim.limit}
    if isinstance(dim, Graded):
        return {"graded": dim.name, "values": list(dim.values)}
    return dim


def _spec_from_json(value: dict[str, Any]) -> TensorSpec:
    return TensorSpec(value["dtype"], tuple(_dim_from_json(dim) for dim in value["shape"]))


def _dim_from_json(value: Any) -> Dim:
    if isinstance(value, dict):
        if "counted" in value:
            return Counted(value["counted"], value["limit"])
        return Graded(value["graded"], tuple(value["values"]))
    if not isinstance(value, (int, str)):
        raise ValueError(f"{value!r} is not a dim")
    return value


def _array_to_json(array: Any) -> dict[str, Any]:
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def _array_from_json(value: dict[str, Any]) -> Any:
    data = base64.b64decode(value["data"], validate=True)
    return np.frombuffer(data, TensorSpec(value["dtype"], (1,)).numpy).reshape(value["shape"])
