"""Judge: the facts of a model, held against the rules. What lint judges of an ONNX file, the same checks judge here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ge_engine.dims import legal_names
from ge_engine.inspect.axis_names import is_batch, is_name, place, proposed
from ge_engine.inspect.dead import dead_nodes, dead_outputs, unused_weights
from ge_engine.inspect.facts import Facts
from ge_engine.inspect.file_facts import Port
from ge_engine.inspect.fixes.cast_ends import INSTEAD
from ge_engine.inspect.free_axes import worth_freeing
from ge_engine.inspect.frozen_facts import FROZEN_BY_DATA, FROZEN_FLOW, UNTOLD
from ge_engine.inspect.gear_facts import GearFacts
from ge_engine.inspect.operators import CONTROL_FLOW, DOCUMENTED, Release
from ge_engine.npu_ge.checks import LARGEST
from ge_engine.shapes import Shape, is_fixed
from ops import Finding, SpecError
from ops.spec import canonical_dtype

from ..triton.checks.npu_io import check_expressions
from ..triton.checks.onnx_file import check_onnx, check_scalars, check_size, check_type
from ..triton.onnx_facts import OnnxFacts, facts_of_model
from ..triton.problem import Place, Problem
from ..triton.tensor import ITEM_BYTES, triton_type
from .remedy import Mendable, mendable, with_remedy

_MOST_NAMES = 6  # nodes in one message
_CAST = {canonical_dtype(before) for before in INSTEAD}  # types that --fix casts


def judge(facts: Facts, release: Release = DOCUMENTED, tried: Mapping[str, str] | None = None) -> tuple[Finding, ...]:
    """Every finding about a model, the worst first.

    tried: of a model that --fix has mended: for each fix that was not made, why not.
    """
    here = Place(facts.file.path)
    problems = [*_usable(facts, here), *_ports(facts, here), *_graph(facts, here, release)]
    problems += [*_axes(facts, here), *_gears(facts, here), *_dead(facts, here)]
    findings = dict.fromkeys(with_remedy(problem, facts, tried).finding() for problem in problems)
    return tuple(sorted(findings, key=lambda finding: ("refused", "fails", "advice").index(finding.severity)))


def _usable(facts: Facts, here: Place) -> Iterator[Problem]:
    if facts.error is not None:
        yield Problem("V28", here, facts.error.message, facts.error.fix or "export the model again", "refused")


def _ports(facts: Facts, here: Place) -> Iterator[Problem]:
    for kind, ports in (("input", facts.file.inputs), ("output", facts.file.outputs)):
        if not ports:
            yield Problem("V28", here, f"the model has no {kind}s", "export the model again", "refused")
        for port in (port for port in ports if port.dtype != UNTOLD):
            try:
                data_type = _triton(port)
            except SpecError:
                message = f"{kind} '{port.name}' is {port.dtype}, which the backend does not know"
                yield Problem("V10", here, message, "export it with plain number tensors", "refused")
                continue
            for problem in check_type(kind, port.name, data_type, here, listed=False):
                if data_type in ITEM_BYTES and data_type not in ("TYPE_FP64", "TYPE_BF16"):
                    problem = replace(problem, fix=f"{problem.fix}, as gepipe export does", own_severity="advice")
                yield mendable(problem, "types") if port.dtype in _CAST else problem
            if kind == "input" and port.dims is None:
                message = f"input '{port.name}' ({port}) declares no shape, not even how many axes it has"
                yield Problem("I04", here, message, "export it with a shape, and names of axes that vary", "fails")


def _graph(facts: Facts, here: Place, release: Release) -> Iterator[Problem]:
    if not facts.file.ir:
        yield from _frozen(facts, here)
    if facts.model is None:
        return
    known = _onnx(facts)
    yield from (mendable(problem, "scalars") for problem in check_scalars(known))
    for problem in check_onnx(known, geared=True, release=release):
        if problem.rule == "V30" and facts.folds and not any(gear.on_host or gear.int64 for gear in facts.gears):
            yield _folding(facts, problem)
        elif problem.rule == "V24" and not problem.message.startswith("opset"):
            yield mendable(problem, "operators")
        elif problem.rule in ("V24", "V28") and facts.file.opset not in DOCUMENTED.opsets:
            yield mendable(problem, "opset")
        else:
            yield problem
    flow = sorted(CONTROL_FLOW & known.operators)
    if flow:
        message = f"{', '.join(flow)}: what it runs is decided by data, on the host"
        yield Problem("I01", here, message, "export the model without it, or leave that part to the host", "advice")
    nodes = facts.model.graph.node
    foreign = sorted({f"{node.domain}:{node.op_type}" for node in nodes if node.domain not in ("", "ai.onnx")})
    if foreign:
        message = f"operators that are not ONNX's own: {_some(foreign)}"
        yield Problem("G54", here, message, "export it with standard operators for an NPU", "advice")
    folds = {name: count for name, count in facts.folds.items() if count}
    if "Shape" in folds or {"Mod", "NonZero"} & set(folds):
        shown = _some(f"{count} {name}" for name, count in sorted(folds.items(), key=lambda item: -item[1]))
        message = f"{sum(folds.values())} nodes compute what static shapes make constant: {shown}"
        yield _folding(facts, Problem("I05", here, message, "", "advice"))


def _folding(facts: Facts, problem: Problem) -> Problem:
    """What is to be folded: gepipe does it for each gear, and --fix for one size."""
    fix = "compile it with gepipe, which folds that in each gear"
    if len({gear.gear.dims for gear in facts.gears}) > 1:
        return replace(problem, fix=f"{fix}; --fix does it in the file, for one --at")
    return mendable(problem, "constants", fix)


def _frozen(facts: Facts, here: Place) -> Iterator[Problem]:
    operators = facts.file.operators
    flow, by_data = sorted(FROZEN_FLOW & operators.keys()), sorted(FROZEN_BY_DATA & operators.keys())
    if flow:
        message = f"{', '.join(flow)}: loops and branches, which are decided by data, on the host"
        yield Problem("I01", here, message, "leave that part to the host, or convert the model to ONNX", "advice")
    if by_data:
        message = f"{', '.join(by_data)}: the size of its output depends on data, and each gear has fixed sizes"
        yield Problem("V25", here, message, "leave it to the host stage behind the model", "advice")


def _onnx(facts: Facts) -> OnnxFacts:
    """As lint knows it; what calculates in int64 is known better here."""
    assert facts.model is not None
    known = facts_of_model(facts.file.path, facts.model, facts.file.opset)
    gears = [gear for gear in facts.gears if not gear.error]
    int64 = frozenset().union(*(gear.int64 for gear in gears)) | known.int64_operators
    return replace(known, ir=facts.file.ir, int64_operators=int64)


def _axes(facts: Facts, here: Place) -> Iterator[Problem]:
    yield from _names(facts.file.inputs, here)
    for name, axes in facts.free.items():
        port = next(port for port in facts.file.inputs if port.name == name)
        if len(worth_freeing(port, facts.free)) > 1:
            free = ", ".join(proposed(replace(port, dims=None), axis) for axis in axes)
            message = f"input '{name}' is declared {port}, but the graph takes any {free}"
            yield Mendable("I02", here, message, "export it with axes that vary", "advice", by="shapes")
        elif 0 in axes:
            message = f"input '{name}' is declared {port}: the batch is fixed by its declaration only"
            fix = "export the model with a dynamic batch axis, so that there can be gears"
            yield Mendable("G52", here, message, fix, "advice", by="shapes")
    first = {port.name: port.dims[0] for port in facts.file.inputs if port.dims and is_batch(port, 0)}
    fixed = [name for name, size in first.items() if isinstance(size, int)]
    if fixed and len(fixed) < len(first):
        message = f"the first axis of {', '.join(fixed)} is no batch, and that of the other inputs is"
        fix = "export the model with the batch as the first axis of every input, or without this input"
        yield Problem("G52", here, message, fix, "advice")
    elif facts.gears and fixed and not any(0 in axes for axes in facts.free.values()):
        message = f"the batch of {', '.join(fixed)} is fixed, and the graph takes no other"
        yield Problem("G52", here, message, "export the model with a dynamic batch axis", "advice")
    if facts.error is None and facts.model is not None:
        yield from _output_axes(facts, here)


def _names(inputs: Iterable[Port], here: Place) -> Iterator[Problem]:
    names = {dim for port in inputs for dim in port.dims or () if isinstance(dim, str) and dim}
    legal = legal_names(sorted(names))
    batches = {port.dims[0] for port in inputs if port.dims and is_batch(port, 0)}
    for port in inputs:
        for axis, dim in enumerate(port.dims or ()):
            if isinstance(dim, int):
                continue
            what = f"axis {axis} of input '{port.name}' ({port})"
            if not dim:
                fix = f"export it under a name, as {proposed(port, axis)!r}"
                yield Mendable("I04", here, f"{what} varies and has no name", fix, "advice", by="names")
            elif not is_name(dim):
                fix = f"export it as {proposed(port, axis)!r}"
                message = f"{what} has the name {dim!r}, which npu_ge cannot read"
                yield Mendable("I04", here, message, fix, "advice", by="names")
            elif axis and dim in batches:
                message = f"{what} has the batch's name, {dim!r}"
                yield Problem("I04", here, message, "export it with a name of its own", "advice")
            elif legal[dim] != dim:
                message = f"{what} has the name {dim!r}, in which npu_ge replaces another name, too"
                yield Mendable("I04", here, message, f"export it as {legal[dim]!r}", "advice", by="names")


def _output_axes(facts: Facts, here: Place) -> Iterator[Problem]:
    """Output dims that stay open once the batch is the server's: where sizes are given, and are one, none does."""
    sizes = {gear.gear.dims for gear in facts.gears if not gear.error}
    others = any(not isinstance(dim, int) for port in facts.file.inputs for dim in (port.dims or ())[1:])
    if not others or (facts.gears and len(sizes) == 1):
        return
    for problem in check_expressions(_onnx(facts), {port.name for port in facts.file.outputs}, batched=True):
        advice = replace(problem, own_severity="advice")
        yield mendable(advice, "names", f"{problem.fix}; for sizes of its own gepipe export does that")


def _gears(facts: Facts, here: Place) -> Iterator[Problem]:
    """What each gear's graph is; of what several share one finding."""
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for gear in facts.gears:
        for rule, severity, message, fix in _of_gear(facts, gear):
            found.setdefault((rule, severity, message, fix), []).append(label(gear))
    for (rule, severity, message, fix), gears in found.items():
        which = f"gear {gears[0]}" if len(gears) == 1 else f"gears {', '.join(gears)}"
        yield Problem(rule, here, f"{which}: {message}", fix, severity)
    for port in facts.file.outputs:
        yield from _declared(facts, port, here)
    for gear in (gear for gear in facts.gears if not gear.error):
        for port in facts.file.inputs:
            yield from check_size("input", port.name, _nbytes(port, gear.shapes.get(port.name)), gear.gear.batch, here)
        for port in facts.file.outputs:
            nbytes = _nbytes(port, gear.output_shapes.get(port.name))
            yield from check_size("output", port.name, nbytes, gear.gear.batch, here)
    name, nbytes = facts.file.largest_weight
    if nbytes >= LARGEST:
        yield Problem("V21", here, f"weight '{name}' is {nbytes / 2**30:.1f} GiB", "split it in the model", "advice")


def _of_gear(facts: Facts, gear: GearFacts) -> Iterator[tuple[str, str, str, str]]:
    if gear.error:
        yield "I06", "refused", gear.error, "leave the gear out, or export the model so that it takes it"
        return
    causes = {chain[0]: (name, chain) for name, chain in reversed([*gear.dynamic.items()])}
    for cause, (name, chain) in causes.items():
        shown = " > ".join(chain[:_MOST_NAMES]) + (" > ..." if len(chain) > _MOST_NAMES else "")
        last = [value for value, other in gear.dynamic.items() if other[0] == cause]
        message = f"the shape of '{name}' depends on data, from node '{cause}' on ({len(last)} values): {shown}"
        yield "G51", "advice", message, "cut the model before that node and do the rest on the host"
    name, nbytes = gear.largest
    if nbytes >= LARGEST and name not in gear.output_shapes:
        yield "V21", "advice", f"the value '{name}' is {nbytes / 2**30:.1f} GiB", "use smaller gears"


def _declared(facts: Facts, port: Port, here: Place) -> Iterator[Problem]:
    """A declared output size that the graph contradicts, at the declared sizes of the inputs."""
    for gear in facts.gears:
        real = gear.output_shapes.get(port.name)
        as_declared = all(
            want == got
            for other in facts.file.inputs
            for want, got in zip(other.dims or (), gear.shapes.get(other.name, ()))
            if isinstance(want, int)
        )
        if gear.error or real is None or port.dims is None or not as_declared:
            continue
        wrong = len(real) != len(port.dims) or any(
            isinstance(want, int) and isinstance(got, int) and want != got for want, got in zip(port.dims, real)
        )
        if wrong:
            shown = ", ".join(str(dim if dim is not None else "?") for dim in real)
            message = f"output '{port.name}' is declared {port}, and is [{shown}] at gear {label(gear)}"
            yield Mendable("I02", here, message, "declare it as it is", "fails", by="shapes")
            return


def _dead(facts: Facts, here: Place) -> Iterator[Problem]:
    if facts.model is None:
        return
    graph = facts.model.graph
    for name, reason in dead_outputs(graph).items():
        severity = "refused" if facts.error is not None else "advice"
        yield Mendable("I03", here, f"output '{name}' {reason}", "export it without that", severity, by="outputs")
    nodes, tensors = dead_nodes(graph), unused_weights(graph)
    if nodes:
        many = f"{len(nodes)} nodes lead" if len(nodes) > 1 else "1 node leads"
        message = f"{many} to no output: {_some(node.name or next(iter(node.output), node.op_type) for node in nodes)}"
        yield Mendable("I07", here, message, "export it without them", "advice", by="dead")
    if tensors:
        many = f"{len(tensors)} weights are" if len(tensors) > 1 else "1 weight is"
        message = f"{many} not read: {_some(tensor.name for tensor in tensors)}"
        yield Mendable("I07", here, message, "export it without them", "advice", by="dead")


def label(gear: GearFacts) -> str:
    """As "4", or "4 at 640x480"."""
    return f"{gear.gear.batch} at {gear.gear}" if gear.gear.dims else str(gear.gear.batch)


def axis_hint(facts: Facts) -> str:
    """What to type for the axes whose sizes are not known."""
    names: dict[str, None] = {}
    for port in facts.file.inputs:
        for axis, dim in enumerate(port.dims or ()):
            if isinstance(dim, str) and (dim in facts.unsized or place(port, axis) in facts.unsized):
                names[proposed(port, axis)] = None
    return ",".join(f"{name}=SIZE" for name in names)


def _triton(port: Port) -> str:
    return triton_type(canonical_dtype(port.dtype))


def _nbytes(port: Port, shape: Shape | None) -> int:
    if shape is None or not is_fixed(shape):
        return 0
    try:
        item = ITEM_BYTES.get(_triton(port), 1)
    except SpecError:
        return 0
    return math.prod(dim for dim in shape if isinstance(dim, int)) * item


def _some(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _MOST_NAMES} more" if len(every) > _MOST_NAMES else ""
    return ", ".join(every[:_MOST_NAMES]) + more
