"""validate: a declaration to a Graph, or one report of everything that is wrong with it.

A consequence of a finding is not a finding: what follows from an unknown spec is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import networkx

from ge_engine.model import Model
from ops import Finding, ModelError, SpecError, TensorSpec, ValidationError, Where
from ops.host_stage import Step

from .declaration import Constant, Declaration, Entry, Input, Node, Output, Ref
from .deployment import Deployment
from .graph import Graph, GraphInput, GraphOutput
from .near import near

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]*")
Specs = dict[Ref, TensorSpec]


def validate(declaration: Declaration, deployment: Deployment | None = None) -> Graph:
    """The Graph of a declaration; with a Deployment, its gears are checked too.

    Errors: ValidationError with all findings, in the order of the user's file.
    """
    return _Validation(declaration, deployment).graph()


class _Validation:
    """One pass over a declaration. Each check adds its findings; what it could not find out stays unknown."""

    def __init__(self, declaration: Declaration, deployment: Deployment | None) -> None:
        self.declaration = declaration
        self.deployment = deployment
        self.entries = declaration.entries
        self.nodes = {i: entry for i, entry in enumerate(self.entries) if isinstance(entry, Node)}
        self.findings = list(declaration.findings)
        self.names = self._name_all()
        self.edges: dict[int, dict[str, Ref | None]] = {}  # node -> its op's input name -> what feeds it
        self.specs: Specs = {}

    def graph(self) -> Graph:
        self._check_names()
        self._check_outputs()
        self._bind_inputs()
        order = self._order()
        self._check_use()
        for index in order:
            self._infer(index)
        self._check_models()
        refused = [finding for finding in self.findings if finding.severity != "advice"]
        if refused:
            raise ValidationError(f"pipeline '{self.declaration.name}'", sorted(self.findings, key=_in_file_order))
        return self._freeze(order)

    def add(self, rule: str, where: Where, message: str, fix: str, severity: str = "refused") -> None:
        self.findings.append(Finding(rule, severity, str(where), message, fix))

    def place(self, index: int) -> str:
        node = self.nodes[index]
        return f"node '{self.names[index]}' ({type(node.op).__name__})"

    # ---- names

    def _name_all(self) -> dict[int, str]:
        """Every entry's name; a node without one gets its op's, numbered where that is taken."""
        names = {i: entry.name for i, entry in enumerate(self.entries) if entry.name is not None}
        taken = set(names.values())
        for index, node in self.nodes.items():
            if node.name is None:
                name, count = node.op.default_name, 1
                while name in taken:
                    count += 1
                    name = f"{node.op.default_name}_{count}"
                names[index] = name
                taken.add(name)
        return names

    def _check_names(self) -> None:
        first: dict[str, Entry] = {}
        for index, entry in enumerate(self.entries):
            name = self.names[index]
            kind = type(entry).__name__.lower()
            if not isinstance(name, str) or not NAME.fullmatch(name) or (name == "name" and isinstance(entry, Input)):
                fix = "use letters, digits, _ and -, beginning with a letter" + (
                    "; not 'name'" if name == "name" else ""
                )
                if not (isinstance(entry, Node) and entry.name is None):
                    self.add("G17", entry.where, f"{kind} {name!r} has a name that cannot be used", fix)
            if name in first:
                self.add(
                    "G01",
                    entry.where,
                    f"{kind} '{name}' has the name of the {type(first[name]).__name__.lower()} at {first[name].where}",
                    "give each input, constant and node a name of its own",
                )
            else:
                first[name] = entry

    # ---- outputs

    def _check_outputs(self) -> None:
        declaration = self.declaration
        if not declaration.outputs:
            self.add(
                "G08", declaration.where, f"pipeline '{declaration.name}' has no output", "call pipeline.output(...)"
            )
        if not any(isinstance(entry, Input) for entry in self.entries):
            self.add(
                "G08", declaration.where, f"pipeline '{declaration.name}' has no input", "call pipeline.input(...)"
            )
        if not NAME.fullmatch(declaration.name):
            fix = "use letters, digits, _ and -, beginning with a letter"
            self.add("G17", declaration.where, f"pipeline {declaration.name!r} has a name that cannot be used", fix)
        inputs = {entry.name: entry for entry in self.entries if isinstance(entry, Input)}
        first: dict[str, Output] = {}
        for output in declaration.outputs:
            if output.name in first:
                message = f"output '{output.name}' is named at {first[output.name].where} too"
                self.add("G07", output.where, message, "give each output a name of its own")
            elif output.name in inputs:
                message = f"output '{output.name}' has the name of the input at {inputs[output.name].where}"
                self.add("G16", output.where, message, "rename one: a server would feed the output back as the input")
            elif output.ref is not None and not isinstance(self.entries[output.ref[0]], Node):
                source = self.names[output.ref[0]]
                message = f"output '{output.name}' is '{source}' itself, which no node makes"
                self.add("G21", output.where, message, "leave it out, or put an op between")
            first.setdefault(output.name, output)

    # ---- inputs of nodes

    def _bind_inputs(self) -> None:
        """Which edge feeds which input of each op. A Model's names come from its file."""
        for index, node in self.nodes.items():
            try:
                wanted = node.op.input_names
            except ModelError as error:
                rule = "G14" if "there is no file" in error.message else "G15"
                self.add(rule, node.where, f"{self.place(index)}: {error.message}", error.fix)
                continue
            edges = dict(zip(wanted, node.inputs))
            surplus = node.inputs[len(wanted) :]
            if surplus:
                count = f"{len(node.inputs)} inputs given, {len(wanted)} taken"
                self.add("G03", node.where, f"{self.place(index)}: {count}", f"it takes {', '.join(wanted)}")
            unknown = [name for name in node.named if name not in wanted]
            for name in unknown:
                message = f"{self.place(index)} has no input '{name}'"
                self.add("G02", node.where, message, near(name, [w for w in wanted if w not in edges]))
            for name in (name for name in node.named if name in wanted):
                if name in edges:
                    self.add("G03", node.where, f"{self.place(index)}: input '{name}' is given twice", "give it once")
                edges[name] = node.named[name]
            missing = [name for name in wanted if name not in edges]
            if missing and not unknown:
                message = f"{self.place(index)}: no edge for input {', '.join(repr(name) for name in missing)}"
                self.add("G03", node.where, message, f"it takes {', '.join(wanted)}")
            if not (missing or unknown or surplus):
                self.edges[index] = edges

    def _sources(self, index: int) -> Iterable[int]:
        node = self.nodes[index]
        return (ref[0] for ref in (*node.inputs, *node.named.values()) if ref is not None)

    def _order(self) -> list[int]:
        """Nodes in topological order, the user's own where there is a choice; without those on or behind a cycle."""
        dag: networkx.DiGraph[int] = networkx.DiGraph()
        dag.add_nodes_from(self.nodes)
        dag.add_edges_from((s, i) for i in self.nodes for s in self._sources(i) if s in self.nodes)
        stuck: set[int] = set()
        for component in networkx.strongly_connected_components(dag):
            first = min(component)
            if len(component) == 1 and not dag.has_edge(first, first):
                continue
            cycle = [edge[0] for edge in networkx.find_cycle(dag.subgraph(component), first)]
            text = " -> ".join(f"'{self.names[i]}'" for i in (*cycle, cycle[0]))
            self.add(
                "G04", self.nodes[first].where, f"a cycle: {text}", "a value cannot depend on itself; cut one edge"
            )
            stuck |= component | set(networkx.descendants(dag, first))
        dag.remove_nodes_from(stuck)
        return list(networkx.lexicographical_topological_sort(dag))

    def _check_use(self) -> None:
        """What leads to no output: the last node of a dead end, and inputs and constants that nothing reads."""
        read = {source for index in self.nodes for source in self._sources(index)}
        read |= {output.ref[0] for output in self.declaration.outputs if output.ref is not None}
        for index, entry in enumerate(self.entries):
            if index in read:
                continue
            if isinstance(entry, Node):
                message = f"{self.place(index)} leads to no output"
                self.add("G05", entry.where, message, "use what it makes, name it in pipeline.output, or remove it")
            else:
                kind = type(entry).__name__.lower()
                self.add("G06", entry.where, f"{kind} '{self.names[index]}' is not used", "use it, or remove it")

    # ---- specs

    def _infer(self, index: int) -> None:
        edges = self.edges.get(index)
        if edges is None:
            return
        node = self.nodes[index]
        specs: dict[str, TensorSpec] = {}
        for name, ref in edges.items():
            spec = None if ref is None else self._spec(ref, index)
            if spec is None:
                return
            specs[name] = spec
        try:
            result = node.op.infer(*specs.values())
            names = node.op.output_names
        except SpecError as error:
            rule = error.rule or ("G12" if error.input else "G13")
            at = f", input {error.input}" if error.input else ""
            self.add(rule, node.where, f"{self.place(index)}{at}: {error.message}", error.fix)
            return
        except ModelError as error:
            self.add("G15", node.where, f"{self.place(index)}: {error.message}", error.fix)
            return
        except Exception as error:  # the user's own op
            message = f"{self.place(index)}: infer failed: {type(error).__name__}: {error}"
            self.add("G23", node.where, message, "mend infer; it takes and returns TensorSpec")
            return
        made = result if isinstance(result, tuple) else (result,)
        if len(made) != len(names) or not all(isinstance(spec, TensorSpec) for spec in made):
            message = f"{self.place(index)}: infer returned {result!r}, declared {len(names)} outputs"
            self.add("G23", node.where, message, "return a TensorSpec for each output")
            return
        for name, spec in zip(names, made):
            self.specs[index, name] = spec
        self.specs[index, ""] = made[0]

    def _spec(self, ref: Ref, reader: int) -> TensorSpec | None:
        source, output = ref
        entry = self.entries[source]
        if isinstance(entry, Input):
            return entry.spec
        if isinstance(entry, Constant):
            try:
                return TensorSpec(entry.array.dtype, entry.array.shape)
            except SpecError as error:
                self.add("G13", entry.where, f"constant '{entry.name}': {error.message}", error.fix)
                return None
        if ref not in self.specs and (source, "") in self.specs:
            known = [name for (index, name) in self.specs if index == source and name]
            message = f"{self.place(source)} has no output '{output}'"
            self.add("G02", self.nodes[reader].where, message, near(output, known))
        return self.specs.get(ref)

    # ---- models and gears

    def _check_models(self) -> None:
        models = {i: node.op for i, node in self.nodes.items() if isinstance(node.op, Model) and (i, "") in self.specs}
        for index, model in models.items():
            fixed = model.fixed_batch
            batches = self.deployment.gears_of(model.model_name) if self.deployment else ()
            if fixed is not None and batches not in ((), (fixed,)):
                message = f"{self.place(index)}: the model's batch is fixed to {fixed}, the gears are {batches}"
                self.add(
                    "G18", self.nodes[index].where, message, f"compile with gears=({fixed},), or export the model anew"
                )
        known = [node.op.model_name for node in self.nodes.values() if isinstance(node.op, Model)]
        for field, names in self.deployment.named_models().items() if self.deployment else ():
            for name in names:
                if name not in known:
                    where = self.declaration.where
                    self.add("G18", where, f"{field} names the model {name!r}, which is not here", near(name, known))

    # ---- the result

    def _freeze(self, order: list[int]) -> Graph:
        keys = self._keys(order)
        steps = tuple(
            Step(
                self.names[index],
                self.nodes[index].op,
                tuple(keys[ref] for ref in self.edges[index].values() if ref is not None),
                tuple((keys[index, name], name, self.specs[index, name]) for name in self.nodes[index].op.output_names),
                str(self.nodes[index].where),
            )
            for index in order
        )
        return Graph(
            self.declaration.name,
            self.declaration.where,
            tuple(GraphInput(e.name, e.spec, e.where) for e in self.entries if isinstance(e, Input)),
            {e.name: e.array for e in self.entries if isinstance(e, Constant)},
            steps,
            tuple(
                GraphOutput(output.name, keys[output.ref], self.specs[output.ref], output.where)
                for output in self.declaration.outputs
                if output.ref is not None
            ),
            tuple(self.findings),
        )

    def _keys(self, order: list[int]) -> dict[Ref, str]:
        keys: dict[Ref, str] = {(i, ""): self.names[i] for i in range(len(self.entries)) if i not in self.nodes}
        count: dict[str, int] = {}
        for index in order:
            if isinstance(self.nodes[index].op, Model):
                for name in self.nodes[index].op.output_names:
                    count[name] = count.get(name, 0) + 1
        taken = set(self.names.values())
        for index in order:
            node, op = self.names[index], self.nodes[index].op
            for name in op.output_names:
                own = isinstance(op, Model) and count[name] == 1 and name not in taken
                keys[index, name] = name if own else f"{node}.{name}" if name else node
            keys.setdefault((index, ""), keys[index, op.output_names[0]])
        return keys


def _in_file_order(finding: Finding) -> tuple[str, int]:
    file, _, line = finding.where.rpartition(":")
    return (file, int(line)) if line.isdigit() else (finding.where, 0)
