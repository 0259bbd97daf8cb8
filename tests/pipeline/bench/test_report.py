from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from pipeline.bench import Counters, Level, Report, Settings, table
from pipeline.bench.report import csv_text, document
from pipeline.bench.window import Window

ENSEMBLE = Counters(succeeded=3000, inferences=12000, executions=3000, request_ns=6 * 10**9, batches={4: 3000})
LONG = "recommendation_service_7_text_encoder_for_chinese"
BUSY = Counters(
    3000, 1, 12000, 1100, 5 * 10**12, 3 * 10**12, 10**7, 10**12, 10**7, 4 * 10**9, {4: 100, 8: 400, 16: 600}, 2
)


def level(concurrency: int = 64, verdict: str = "stable") -> Level:
    latencies = [1.234567] * 2990 + [9.876543] * 10
    window = Window(6.0, latencies, 4, 4.2, {}, {"service": ENSEMBLE, LONG: BUSY})
    return Level(concurrency, verdict, window, 3, 4000, 0, {"service": ENSEMBLE})


def report(*levels: Level) -> Report:
    return Report("service", "triton.example.com:8001 (grpc), Triton 2.43.0", 4, Settings(), list(levels))


def printed(found: Report, width: int = 100) -> str:
    file = io.StringIO()
    Console(file=file, width=width).print(table(found))
    return file.getvalue()


@pytest.mark.parametrize("width", [80, 100])
def test_the_table_fits_with_large_numbers_and_long_names(width: int) -> None:
    text = printed(report(level(1), level(4096, "unstable")), width)
    assert max(map(len, text.splitlines())) <= width
    for word in ("2000.0", "500.0", "1263374", "1234567", "0.70", "1000000", "333333", "33%", "unstable", "4096"):
        assert word in text
    for sizes in ("100x4", "400x8", "600x16"):
        assert sizes in text


def test_failures_others_and_npus_are_said() -> None:
    failing = replace(level(1), failed=2, first_error="queue is full", answered=2900, npu={"0.0": 57.4})
    text = printed(report(failing, level(8, "unstable")))
    assert "1 client: 2 failed, the first: queue is full" in text
    assert "1 client: AI cores busy: 0.0 57 %" in text
    assert "1 client: the server answered 100 requests of others meanwhile" in text
    assert "unstable: no three windows agreed" in text
    assert "8 clients" not in text


def test_the_document_holds_all_of_it_as_json() -> None:
    found = json.loads(json.dumps(document(report(level())), allow_nan=False))
    assert (found["target"], found["batch"], found["settings"]["window_s"]) == ("service", 4, 2.0)
    (row,) = found["levels"]
    assert (row["concurrency"], row["requests"], row["infer_per_sec"]) == (64, 3000, 2000.0)
    assert row["latency_us"]["p50"] == pytest.approx(1234567)
    assert row["client_cpu"] == pytest.approx(0.7)
    model = row["models"][LONG]
    assert model["batches"] == {"4": 100, "8": 400, "16": 600}
    assert model["queue_us"] == 1_000_000
    assert model["busy"] == pytest.approx(1 / 3)
    assert row["models"]["service"]["busy"] is None


def test_a_measurement_without_an_answer_is_reported_too() -> None:
    empty = Level(1, "interrupted", Window(0.0, ()), 0, 0, 0)
    assert report(empty).interrupted
    assert "interrupted" in printed(report(empty))
    assert json.dumps(document(report(empty)), allow_nan=False)


def test_csv_has_a_line_for_each_concurrency() -> None:
    first, second = csv.DictReader(io.StringIO(csv_text(report(level(1), level(8)))))
    assert (first["concurrency"], second["concurrency"]) == ("1", "8")
    assert float(first["latency_us.p99"]) == pytest.approx(1234567)
    assert second[f"models.{LONG}.batches"] == "4:100 8:400 16:600"
    assert second["models.service.busy"] == ""
