"""Many exports, and exports of any valid pipeline, in one server."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import tiny
from hypothesis import HealthCheck, Phase, given, seed, settings
from random_pipelines import Declaration, declarations
from served import ask
from triton_servers import Start

from ge_engine import Model
from pipeline import Pipeline, Plan
from pipeline.triton.golden import golden_files
from pipeline.triton.lint import lint
from pipeline.triton.repository import export
from pipeline.triton.verify_client import check

pytestmark = pytest.mark.triton
TOO_SLOW = list(HealthCheck)  # none matters: what is drawn is compiled once, and is right
heavy = pytest.mark.skipif("GEPIPE_HEAVY" not in os.environ, reason="takes minutes: set GEPIPE_HEAVY")


def drawn(count: int, folder: Path) -> list[tuple[Plan, list[dict[str, Any]]]]:
    """So many random pipelines, compiled, each with two samples."""
    made = []

    @seed(2026)
    @settings(max_examples=count, phases=[Phase.generate], database=None, deadline=None, suppress_health_check=TOO_SLOW)
    @given(declarations())
    def draw(declaration: Declaration) -> None:
        made.append(declaration.compile(folder, f"p{len(made)}"))

    draw()
    return made


@pytest.mark.parametrize(("target", "count"), [("24.02", 30), ("24.10", 6)])
def test_any_valid_pipeline_exports_lints_clean_loads_and_answers(
    target: str, count: int, tmp_path: Path, triton_server: Start
) -> None:
    root = tmp_path / "models"
    made = drawn(count, tmp_path)
    assert len(made) == count
    for plan, samples in made:
        export(plan, root, samples=samples)
    assert [str(finding) for finding in lint(root, target) if finding.severity != "advice"] == []
    server = triton_server(root, target=target)
    assert {row.state for row in server.rest.index()} == {"READY"}
    assert len(golden_files(root)) == count
    for golden in golden_files(root):
        rows = check(server.url, json.loads(golden.read_text()), exact=True)
        assert [row for row in rows if not row.ok] == [], golden


@heavy
def test_100_exports_load_in_one_server_and_all_answer(tmp_path: Path, triton_server: Start) -> None:
    plans = [_plan(tmp_path, number) for number in range(100)]
    root = tmp_path / "models"
    start = time.perf_counter()
    for plan in plans:
        export(plan, root)
    exporting_s = time.perf_counter() - start
    start = time.perf_counter()
    server = triton_server(root)
    loading_s = time.perf_counter() - start
    leader = psutil.Process(server.pid)
    nbytes = sum(process.memory_full_info().pss for process in (leader, *leader.children(recursive=True)))
    x = np.linspace(-1, 1, 8, dtype=np.float32)
    for plan in plans:
        with plan.session() as session:
            want = session.run(x=x)["y"]
        assert ask(server.url, plan.graph.name, {"x": x[None]})["y"].tobytes() == want.tobytes()
    print(f"export {exporting_s:.1f} s; load {loading_s / 100:.2f} s and {nbytes / 1e8:.1f} MB each")
    assert exporting_s < 5


def _plan(folder: Path, number: int) -> Plan:
    """One of ten has a host stage."""
    pipeline = Pipeline(f"p{number}")
    x = pipeline.input("x", tiny.VECTOR)
    model = Model(tiny.vector_model(folder, f"model{number}", seed=number))
    pipeline.output(y=model(x if number % 10 else tiny.Scale(2.0)(x)))
    return pipeline.compile(gears=(1, 2, 4))
