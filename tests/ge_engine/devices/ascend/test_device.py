from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import tiny
from acl_sim import World

from ge_engine.devices.ascend import library
from ops import DeviceError, GepipeError
from pipeline import Plan

BROKEN = 507011
GIVEN = tiny.vectors(7)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return tiny.vector_pipeline(tmp_path_factory.mktemp("models")).compile(gears=(1, 4))


@pytest.fixture(scope="module")
def wanted(plan: Plan) -> list[Any]:
    with plan.session() as session:
        return session.run_batch(GIVEN)


def use(plan: Plan, wanted: list[Any]) -> Counter[str]:
    """Open, run, merge, close: right answers or errors, and after an error right answers again."""
    failed: Counter[str] = Counter()
    with plan.session("npu:0") as session:
        for _ in range(2):
            answers = [*session.run_batch(GIVEN), *session.map(GIVEN)]
            for got, want in zip(answers, wanted * 2):
                if isinstance(got, GepipeError):
                    assert isinstance(got, DeviceError), got
                    failed[got.message.partition(" ")[0]] += 1
                else:
                    assert tiny.same(got, want)
        assert all(map(tiny.same, session.run_batch(GIVEN), wanted))
    return failed


def calls(card: Any, plan: Plan, wanted: list[Any]) -> Counter[str]:
    """How often each function is called when nothing fails."""
    world: World = card()
    assert not use(plan, wanted)
    library.finalize()
    return world.counts


QUIET = {"get_soc_name"}  # answers with a bare value, for which there is no failure but being empty


def test_a_failure_at_any_call_leaves_a_usable_session_or_none_and_nothing_behind(
    card: Any, plan: Plan, wanted: list[Any]
) -> None:
    counts = calls(card, plan, wanted)
    assert len(counts) > 25
    sites = [(name, k) for name, count in counts.items() for k in range(1, count + 1) if name not in QUIET]
    for name, k in sites:
        world: World = card()
        world.fail(name, BROKEN, at=k)
        with suppress(DeviceError):
            use(plan, wanted)
        assert not world.leaks(), (name, k)
        assert not world.violations, (name, k)
        world.faults.set.clear()
        assert not use(plan, wanted), (name, k)  # of the same process, another session
        with suppress(DeviceError):
            library.finalize()
        library.finalize()


def talk(world: World, plan: Plan, wanted: list[Any]) -> None:
    """What answers is right, whatever fails; and all of it ends, with no rule broken."""
    try:
        with plan.session("npu:0") as session:
            for got, want in zip([*session.run_batch(GIVEN), *session.map(GIVEN)], wanted * 2):
                assert isinstance(got, DeviceError) or tiny.same(got, want)
    except DeviceError:
        pass
    assert not world.violations
    world.allow = True  # what a card refuses to take back is left
    library._library = None


@pytest.mark.parametrize("times", [2, 0], ids=["twice", "for ever"])
def test_a_call_that_goes_on_failing_breaks_no_rule(card: Any, plan: Plan, wanted: list[Any], times: int) -> None:
    counts = calls(card, plan, wanted)
    for name, k in [(name, k) for name, count in counts.items() for k in range(1, count + 1, 11) if name not in QUIET]:
        world: World = card()
        world.fail(name, BROKEN, at=k, times=times)
        talk(world, plan, wanted)


def test_a_card_that_dies_at_any_call_is_an_error_and_no_hang(card: Any, plan: Plan, wanted: list[Any]) -> None:
    for at in range(1, calls(card, plan, wanted).total(), 17):
        world: World = card()
        world.fail("*", 507899, at=at, times=0)
        talk(world, plan, wanted)


def test_an_interrupt_at_any_call_of_a_batch_leaves_a_session_that_answers(
    world: World, plan: Plan, wanted: list[Any]
) -> None:
    """But at the end of an event, which is left, as nothing is ended twice."""
    with plan.session("npu:0") as session:
        session.run_batch(GIVEN)
        acl = library.library()
        functions = acl._functions
        for at in itertools.count(1):
            left = itertools.count(at, -1)

            def interrupted(function: Any, left: Iterator[int] = left) -> Any:
                def call(*args: Any) -> Any:
                    if next(left) == 1:
                        raise KeyboardInterrupt
                    return function(*args)

                return call

            acl._functions = {
                name: function if name == "rt.destroy_event" else interrupted(function)
                for name, function in functions.items()
            }
            try:
                session.run_batch(GIVEN)
                break
            except KeyboardInterrupt:
                pass
            finally:
                acl._functions = functions
            assert all(map(tiny.same, session.run_batch(GIVEN), wanted)), at
    assert at > 25


@pytest.mark.parametrize(
    ("call", "more"),
    [
        ("mdl.execute_async", {}),
        ("mdl.set_dynamic_batch_size", {}),
        ("rt.memcpy_async", {}),
        ("rt.synchronize_stream", {}),
        ("rt.create_event", {}),
        ("rt.stream_wait_event", {}),
        ("rt.destroy_event", {}),
        ("rt.set_context", {}),
        ("device.run", {}),
        ("device.run", {"sticky": True}),
        ("device.copy", {}),
        ("device.copy", {"sticky": True}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value) or "once",
)
def test_of_2000_requests_those_that_fail_have_their_error_and_all_others_the_right_bytes(
    world: World, tmp_path: Path, call: str, more: dict[str, bool]
) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1, 2, 4), streams=2)
    given = tiny.vectors(100)
    with plan.session() as session:
        wanted = session.run_batch(given)
    with plan.session("npu:0") as session, ThreadPoolExecutor(8) as threads:
        fault = world.fail(call, BROKEN, at=50, every=50, times=0, **more)

        def ask(number: int) -> Any:
            try:
                return session.run(**given[number % 100])
            except DeviceError as error:
                return error

        answers = list(threads.map(ask, range(1000)))
        answers += [_answer(future) for future in [session.submit(**given[n % 100]) for n in range(1000)]]
        world.faults.set.clear()
        assert all(map(tiny.same, session.run_batch(given), wanted))
    errors = [answer for answer in answers if isinstance(answer, DeviceError)]
    assert fault.failed
    assert len(errors) <= fault.failed
    for answer, want in zip(answers, itertools.cycle(wanted)):
        if isinstance(answer, DeviceError):
            assert str(BROKEN) in answer.message
            assert "the model failed while it ran" in answer.message
            assert answer.where.startswith("stage 'dense', gear ")
            assert "stream" in answer.where
        else:
            assert tiny.same(answer, want)


def _answer(future: Any) -> Any:
    try:
        return future.result()
    except DeviceError as error:
        return error


def test_buffers_that_cannot_be_made_now_fail_a_sample_and_not_the_session(world: World, plan: Plan) -> None:
    with plan.session("npu:0") as session:
        world.fail("rt.malloc_host", BROKEN)
        with pytest.raises(DeviceError, match="malloc_host") as error:
            session.submit(**GIVEN[0]).result(30)
        assert error.value.where.startswith("stage 'dense', gear ")
        assert tiny.same(session.submit(**GIVEN[0]).result(30), session.run(**GIVEN[0]))


def test_an_error_names_the_call_the_code_its_meaning_stage_gear_and_stream(world: World, plan: Plan) -> None:
    with plan.session("npu:0") as session:
        world.fail("mdl.execute_async", 200000)
        with pytest.raises(DeviceError) as error:
            session.run(**GIVEN[0])
    assert str(error.value) == (
        "stage 'dense', gear 1, stream 1 of npu:0: acl.mdl.execute_async failed with 200000: out of memory; "
        "acl_sim: mdl.execute_async returned 200000\n"
        "fix: use smaller gears or fewer streams, or stop what else runs on the card: npu-smi info"
    )


def test_a_failure_that_is_told_by_synchronize_has_its_place_too(world: World, plan: Plan) -> None:
    with plan.session("npu:0") as session:
        world.fail("device.run", 507015)
        with pytest.raises(
            DeviceError, match=r"acl.rt.synchronize_stream failed with 507015: an AI core failed"
        ) as error:
            session.run(**GIVEN[0])
        assert error.value.where == "stage 'dense', gear 1, stream 1 of npu:0"
        session.run(**GIVEN[0])


def test_a_code_that_is_not_known_is_told_as_it_is(world: World, plan: Plan) -> None:
    with plan.session("npu:0") as session:
        world.fail("rt.memcpy_async", 4711)
        with pytest.raises(DeviceError, match=r"failed with 4711: a code that gepipe does not know"):
            session.run(**GIVEN[0])


def test_memory_that_is_used_up_says_how_much_was_asked_for(card: Any, plan: Plan) -> None:
    world: World = card()
    world.fail("rt.malloc", 207001, at=2)
    with pytest.raises(
        DeviceError, match=r"acl.rt.malloc failed with 207001: out of memory.* \([\d,]+ bytes on npu:0\)"
    ):
        plan.session("npu:0")
    world.fail("rt.malloc_host", 207001, at=1)
    with pytest.raises(DeviceError, match=r"acl.rt.malloc_host .* \([\d,]+ bytes of pinned memory\)"):
        plan.session("npu:0")


def test_streams_that_are_used_up_are_told_and_all_others_given_back(card: Any, plan: Plan) -> None:
    world: World = card(soc="Ascend310B1")
    world.fail("rt.create_stream", 207008, at=3)
    with pytest.raises(DeviceError, match=r"acl.rt.create_stream failed with 207008"):
        plan.session("npu:0")
    assert not world.leaks()
