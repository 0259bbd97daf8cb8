"""Validation: a declaration to a Graph, or one report of everything that is wrong with it.

A consequence of a finding is not a finding: behind a refused node, only attributes are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

from ops import Finding
from ops.host_stage import Step

from .declaration import Constant, Declaration, Input
from .deployment import Deployment
from .graph import Graph, GraphOutput
from .names import check_names, name_values
from .report import Report
from .sense import check_sense
from .specs import Specs, check_models, infer_specs
from .wiring import Edges, bind_inputs, check_outputs, check_use, in_order


def validate(declaration: Declaration, deployment: Deployment | None = None) -> Graph:
    """The Graph of a declaration; with a Deployment, its gears are checked too.

    Errors: ValidationError with all findings, in the order of the user's files. The declaration stays as it is.
    """
    report = Report(declaration)
    check_names(report)
    check_outputs(report)
    edges = bind_inputs(report)
    order = in_order(report)
    check_use(report, edges)
    specs = infer_specs(report, edges, order)
    check_sense(report, edges, specs)
    check_models(report, edges, specs, deployment)
    advice = report.close()
    return _freeze(report, edges, order, specs, advice)


def _freeze(report: Report, edges: Edges, order: Sequence[int], specs: Specs, advice: tuple[Finding, ...]) -> Graph:
    keys = name_values(report, order)
    return Graph(
        report.declaration.name,
        report.declaration.where,
        tuple(entry for entry in report.entries if isinstance(entry, Input)),
        {e.name: e.array for e in report.entries if isinstance(e, Constant)},
        tuple(
            Step(
                report.names[index],
                report.nodes[index].op,
                tuple(keys[ref] for ref in edges[index].values() if ref is not None),
                tuple((keys[index, name], name, specs[index, name]) for name in report.nodes[index].op.output_names),
                str(report.nodes[index].where),
            )
            for index in order
        ),
        tuple(
            GraphOutput(output.name, keys[output.ref], specs[output.ref], output.where)
            for output in report.declaration.outputs
            if output.ref is not None
        ),
        advice,
    )
