"""Specs: what every value is, found by asking each op in turn, and whether the settings fit the models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ge_engine.model import Model
from ge_engine.model_notes import fixed_batch_note, free_the_batch
from ops import Graded, SpecError, TensorSpec
from ops.near import near

from .declaration import Constant, Input, Ref
from .deployment import Deployment
from .fault import add_fault
from .remedy import remedy
from .report import Report
from .wiring import Edges

Specs = dict[Ref, TensorSpec]


def infer_specs(report: Report, edges: Edges, order: Sequence[int]) -> Specs:
    """The spec of every value that can be known.

    Behind a refused node nothing is sure: there an op is asked with what the node would have made of the right input,
    and only a wrong attribute counts, which is wrong whatever the input is.
    """
    specs: Specs = {}
    presumed: Specs = {}
    for index, entry in enumerate(report.entries):
        if isinstance(entry, Input):
            specs[index, ""] = entry.spec
        elif isinstance(entry, Constant):
            _add_constant(report, index, entry, specs)
    for index in order:
        if index not in edges:
            continue
        sure = {name: specs[ref] for name, ref in edges[index].items() if ref in specs}
        if len(sure) == len(edges[index]):
            _add_node(report, edges, index, sure, specs, presumed)
        else:
            given = {name: {**presumed, **specs}.get(ref) for name, ref in edges[index].items() if ref is not None}
            _look_behind(report, index, given, presumed)
    _check_sizes(report, edges, specs)
    _check_open(report, edges, specs)
    return specs


def _add_constant(report: Report, index: int, constant: Constant, specs: Specs) -> None:
    try:
        spec = TensorSpec(constant.array.dtype, constant.array.shape)
        if spec.dtype == "bytes" and not all(isinstance(item, bytes) for item in constant.array.flat):
            raise SpecError("an object is not bytes", fix="give numbers, or bytes in an array of dtype object")
    except SpecError as error:
        report.add("G13", constant.where, f"{report.place(index)}: {error.message}", error.fix)
    else:
        specs[index, ""] = spec


def _add_node(
    report: Report, edges: Edges, index: int, given: dict[str, TensorSpec], specs: Specs, presumed: Specs
) -> None:
    """Ask an op what it makes.

    What else is wrong with it is found by asking again with the spec that it wanted: an attribute is found beside a
    wrong dtype, and so is another input; but there is one finding an input, for a wrong edge is one mistake.
    """
    op, found, trial = report.nodes[index].op, set[str](), dict(given)
    for _ in range(len(given) + 1):
        try:
            result = op.infer(*trial.values())
            names = op.output_names
        except SpecError as error:
            if error.input not in found:
                graded = error.input in given and bool(given[error.input].graded)
                fix = remedy(report, edges, specs, index, trial, error)
                add_fault(report, index, error, graded=graded, fix=fix)
            found.add(error.input)
            if error.wanted is None or error.input not in trial:
                return
            trial[error.input] = error.wanted
        except (Exception, SystemExit) as error:
            add_fault(report, index, error)
            return
        else:
            _add_made(report, index, result, names, presumed if found else specs)
            return


def _look_behind(report: Report, index: int, given: Mapping[str, TensorSpec | None], presumed: Specs) -> None:
    """Attributes that are wrong, of an op whose inputs are not sure; a Model's file may say what they are to be."""
    op = report.nodes[index].op
    inputs = tuple(given.values())
    if isinstance(op, Model) and None in inputs:
        inputs = op.declared_inputs
    if None in inputs:
        return
    try:
        result, names = op.infer(*inputs), op.output_names
    except SpecError as error:
        if not error.input and not error.rule:
            add_fault(report, index, error)
    except (Exception, SystemExit):  # may well be a consequence
        pass
    else:
        _add_made(report, index, result, names, presumed)


def _add_made(report: Report, index: int, result: Any, names: Sequence[str], specs: Specs) -> None:
    made = result if isinstance(result, tuple) else (result,)
    if not made or len(made) != len(names) or not all(isinstance(spec, TensorSpec) for spec in made):
        message = f"{report.place(index)}: infer returned {result!r}, declared {_outputs(names)}"
        report.add("G23", report.nodes[index].where, message, "return a TensorSpec for each output")
        return
    specs.update({(index, name): spec for name, spec in zip(names, made)})
    specs[index, ""] = made[0]


def _outputs(names: Sequence[str]) -> str:
    return "one output" if tuple(names) == ("",) else f"the outputs {', '.join(names)}"


def _check_sizes(report: Report, edges: Edges, specs: Specs) -> None:
    """G19: a sample has one size gear, so one op picks it; or the sample itself, whose inputs share their sizes."""
    picked: dict[str, tuple[int, Graded]] = {}
    for index in sorted({index for index, _ in specs}):
        before = {dim.name for ref in edges.get(index, {}).values() if ref in specs for dim in specs[ref].graded}
        made = {dim.name: dim for (maker, _), spec in specs.items() if maker == index for dim in spec.graded}
        node = report.nodes.get(index)
        if before and node is not None and isinstance(node.op, Model):
            continue  # what a model makes of a size is not picked
        for name in sorted(made.keys() - before):
            other, dim = picked.setdefault(name, (index, made[name]))
            shared = dim == made[name] and not {index, other} & report.nodes.keys()
            if other != index and not shared:
                message = f"{report.place(index)} picks a size {name}, and so does {report.place(other)}"
                fix = "let one op pick the size of a sample, and give the other one a fixed size"
                report.add("G19", report.entries[index].where, message, fix)
                break


def _check_open(report: Report, edges: Edges, specs: Specs) -> None:
    """G15: an output of a model that is used, but whose size the data decides: it has no buffer."""
    used = {ref for given in edges.values() for ref in given.values()}
    used |= {output.ref for output in report.declaration.outputs}
    for (index, name), spec in specs.items():
        node = report.nodes.get(index)
        if node is None or not isinstance(node.op, Model) or not any(isinstance(dim, str) for dim in spec.shape):
            continue
        is_first = name == node.op.output_names[0]
        if name and used.intersection({(index, name)} | ({(index, "")} if is_first else set())):
            message = f"{report.place(index)}: the data decides the size of output '{name}', {spec}"
            fix = "export the model up to where its sizes are fixed (without its NMS, say), and put an op behind it"
            report.add("G15", node.where, message, fix)


def check_models(report: Report, edges: Edges, specs: Specs, deployment: Deployment | None) -> None:
    """G18: settings that do not fit the models. G20: models that settings cannot tell apart. G52: a fixed batch."""
    models = {i: node.op for i, node in report.nodes.items() if isinstance(node.op, Model)}
    first: dict[str, int] = {}
    for index, model in models.items():
        other = first.setdefault(model.model_name, index)
        if models[other].file != model.file:
            place = report.entries[other].where
            message = f"{report.place(index)}: the model at {place} is called '{model.model_name}' too"
            fix = "a setting by that name sets both; give one a name of its own: Model(path, name=...)"
            report.add("G20", report.nodes[index].where, message, fix, "advice")
    for index, model in models.items():
        fixed = model.fixed_batch if (index, "") in specs else None
        gears = deployment.gears_of(model.model_name) if deployment is not None else (fixed,)
        if fixed is not None and gears == (fixed,):
            report.findings.append(fixed_batch_note(model, fixed, str(report.nodes[index].where)))
        elif fixed is not None:
            message = f"{report.place(index)}: the model's batch is fixed to {fixed}, the gears are {gears}"
            fix = f"compile with gears=({fixed},) (--gears {fixed}), or {free_the_batch(model)}"
            report.add("G18", report.nodes[index].where, message, fix)
    if deployment is None:
        return
    _check_preferred(report, edges, specs, deployment)
    known = [model.model_name for model in models.values()]
    for field, names in deployment.named_models().items():
        for name in names:
            if name not in known:
                message = f"{field} names the model '{name}', which is not in this pipeline"
                report.add("G18", report.declaration.where, message, near(name, known))


def _check_preferred(report: Report, edges: Edges, specs: Specs, deployment: Deployment) -> None:
    """Batches that are to be preferred, and are no gear of a model; one with sizes takes any number of them."""
    gears: set[int] = set()
    for index, node in report.nodes.items():
        sized = any(specs[ref].graded for ref in edges.get(index, {}).values() if ref in specs)
        if isinstance(node.op, Model) and not sized:
            gears.update(deployment.gears_of(node.op.model_name))
    odd = [size for size in deployment.batching.preferred if size not in gears]
    if gears and odd:
        shown, known = (", ".join(map(str, sizes)) for sizes in (odd, sorted(gears)))
        above = f"above {max(gears)} none is merged" if min(odd) > max(gears) else "each costs as much as the next gear"
        message = f"batching.preferred has {shown}, and the gears are {known}: {above}"
        fix = f"prefer some of the gears, or compile with gears={tuple(sorted(gears.union(odd)))}"
        report.add("G18", report.declaration.where, message, fix, "advice")
