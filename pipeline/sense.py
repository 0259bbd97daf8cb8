"""Sense: what fits together by its specs, and yet gives what nobody wants."""

from __future__ import annotations

from ge_engine.meaning import id_tables, probabilities_by
from ge_engine.model import Model
from ops import Cast, Softmax
from ops.spec import canonical_dtype

from .declaration import Constant, Node, Ref
from .report import Report
from .specs import Specs
from .wiring import Edges

_KEEPING = ("float32", "float16", "int32", "int64")  # a cast to these keeps ids and probabilities


def check_sense(report: Report, edges: Edges, specs: Specs) -> None:
    """G25 to G27, of the nodes whose specs are right."""
    for index, node in report.nodes.items():
        if (index, "") not in specs:
            continue
        if isinstance(node.op, Model):
            _check_ids(report, edges, index, node.op)
            _check_dropped(report, edges, index, node.op)
        elif isinstance(node.op, Softmax):
            _check_softmax(report, edges, specs, index, node.op)


def _check_ids(report: Report, edges: Edges, index: int, model: Model) -> None:
    """G25: ids that the model's table has no row for."""
    where = report.nodes[index].where
    for name, table in id_tables(model.skeleton.model.graph).items():
        source, output = _origin(report, edges, edges[index][name])
        largest = _largest(report, source, output)
        if largest is None or largest < table.rows:
            continue
        message = (
            f"{report.place(index)}, input {name}: {report.place(source)} at {report.entries[source].where} makes ids "
            f"up to {largest}, and the model's table '{table.name}' has {table.rows} rows, for 0 to {table.rows - 1}"
        )
        report.add("G25", where, message, "use the vocabulary and the model of one training: here they are of two")


def _largest(report: Report, source: int, output: str) -> int | None:
    entry = report.entries[source]
    if isinstance(entry, Constant):
        return int(entry.array.max()) if entry.array.size and entry.array.dtype.kind in "iu" else None
    return entry.op.largest.get(output) if isinstance(entry, Node) else None


def _check_dropped(report: Report, edges: Edges, index: int, model: Model) -> None:
    """G27: a model of several outputs that is taken for its first one, where the user may not know of the others."""
    used = [ref for given in edges.values() for ref in given.values()]
    used += [output.ref for output in report.declaration.outputs]
    names = {ref[1] for ref in used if ref is not None and ref[0] == index}
    first, *others = model.output_names
    if others and names == {""}:
        dropped = f"{', '.join(map(repr, others))} {'are' if len(others) > 1 else 'is'} dropped"
        message = f"{report.place(index)} stands for its first output, {first!r}: {dropped}"
        fix = f'say which is meant: model(...)["{first}"], or ["{others[0]}"]'
        report.add("G27", report.nodes[index].where, message, fix, "advice")


def _check_softmax(report: Report, edges: Edges, specs: Specs, index: int, op: Softmax) -> None:
    """G26: a Softmax of one number, or of what are probabilities."""
    ((name, ref),) = edges[index].items()
    assert ref is not None
    where, place = report.nodes[index].where, report.place(index)
    if specs[ref].shape[op.axis] == 1:
        message = f"{place}: axis {op.axis} of {specs[ref]} has one number, and a Softmax makes 1.0 of any"
        report.add("G26", where, message, "use the number as it is, or give axis= the one of the classes", "advice")
        return
    source, output = _origin(report, edges, ref)
    entry = report.entries[source]
    by = ""
    if isinstance(entry, Node) and isinstance(entry.op, Model):
        by = probabilities_by(entry.op.skeleton.model.graph, output)
    elif isinstance(entry, Node) and isinstance(entry.op, Softmax):
        by = "Softmax"
    if by:
        of = f"output '{output}' of {report.place(source)}" if output else f"what {report.place(source)} makes"
        message = f"{place}, input {name}: {of} comes from a {by}: these are probabilities already"
        report.add("G26", where, message, "leave this Softmax out: it would make them almost equal", "advice")


def _origin(report: Report, edges: Edges, ref: Ref | None) -> Ref:
    """Where numbers come from, behind the casts; its output by name, "" where it has one without."""
    assert ref is not None
    index, output = ref
    entry = report.entries[index]
    if not isinstance(entry, Node):
        return ref
    if isinstance(entry.op, Cast) and canonical_dtype(entry.op.dtype) in _KEEPING and index in edges:
        return _origin(report, edges, next(iter(edges[index].values())))
    return index, output or entry.op.output_names[0]
