"""Counters of a session in Triton's words: of the pipeline, and of each stage as a composing model of its export."""

from __future__ import annotations

from ..counters import Counters, Counts
from .parts import Part
from .recorder import Recorder
from .series import Sums

VERSION = "1"  # of an export: in the names of its composing models, and as the version of each


def counters(recorder: Recorder) -> Counts:
    """What a session has counted so far, by the name of a model; first the pipeline.

    A request of the pipeline is a call, a request of a stage is a sample. Requests that failed are not timed.
    """
    plan = recorder.plan
    name = plan.deployment.name_prefix + plan.graph.name
    sums = list(recorder.sums())
    stages = {}
    for stage in plan.stages:
        mine = [one for one in sums if one[0].stage == stage.name]
        failed = recorder.failed(stage.level // 2)
        count = _device(mine, plan.deployment.streams) if stage.on_device else _host(mine, failed)
        stages[f"{name}_{VERSION}_{stage.name}"] = count
    return {name: _pipeline(sums), **stages}


def _pipeline(sums: list[tuple[Part, Sums, int]]) -> Counters:
    """The times of a request add up: what is neither a wait nor a copy counts as inference."""
    (_, requests, _), (_, samples, out) = sums[0], sums[-1]
    check, queue, whole = map(_ns, requests.total)
    copied_out = min(_ns(samples.total[out]), whole - check - queue)
    return Counters(
        succeeded=requests.passes,
        failed=requests.failed,
        inferences=samples.passes,
        executions=requests.passes,
        request_ns=whole,
        queue_ns=queue,
        compute_input_ns=check,
        compute_infer_ns=whole - check - queue - copied_out,
        compute_output_ns=copied_out,
    )


def _host(sums: list[tuple[Part, Sums, int]], failed: int) -> Counters:
    """Its output is what it copies into the buffers of the device stages after it."""
    infer = sum(_ns(counted.total[place]) for part, counted, place in sums if part.kind == "step")
    output = sum(_ns(counted.total[place]) for part, counted, place in sums if part.kind == "copy")
    count = sums[0][1].passes
    return Counters(
        succeeded=count,
        failed=failed,
        inferences=count,
        executions=count,
        request_ns=infer + output,
        compute_infer_ns=infer,
        compute_output_ns=output,
        busy_ns=infer + output,
        batches={1: count} if count else {},
    )


def _device(sums: list[tuple[Part, Sums, int]], streams: int) -> Counters:
    """Each sample of a batch counts the whole batch's time. Its input is what no host stage before it has written."""
    times = {part.kind: _ns(counted.of_samples[place]) for part, counted, place in sums}
    _, runs, place = next(one for one in sums if one[0].kind == "run")
    return Counters(
        succeeded=runs.samples,
        failed=runs.failed,
        inferences=runs.samples,
        executions=runs.passes,
        request_ns=sum(times.values()),
        queue_ns=times.get("wait", 0),
        compute_input_ns=times.get("copy", 0),
        compute_infer_ns=times["run"],
        busy_ns=_ns(runs.total[place]),
        batches=runs.sizes,
        instances=streams,
    )


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
