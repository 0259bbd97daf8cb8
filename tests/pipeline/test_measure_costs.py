from __future__ import annotations

from pathlib import Path

import pytest

from pipeline import costs
from pipeline.measure_costs import measured_costs


def test_every_op_of_the_table_is_measured_in_both_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEPIPE_CACHE", str(tmp_path))
    table = measured_costs()
    assert set(table.host) == set(table.graph) == set(costs.Costs("").host)
    assert all(value > 0 for value in (*table.host.values(), *table.graph.values(), table.call, table.byte))
    costs.keep(table)
    assert costs.measured_before() == table
