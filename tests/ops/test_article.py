from __future__ import annotations

from collections import OrderedDict

import numpy as np

from ops.article import kind


def test_a_type_has_the_article_of_its_first_letter() -> None:
    assert kind(1) == "an int"
    assert kind(OrderedDict()) == "an OrderedDict"
    assert kind(None) == "a NoneType"
    assert kind(np.zeros(1)) == "a ndarray"  # en-dee-array, but nobody can know
    assert kind(b"") == "a bytes"
