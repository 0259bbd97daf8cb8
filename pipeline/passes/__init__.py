"""Passes: a validated graph, changed so that it gives the same answers for less. One a file, in the order of their use.

A pass takes a graph and the deployment, and returns another graph and what it changed. It requires a validated graph;
what every pass ensures is in `promise.py`, and is asserted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..deployment import Deployment
from ..graph import Graph
from ..stages import Placement
from .change import Change
from .cut import cut
from .order import order
from .place import place
from .promise import assert_kept
from .share import share

__all__ = ["Change", "Compiled", "compiled", "walk"]

PASSES = (share, order, cut)


class Compiled(NamedTuple):
    """A graph that is ready to be cut into stages. placed: what runs on the device. changes: what the passes did."""

    graph: Graph
    placed: Placement
    changes: tuple[Change, ...]


def compiled(graph: Graph, deployment: Deployment) -> Compiled:
    """All passes; with exact=True only what keeps every byte."""
    *_, (_, done) = walk(graph, deployment)
    return done


def walk(graph: Graph, deployment: Deployment) -> Iterator[tuple[str, Compiled]]:
    """Each pass by its name, and what there is after it. Only the last, place, says what is placed."""
    changes: tuple[Change, ...] = ()
    for run in PASSES:
        before = graph
        graph, found = run(graph, deployment)
        assert_kept(before, graph)
        changes += found
        yield run.__name__, Compiled(graph, {}, changes)
    before = graph
    graph, placed, found = place(graph, deployment)
    assert_kept(before, graph)
    yield place.__name__, Compiled(graph, placed, (*changes, *found))
