"""Place: where the items of a row stand, their order given: so that wires go as little as possible to the sides.

It is a linear program: the sum of all sideways ways, under the least distances of neighbours. Its dual is a flow of
least cost, which networkx solves; the places are the potentials of that flow.
Source: Gansner, Koutsofios, North and Vo 1993, section 4.2.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import networkx

from .paper import FRAME, GAP, Group, Paper

_PARTS = 8  # of a pixel
_WIRE, _STRAIGHT, _NARROW = 4, 16, 1  # what a pixel costs: of a wire, of one that only passes, of a frame's width


def place(paper: Paper) -> None:
    """Move every item to its place, within the order of its row and of its band."""
    program = Program()
    for band in paper.bands:
        for before, after in zip((None, *band), band):
            _keep_apart(program, before, after)
            for row in after.rows.values():
                for left, right in pairwise(row):
                    program.keep(left, right, (left.width + right.width) / 2 + GAP)
    for number, (upper, lower) in enumerate(paper.links()):
        passes = upper.box is None and lower.box is None
        weight = _STRAIGHT if passes else _WIRE
        for item, other in ((upper, lower), (lower, upper)):  # to the leftmost point of the two, so their distance
            program.keep(number, item, item.x - item.anchor(other), weight)
    places = program.solved()
    for item in paper.all_items():
        item.x = places[item]


def _keep_apart(program: Program, before: Group | None, group: Group) -> None:
    """A group's sides around all that is in it, and the group before on its left."""
    left, right = ("left", group), ("right", group)
    frame = FRAME if group.frame is not None else 0.0
    for item in group.items:
        program.keep(left, item, item.width / 2 + frame + group.gutter)
        program.keep(item, right, item.width / 2 + frame)
    program.keep(left, right, 0.0, _NARROW)
    if before is not None:
        program.keep(("right", before), left, GAP)


class Program:
    """Unknowns are any objects that can be keys. Distances are rounded up to parts of a pixel: flows are whole."""

    def __init__(self) -> None:
        self._graph: networkx.DiGraph[Any] = networkx.DiGraph()

    def keep(self, left: Any, right: Any, gap: float, weight: int = 0) -> None:
        """right - left is at least the gap, and costs so much a pixel."""
        whole = math.ceil(gap * _PARTS)
        old = self._graph.get_edge_data(left, right, {"gap": whole, "cost": 0})
        self._graph.add_edge(left, right, gap=max(whole, old["gap"]), cost=old["cost"] + weight)

    def solved(self) -> dict[Any, float]:
        """The values of all unknowns."""
        graph = self._graph
        flow_graph: networkx.DiGraph[Any] = networkx.DiGraph()
        for node in graph:
            into = sum(data["cost"] for _, _, data in graph.in_edges(node, data=True))
            out = sum(data["cost"] for _, _, data in graph.out_edges(node, data=True))
            flow_graph.add_node(node, demand=into - out)
        flow_graph.add_edges_from((a, b, {"weight": -data["gap"]}) for a, b, data in graph.edges(data=True))
        _, flow = networkx.network_simplex(flow_graph)
        ways: networkx.DiGraph[Any] = networkx.DiGraph()
        root = object()
        for a, b, data in graph.edges(data=True):
            ways.add_edge(a, b, weight=-data["gap"])
        for a, b, data in graph.edges(data=True):
            if flow[a][b] and not ways.has_edge(b, a):
                ways.add_edge(b, a, weight=data["gap"])  # what carries a flow is exactly so long
        ways.add_edges_from((root, node, {"weight": 0}) for node in graph)
        lengths = networkx.single_source_bellman_ford_path_length(ways, root)
        return {node: -length / _PARTS for node, length in lengths.items() if node is not root}
