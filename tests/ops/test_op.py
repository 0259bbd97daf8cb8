from __future__ import annotations

import operator
from typing import Any, cast

import numpy as np
import pytest

from ops import DeclarationError, Edge, Op, Resize, Softmax, TopK
from ops.op import Call

x = Edge(cast(Any, None), 0)


class Sink:
    def add(self, call: Call) -> int:
        return 1


def test_an_edge_given_as_the_name_is_said_to_be_one() -> None:
    """A model may have an input that is called name; by name it cannot be reached."""
    with pytest.raises(DeclarationError, match="Softmax: name= is given an edge, but it names the node") as error:
        Softmax()(name=Edge(Sink(), 0))  # type: ignore[arg-type]  # what a user does
    assert error.value.fix == "pass the edge by position"
    assert error.value.where.partition(":")[0].endswith("test_op.py")


@pytest.mark.parametrize(
    "use",
    [
        lambda edge: edge / 255,
        lambda edge: 1 - edge,
        lambda edge: edge + edge,
        lambda edge: -edge,
        lambda edge: edge > 0.5,
        lambda edge: np.float32(2) * edge,
        lambda edge: np.ones(3) @ edge,
        lambda edge: edge[0],
        operator.methodcaller("__rpow__", 2),
        lambda edge: list(edge),
        lambda edge: max(*edge),
    ],
)
def test_an_edge_that_is_used_as_an_array_says_what_to_do(use: Any) -> None:
    with pytest.raises(DeclarationError, match="an edge stands for a value of every sample") as error:
        use(x)
    assert "ops.Normalize" in error.value.fix
    assert error.value.where.partition(":")[0].endswith("test_op.py")


def test_edges_are_still_compared_by_identity_and_kept_in_sets() -> None:
    assert x in {x}
    assert x != Edge(x.sink, x.node)


@pytest.mark.parametrize(
    ("make", "message", "fix"),
    [
        (lambda: Resize(sizes=((64, 64),)), "Resize has no setting 'sizes'", "ops.Letterbox has it; Resize has "),  # type: ignore[call-arg]
        (lambda: TopK(kk=5), "TopK has no setting 'kk'", "did you mean 'k'?"),  # type: ignore[call-arg]
        (lambda: Softmax(temperature=2), "Softmax has no setting 'temperature'", "use axis"),  # type: ignore[call-arg]
    ],
)
def test_a_setting_that_an_op_does_not_have_is_named_with_the_one_that_was_meant(
    make: Any, message: str, fix: str
) -> None:
    with pytest.raises(DeclarationError, match=message) as error:
        make()
    assert fix in error.value.fix
    assert error.value.where.partition(":")[0].endswith("test_op.py")


def test_a_users_op_that_is_no_dataclass_yet_says_so() -> None:
    class Gamma(Op[Edge]):
        gamma: float

    with pytest.raises(DeclarationError, match="Gamma takes no settings") as error:
        Gamma(2.2)
    assert error.value.fix.startswith("put @dataclass(frozen=True) above class Gamma")
    assert Gamma()


def test_a_users_op_may_have_an_init_of_its_own() -> None:
    class Free(Op[Edge]):
        def __init__(self, **settings: Any) -> None:
            self.settings = settings

    assert Free(anything=1).settings == {"anything": 1}


def test_an_op_that_was_not_called_is_told_from_an_edge() -> None:
    with pytest.raises(DeclarationError, match="TopK, input 1: Softmax is not called") as error:
        TopK(k=1)(Softmax(x))  # type: ignore[arg-type]  # what a user does
    assert error.value.fix.startswith("call it on what it reads: Softmax(...)(x)")
