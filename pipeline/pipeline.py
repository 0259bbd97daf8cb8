"""Pipeline: collects what the user declares. Nothing is checked before validate."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ge_engine.progress import Progress
from ops import DeclarationError, Edge, Finding, TensorSpec, Where
from ops.op import Call, not_an_edge
from ops.where import caller

from .declaration import Constant, Declaration, Entry, Input, Node, Output, Ref
from .deployment import Deployment

if TYPE_CHECKING:
    from .graph import Graph
    from .plan import Plan


class Pipeline:
    """A DAG of ops and models, declared once.

    >>> import ops
    >>> pipeline = Pipeline("invert")
    >>> x = pipeline.input("x", ops.TensorSpec("float32", (4,)))
    >>> pipeline.output(y=ops.Softmax()(x))
    >>> print(pipeline.validate())
    invert: x float32[4] -> y float32[4]
    """

    def __init__(self, name: str) -> None:
        self._declaration = Declaration(name, caller())

    @property
    def name(self) -> str:
        return self._declaration.name

    @property
    def declaration(self) -> Declaration:
        """What has been declared so far."""
        return self._declaration

    def input(self, name: str, spec: TensorSpec) -> Edge:
        """A value that every sample brings: `session.run(name=...)`."""
        where = caller()
        if not isinstance(spec, TensorSpec):
            raise DeclarationError(
                f"input {name!r}: {spec!r} is not a spec",
                fix='give ops.ENCODED_IMAGE, ops.TEXT or ops.TensorSpec("float32", (3, 224, 224))',
                where=str(where),
            )
        return self._entry(Input(name, spec, where))

    def constant(self, name: str, array: Any) -> Edge:
        """A value that is the same for every sample; an array, or what numpy makes one of. It is copied."""
        where = caller()
        try:
            copy = np.array(array, order="C", ndmin=1)
        except (ValueError, TypeError) as error:
            raise DeclarationError(
                f"constant {name!r}: {error}", fix="give an array, all its rows of one length", where=str(where)
            ) from error
        copy = copy.astype(copy.dtype.newbyteorder("="), copy=False)
        copy.flags.writeable = False
        return self._entry(Constant(name, copy, where))

    def output(self, /, **edges: Edge) -> None:
        """Name the values that every answer holds. May be called more than once."""
        where = caller()
        for name, edge in edges.items():
            if not isinstance(edge, Edge):
                raise not_an_edge(f"output {name!r}", edge, where)
            self._declaration.outputs.append(Output(name, self._ref(edge, where, f"output '{name}'"), where))

    def add(self, call: Call) -> int:
        """Take an op called on edges; the number of its node. (Ops call this; a user calls the op.)"""
        reader = type(call.op).__name__
        inputs = tuple(self._ref(edge, call.where, f"{reader}, input {i + 1}") for i, edge in enumerate(call.inputs))
        named = {name: self._ref(edge, call.where, f"{reader}, input {name}") for name, edge in call.named.items()}
        return self._entry(Node(call.op, inputs, named, call.name, call.where)).node

    def validate(self, deployment: Deployment | None = None) -> Graph:
        """The frozen, typed graph.

        Errors: ValidationError, with every problem at once. The declaration stays usable.
        """
        from .validation import validate  # as below: a file that declares a pipeline is read at once

        return validate(self._declaration, deployment)

    def compile(
        self,
        deployment: Deployment | None = None,
        *,
        progress: Progress | bool | None = None,
        cache: bool = True,
        **fields: Any,
    ) -> Plan:
        """Validate, and build the static graph of every gear. Takes a Deployment or its fields.

        progress: True shows a bar on the error output while something is built, where that is a terminal; a function is
        called with what is being done, how much is done, and of how much.
        cache: whether what was built before is taken from the compile cache, and what is built now is kept there. One
        that cannot be used is warned of.
        Errors: ValidationError; BuildError naming the stage.
        """
        from .plan import Plan, told

        settings = Deployment.of(deployment, **fields)
        graph = self.validate(settings)
        with told(progress) as show:
            plan = Plan.of(graph, settings, show, cache=cache)
        if plan.uncached:
            warnings.warn(plan.uncached, stacklevel=2)
        return plan

    def _entry(self, entry: Entry) -> Edge:
        self._declaration.entries.append(entry)
        return Edge(self, len(self._declaration.entries) - 1)

    def _ref(self, edge: Edge, where: Where, reader: str) -> Ref | None:
        if edge.sink is self:
            return edge.node, edge.output
        other = getattr(edge.sink, "name", "?")
        message = f"{reader} of pipeline '{self.name}' is an edge of pipeline '{other}'"
        fix = f"declare what makes it in '{self.name}' too, and pass that"
        self._declaration.findings.append(Finding("G09", "refused", str(where), message, fix))
        self._declaration.incomplete = True
        return None
