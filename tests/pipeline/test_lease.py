from __future__ import annotations

from pathlib import Path

import pytest
import tiny

from ge_engine import Model
from ge_engine.devices import NullDevice
from ops import DeviceError, GepipeError, SampleError, TensorSpec
from pipeline import Pipeline, Plan


def test_a_lease_is_the_device_stages_own_buffers(plan: Plan) -> None:
    samples = tiny.vectors(2)
    with plan.session() as session:
        solo = session.run_batch(samples)
        with session.lease() as context:
            for row, sample in enumerate(samples):
                context.inputs["scale"][row] = 2 * sample["x"]
            context.run(2)
            assert [row.tobytes() for row in context.outputs["y"][:2]] == [a["y"].tobytes() for a in solo]  # type: ignore[index]
        with pytest.raises(SampleError, match="the lease is over"):
            context.run(1)


def test_a_lease_of_what_is_not_there_says_what_is(plan: Plan, sized: Plan) -> None:
    with plan.session() as session:
        with pytest.raises(SampleError, match="no device stage 'densee'") as error, session.lease("densee"):
            pass
        assert "did you mean 'dense'" in str(error.value)
        with session.lease() as context, pytest.raises(SampleError, match="run 1 to 8 rows"):
            context.run(9)
    wanted = pytest.raises(SampleError, match=r"the sizes are \(32, 32\), \(32, 16\)")
    with sized.session() as session, wanted, session.lease(size=(1, 1)):
        pass


def test_a_thread_that_holds_every_context_is_told_instead_of_waiting_for_itself(plan: Plan) -> None:
    (sample,) = tiny.vectors(1)
    refused = pytest.raises(DeviceError, match="holds all execution contexts")
    with plan.session() as session, session.lease(), session.lease(), session.lease(), refused:
        session.run(**sample)


def test_closing_inside_a_lease_is_refused(plan: Plan) -> None:
    with plan.session() as session, session.lease(), pytest.raises(GepipeError, match="closed inside a lease"):
        session.close()


def test_what_a_lease_leaves_behind_is_no_padding(tmp_path: Path) -> None:
    """A batch of fixed size pads; an id beyond the table, left in a row, would fail the next run."""
    pipeline = Pipeline("ids")
    ids = pipeline.input("ids", TensorSpec("int64", (4,)))
    pipeline.output(y=Model(tiny.gather_model(tmp_path))(ids))
    with pipeline.compile(gears=(4,)).session(NullDevice(pads=True)) as session:
        for _ in range(2):
            with session.lease() as context:
                context.inputs["ids"][:] = 10**9
        with session.lease() as context:
            assert not context.inputs["ids"].any()
