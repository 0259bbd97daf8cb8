"""Wiring: which value feeds which input, in what order nodes can run, and what leads nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush

from ops import Op, Where
from ops.near import near, nearest

from .declaration import Constant, Input, Node, Ref
from .fault import add_fault
from .report import Report

Edges = dict[int, dict[str, "Ref | None"]]  # node -> its op's name for the input -> what feeds it


def bind_inputs(report: Report) -> Edges:
    """What feeds each input of each node, in the op's own order. A Model's names come from its file.

    G02, G03: inputs that are unknown, missing, doubled or too many; such a node is left out.
    """
    edges: Edges = {}
    for index, node in report.nodes.items():
        inputs = [_follow(report, ref, node.where, report.place(index)) for ref in node.inputs]
        named = {name: _follow(report, ref, node.where, report.place(index)) for name, ref in node.named.items()}
        wanted = _wanted(report, index)
        if wanted is not None and _fit(report, index, wanted):
            given = {**dict(zip(wanted, inputs)), **named}
            edges[index] = {name: given[name] for name in wanted}
    return edges


def _wanted(report: Report, index: int) -> tuple[str, ...] | None:
    """The names of a node's inputs; None (and a finding) where its op cannot tell."""
    op, where = report.nodes[index].op, report.nodes[index].where
    missing = [name for name in ("infer", "run") if getattr(type(op), name) is getattr(Op, name)]
    if missing:
        message = f"{report.place(index)} has no {' and no '.join(missing)}"
        report.add("G23", where, message, f"define {' and '.join(missing)} in {type(op).__name__}")
        return None
    try:
        return op.input_names
    except Exception as error:
        add_fault(report, index, error)
        return None


def _fit(report: Report, index: int, wanted: tuple[str, ...]) -> bool:
    """Whether a node gives each input once."""
    node, place = report.nodes[index], report.place(index)
    takes = f"it takes {', '.join(wanted)}"
    by_position = wanted[: len(node.inputs)]
    unknown = [name for name in node.named if name not in wanted]
    doubled = [name for name in node.named if name in by_position]
    missing = [name for name in wanted if name not in (*by_position, *node.named)]
    surplus = len(node.inputs) > len(wanted)
    if surplus:
        report.add("G03", node.where, f"{place}: {len(node.inputs)} inputs given, {len(wanted)} taken", takes)
    left = list(missing)
    for name in unknown:
        report.add("G02", node.where, f"{place} has no input '{name}'", near(name, left or wanted))
        if left:
            left.remove(nearest(name, left) or left[0])  # most likely the one that was meant
    for name in doubled:
        report.add("G03", node.where, f"{place}: input '{name}' is given by position and by name", "give it once")
    if left:
        names = ", ".join(repr(name) for name in left)
        report.add("G03", node.where, f"{place}: no edge for input {names}", takes)
    return not (surplus or unknown or doubled or missing)


def _follow(report: Report, ref: Ref | None, where: Where, reader: str) -> Ref | None:
    """The reference, if it leads to a value; else None, and a finding where there is none yet."""
    if ref is None:
        return None
    source, output = ref
    if not 0 <= source < len(report.entries):
        report.add("G02", where, f"{reader} reads entry {source}, which is not declared", "pass what an op returned")
        return None
    entry = report.entries[source]
    try:
        known = entry.op.output_names if isinstance(entry, Node) else ("",)
    except Exception:  # the entry's own finding says why
        return None
    if output and output not in known:
        named = [name for name in known if name]
        fix = near(output, named) if named else "it has one output: pass it as it is"
        report.add("G02", where, f"{reader} reads '{output}' of {report.place(source)}, which has no such output", fix)
        return None
    return ref


def check_outputs(report: Report) -> None:
    """G02, G08, G16, G21: outputs that are missing, lead nowhere, or are inputs."""
    declaration = report.declaration
    if not declaration.outputs:
        message = f"pipeline '{declaration.name}' has no output"
        report.add("G08", declaration.where, message, "call pipeline.output(name=edge)")
    inputs = {entry.name: i for i, entry in enumerate(report.entries) if isinstance(entry, Input)}
    if not inputs and not declaration.incomplete:
        message = f"pipeline '{declaration.name}' has no input"
        report.add("G08", declaration.where, message, 'call pipeline.input("name", spec)')
    for output in declaration.outputs:
        ref = _follow(report, output.ref, output.where, f"output '{output.name}'")
        source = None if ref is None or isinstance(report.entries[ref[0]], Node) else ref[0]
        if source is not None:
            message = f"output '{output.name}' is {report.place(source)} itself, which no node makes"
            report.add("G21", output.where, message, "leave it out: the caller has it; or put an op between")
        clash = inputs.get(output.name)
        if clash is not None and clash != source:
            message = f"output '{output.name}' has the name of the input at {report.entries[clash].where}"
            report.add("G16", output.where, message, "rename one: a server would feed the output back as the input")


def in_order(report: Report) -> list[int]:
    """Nodes in topological order, the user's own where there is a choice; without those on or behind a cycle (G04)."""
    sources = {index: {s for s in _sources(report, index) if s in report.nodes} for index in report.nodes}
    try:
        return list(_sorted(sources))
    except CycleError:
        stuck = _on_or_behind_a_cycle(report, sources)
        return list(_sorted({index: read for index, read in sources.items() if index not in stuck}))


def _sorted(sources: Mapping[int, set[int]]) -> Iterator[int]:
    """Each behind what it reads, the lowest first where there is a choice. Errors: CycleError."""
    sorter = TopologicalSorter(sources)
    sorter.prepare()
    ready: list[int] = []
    while sorter.is_active():
        for index in sorter.get_ready():
            heappush(ready, index)
        first = heappop(ready)
        yield first
        sorter.done(first)


def _on_or_behind_a_cycle(report: Report, sources: Mapping[int, set[int]]) -> set[int]:
    """The nodes that cannot run; G04 for each cycle."""
    import networkx  # it takes a while, and few pipelines have a cycle

    dag: networkx.DiGraph[int] = networkx.DiGraph((source, index) for index, read in sources.items() for source in read)
    stuck: set[int] = set()
    for component in networkx.strongly_connected_components(dag):
        first = min(component)
        if len(component) == 1 and not dag.has_edge(first, first):
            continue
        cycle = [edge[0] for edge in networkx.find_cycle(dag.subgraph(component), first)]
        text = " -> ".join(f"'{report.names[i]}'" for i in (*cycle, cycle[0]))
        fix = "a value cannot depend on itself; cut one edge"
        report.add("G04", report.nodes[first].where, f"a cycle: {text}", fix)
        stuck |= component | set(networkx.descendants(dag, first))
    return stuck


def check_use(report: Report, edges: Edges) -> None:
    """G05: the last node of a dead end. G06: inputs and constants that nothing reads. G22: nodes fed by constants only.

    Where an edge could not be followed, what seems unused may be what was meant; without any output, all nodes are.
    """
    for index, given in edges.items():
        if all(ref is not None and isinstance(report.entries[ref[0]], Constant) for ref in given.values()):
            message = f"{report.place(index)} depends on no input: it makes the same for every sample"
            fix = "calculate it once, and declare the result with pipeline.constant"
            report.add("G22", report.nodes[index].where, message, fix)
    if report.declaration.incomplete:
        return
    outputs = report.declaration.outputs
    read = {source for index in report.nodes for source in _sources(report, index)}
    read |= {output.ref[0] for output in outputs if output.ref is not None}
    for index, entry in enumerate(report.entries):
        if index in read:
            continue
        if not isinstance(entry, Node):
            if report.nodes or outputs:
                report.add("G06", entry.where, f"{report.place(index)} is not used", "use it, or remove it")
        elif outputs:
            fix = "use what it makes, name it in pipeline.output, or remove it"
            report.add("G05", entry.where, f"{report.place(index)} leads to no output", fix)


def _sources(report: Report, index: int) -> Iterator[int]:
    """The entries that a node reads."""
    node = report.nodes[index]
    for ref in (*node.inputs, *node.named.values()):
        if ref is not None and 0 <= ref[0] < len(report.entries):
            yield ref[0]
