from __future__ import annotations

from pathlib import Path

import numpy as np
import tiny

from pipeline.compare.recording import Recording


def test_what_goes_into_a_stage_is_kept_as_it_was(tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1, 2))
    device, samples = Recording(), tiny.vectors(3)
    with plan.session(device) as session:
        device.runs.clear()
        answers = session.run_batch(samples)
    assert [(stage, gear.batch) for stage, gear, _ in device.runs] == [("dense", 2), ("dense", 1)]
    rows = np.concatenate([feeds["scale"] for _, _, feeds in device.runs])
    np.testing.assert_array_equal(rows, [2 * sample["x"] for sample in samples])
    with plan.session() as session:
        plain = session.run_batch(samples)
    assert [a["y"].tolist() for a in answers if isinstance(a, dict)] == [
        a["y"].tolist() for a in plain if isinstance(a, dict)
    ]
