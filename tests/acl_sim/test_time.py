from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path

import pytest
from acl_sim import Timing, World
from acl_sim.fixtures import Npu
from acl_sim.timing import Lane, Span, Timeline
from card import WIDTH, Card, atc, geared, onnx_file

# inf/s of npu_ge with 1 to 8 streams, free and held to half of the cubes: the published series.
FREE = (232.5, 342.7, 416.1, 489.3, 542.8, 569.9, 605.4, 629.3)
HELD = (236.2, 425.4, 583.5, 696.4, 773.5, 813.6, 865.6, 850.2)
ROUNDS = 40


def cards(world: World, path: str, count: int) -> list[Card]:
    first = Card(world, path)
    return [first, *(Card(world, path, context=first.context) for _ in range(count - 1))]


def close(all_cards: list[Card]) -> None:
    for card in reversed(all_cards):
        card.close()


@pytest.mark.parametrize(("cores", "published"), [(None, FREE), ("12|10", HELD)])
def test_streams_share_the_cores_as_in_the_published_series(
    npu: Npu, tmp_path: Path, cores: str | None, published: tuple[float, ...]
) -> None:
    model = onnx_file(tmp_path)
    flags = [f"--aicore_num={cores}"] if cores else []
    assert "success" in atc(model, f"--input_shape=x:4,{WIDTH}", *flags)
    path = str(model.with_suffix(".om"))
    for streams in (1, 2, 4, 8):
        world = npu(timing=Timing(copy_us=0, launch_us=0, call_us=0))
        running = cards(world, path, streams)
        for card in running:
            card.copy_in()
        for _ in range(ROUNDS):
            for card in running:
                card.run()
        for card in running:
            card.wait()
        runs = world.timeline.of("run")
        per_second = len(runs) / (runs[-1].end - runs[0].start) * 1e6
        assert per_second == pytest.approx(published[streams - 1], rel=0.1)
        close(running)


def test_copies_of_one_batch_and_the_run_of_another_overlap(npu: Npu, tmp_path: Path) -> None:
    world = npu(timing=Timing(copy_us=400))
    running = cards(world, geared(tmp_path), 2)
    for _ in range(4):
        for card in running:
            card.enqueue()
        for card in running:
            card.wait()
    assert world.timeline.overlap("h2d", "run") > 400
    assert world.timeline.overlap("d2h", "run") > 400
    assert world.timeline.overlap("h2d", "h2d") == sum(span.end - span.start for span in world.timeline.of("h2d"))
    close(running)


def test_one_stream_overlaps_nothing(npu: Npu, tmp_path: Path) -> None:
    world = npu()
    card = Card(world, geared(tmp_path))
    for _ in range(3):
        card.enqueue()
        card.wait()
    spans = world.timeline.spans
    assert [span.kind for span in spans] == ["h2d", "run", "d2h"] * 3
    assert all(later.start >= earlier.end + 0.2 - 1e-6 for earlier, later in pairwise(spans))
    assert world.timeline.overlap("h2d", "run") == 0
    card.close()


def test_a_run_takes_as_long_as_its_gear_is_large(npu: Npu, tmp_path: Path) -> None:
    world = npu()
    card = Card(world, geared(tmp_path))
    for rows in (1, 4):
        card.gear(rows)
        card.enqueue()
        card.wait()
    small, large = (span.end - span.start for span in world.timeline.of("run"))
    assert large - small == pytest.approx(3 * 1170)
    card.close()


def test_a_copy_takes_its_call_and_its_bytes(npu: Npu, tmp_path: Path) -> None:
    world = npu(timing=Timing(copy_us=10, gbytes_per_s=1))
    card = Card(world, geared(tmp_path))
    card.copy_in()
    card.wait()
    (span,) = world.timeline.of("h2d")
    assert span.end - span.start == pytest.approx(10 + card.size / 1e3)
    card.close()


def test_an_event_has_a_time_and_what_waits_for_it_comes_later(npu: Npu, tmp_path: Path) -> None:
    world = npu()
    card = Card(world, geared(tmp_path))
    other = card.got(card.rt.create_stream())
    first, second = (card.got(card.rt.create_event()) for _ in range(2))
    card.copy_in()
    card.ok(card.rt.record_event(first, card.stream))
    card.run()
    card.ok(card.rt.record_event(second, card.stream))
    card.ok(card.rt.stream_wait_event(other, second))
    card.ok(card.rt.memcpy_async(card.answer_at, card.size, card.output, card.size, 2, other))
    assert card.rt.stream_query(other) == (1, 0)
    card.ok(card.rt.synchronize_stream(other))
    assert card.rt.stream_query(other) == (0, 0)
    elapsed, _ = card.rt.event_elapsed_time(first, second)
    (ran,), (back,) = world.timeline.of("run"), world.timeline.of("d2h")
    assert elapsed == pytest.approx((ran.end - ran.start) / 1e3, rel=0.01)
    assert back.start >= ran.end
    for event in (first, second):
        card.ok(card.rt.destroy_event(event))
    card.ok(card.rt.destroy_stream(other))
    card.close()


def test_each_thread_has_its_own_time(npu: Npu, tmp_path: Path) -> None:
    world = npu()
    running = cards(world, geared(tmp_path), 2)

    def work(card: Card) -> None:
        card.ok(card.rt.set_context(card.context))
        for _ in range(3):
            card.enqueue()
            card.wait()

    threads = [threading.Thread(target=work, args=(card,)) for card in running]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    by_stream = {span.stream for span in world.timeline.of("run")}
    assert len(by_stream) == 2
    close(running)


def test_a_lane_finds_room_before_what_comes_later() -> None:
    lane = Lane()
    assert lane.place(100, 10) == 100
    assert lane.place(0, 50) == 0
    assert lane.place(0, 60) == 110
    assert lane.place(0, 50) == 50


def test_time_that_goes_by_with_several_others_counts_once() -> None:
    copy, run = Span(0, 0, "h2d", "4", 0, 10), Span(0, 1, "run", "m", 4, 8)
    others = [run, run._replace(start=2, end=6), run._replace(start=9, end=20), run._replace(device=1, start=0)]
    timeline = Timeline([copy, *others])
    assert timeline.overlap("h2d", "run") == 6 + 1
    assert timeline.overlap("run", "h2d") == 4 + 4 + 1
    assert Timeline([copy, run._replace(start=10, end=20)]).overlap("h2d", "run") == 0
