from __future__ import annotations

import pytest

from ops import DeclarationError, Edge, Softmax
from ops.op import Call


class Sink:
    def add(self, call: Call) -> int:
        return 1


def test_an_edge_given_as_the_name_is_said_to_be_one() -> None:
    """A model may have an input that is called name; by name it cannot be reached."""
    with pytest.raises(DeclarationError, match="Softmax: name= is given an edge, but it names the node") as error:
        Softmax()(name=Edge(Sink(), 0))  # type: ignore[arg-type]  # what a user does
    assert error.value.fix == "pass the edge by position"
    assert error.value.where.partition(":")[0].endswith("test_op.py")
