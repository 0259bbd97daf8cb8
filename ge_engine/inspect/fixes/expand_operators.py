"""Expand operators: one that GE has no parser for becomes the simpler ones by which ONNX defines it, where it does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import onnx
import onnx.defs
import onnx.inliner

from ops.unique import unique

from ...dynamic import values_of
from ...opset import HIGHEST
from ..operators import DOCUMENTED
from .case import Case

_DOMAIN = "gepipe.expanded"


def expand_operators(model: onnx.ModelProto, case: Case) -> list[str]:
    """Gelu, GroupNormalization and the like, in the main graph."""
    done: Counter[str] = Counter()
    while True:  # the types behind one that is expanded may not be known before
        expanded = _expanded(model)
        if not expanded:
            return [
                f"{count} {name}, without a parser in GE: written as simpler operators" for name, count in done.items()
            ]
        done += expanded


def _expanded(model: onnx.ModelProto) -> Counter[str]:
    """How many of each type were expanded by now."""
    opset = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=0)
    unknown = [node for node in model.graph.node if _is_unknown(node, opset)]
    done: Counter[str] = Counter()
    values = values_of(model) if unknown else {}
    for node in unknown:
        function = _definition(node, values, opset)
        if function is not None and not any(_is_unknown(inner, opset) for inner in function.node):
            done[node.op_type] += 1
            function.domain, function.name = _DOMAIN, unique(node.op_type, {one.name for one in model.functions})
            node.domain, node.op_type = function.domain, function.name
            model.functions.append(function)
    if done:
        model.opset_import.append(onnx.helper.make_opsetid(_DOMAIN, 1))
        model.CopyFrom(onnx.inliner.inline_local_functions(model))
        kept = [entry for entry in model.opset_import if entry.domain != _DOMAIN]
        del model.opset_import[:]
        model.opset_import.extend(kept)
    return done


def _is_unknown(node: onnx.NodeProto, opset: int) -> bool:
    own = node.domain in ("", "ai.onnx")
    return own and node.op_type in DOCUMENTED.unknown([node.op_type], min(opset, HIGHEST))


def _definition(
    node: onnx.NodeProto, values: Mapping[str, onnx.ValueInfoProto], opset: int
) -> onnx.FunctionProto | None:
    """ONNX's own definition of a node, to which its default attributes are added; None where it has none."""
    try:
        schema: Any = onnx.defs.get_schema(node.op_type, opset, "")
    except onnx.defs.SchemaError:
        return None
    there = {attribute.name for attribute in node.attribute}
    defaults = [schema.attributes[name].default_value for name in schema.attributes if name not in there]
    node.attribute.extend(attribute for attribute in defaults if attribute.name)
    function = onnx.FunctionProto()
    if schema.has_function:
        function.CopyFrom(schema.function_body)
    elif schema.has_context_dependent_function:
        types = [(values[name].type if name in values else onnx.TypeProto()).SerializeToString() for name in node.input]
        function.ParseFromString(schema.get_context_dependent_function(node.SerializeToString(), types))
    else:
        return None
    if not function.node:
        return None
    del function.opset_import[:]
    function.opset_import.append(onnx.helper.make_opsetid("", opset))
    return function
