"""A Graph to JSON and back. Reading makes a declaration, and validate a Graph of it, as for any other."""

from __future__ import annotations

import json
import os
from typing import Any

from ops import Finding, GepipeError, ModelError, SpecError, ValidationError, Where
from ops.near import near
from ops.serial import op_from_json, op_to_json
from ops.spec_json import array_from_json, array_to_json, spec_from_json, spec_to_json

from .declaration import Constant, Declaration, Input, Node, Output, Ref
from .graph import Graph
from .validation import validate

FORMAT = 1


def graph_to_json(graph: Graph, folder: str) -> str:
    """The graph as JSON; the paths of files in it are relative to `folder`.

    Errors: SpecError for an op that JSON cannot hold.
    """
    document = {
        "format": FORMAT,
        "name": graph.name,
        "where": str(graph.where),
        "inputs": [
            {"name": value.name, "spec": spec_to_json(value.spec), "where": str(value.where)} for value in graph.inputs
        ],
        "constants": [{"name": name, **array_to_json(array)} for name, array in graph.constants.items()],
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
        "outputs": [{"name": output.name, "from": output.key, "where": str(output.where)} for output in graph.outputs],
    }
    return json.dumps(document, ensure_ascii=False, indent=1)


def graph_from_json(text: str, file: str) -> Graph:
    """The graph again. `file` is where the text stands: paths start from its folder, and errors name it.

    The ops of user modules must have been imported: nothing is imported from here.
    Errors: SpecError for what is not such JSON; ValidationError with every problem of the graph in it.
    """
    try:
        document = json.loads(text)
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ValueError(f"not a graph of format {FORMAT}")
        return validate(_Reader(document, os.path.abspath(file)).declaration())
    except ValidationError as error:
        name = document["name"]
        raise ValidationError(f"pipeline '{name}' in {Where(os.path.abspath(file), 0)}", error.findings) from None
    except (GepipeError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        what = str(error.message) if isinstance(error, GepipeError) else f"{type(error).__name__}: {error}"
        raise SpecError(f"{file}: {what}", fix="write the file with graph_to_json") from error


class _Reader:
    """Makes the declaration. References are keys: all values get theirs before any is looked up."""

    def __init__(self, document: dict[str, Any], file: str) -> None:
        self.document = document
        self.file = Where(file, 0)
        self.result = Declaration(document["name"], self._where(document))
        self.refs: dict[str, Ref | None] = {}

    def declaration(self) -> Declaration:
        document, result = self.document, self.result
        for value in document["inputs"]:
            self._entry(Input(value["name"], spec_from_json(value["spec"]), self._where(value)))
        for value in document["constants"]:
            self._entry(Constant(value["name"], array_from_json(value), self._where(value)))
        nodes = [(node, op) for node in document["nodes"] if (op := self._op(node)) is not None]
        for index, (node, op) in enumerate(nodes, len(result.entries)):
            self._name_outputs(node, op, index)
        for node, op in nodes:
            inputs = tuple(self._ref(key, f"node '{node['name']}'") for key in node["inputs"])
            result.entries.append(Node(op, inputs, {}, node["name"], self._where(node)))
        for value in document["outputs"]:
            ref = self._ref(value["from"], f"output '{value['name']}'")
            result.outputs.append(Output(value["name"], ref, self._where(value)))
        return result

    def _entry(self, entry: Input | Constant) -> None:
        self.refs.setdefault(entry.name, (len(self.result.entries), ""))
        self.result.entries.append(entry)

    def _op(self, node: dict[str, Any]) -> Any:
        """The node's op; None (and a finding) where it cannot be made. What it made is then known, but not followed."""
        try:
            return op_from_json(node, self.file.folder)
        except SpecError as error:
            self._add("G13", f"node '{node['name']}': {error.message}", error.fix)
            self.refs.update(dict.fromkeys(node["outputs"]))
            return None

    def _name_outputs(self, node: dict[str, Any], op: Any, index: int) -> None:
        try:
            names = op.output_names
        except ModelError:  # validate says why
            names = ("",) * len(node["outputs"])
        for name, key in zip(names, node["outputs"]):
            if self.refs.setdefault(key, (index, name)) != (index, name) and key != node["name"]:
                self._add("G01", f"node '{node['name']}' makes '{key}', which is there already", "give it another key")

    def _ref(self, key: str, reader: str) -> Ref | None:
        if key not in self.refs:
            self._add("G02", f"{reader} reads '{key}', which nothing makes", near(key, self.refs))
        return self.refs.get(key)

    def _add(self, rule: str, message: str, fix: str) -> None:
        self.result.findings.append(Finding(rule, "refused", str(self.file), message, fix))
        self.result.incomplete = True

    def _where(self, value: dict[str, Any]) -> Where:
        """Where the user declared it; the file itself for what does not say."""
        file, colon, line = str(value.get("where", "")).rpartition(":")
        return Where(file, int(line)) if colon and line.isascii() and line.isdigit() else self.file
