"""Page: the sections of a report, one after the other, in one HTML document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..draw.drawing import bytes_text
from .content import Content, clients
from .html import Html, element, joined, safe
from .measured import benchmark, trace
from .plots import number
from .style import STYLE
from .told import changes, findings, gears, picture, settings, values

# Nothing is loaded from anywhere, and there is no script.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


class Section(NamedTuple):
    """lead: what there is to see, in a sentence for who sees it the first time. Empty content leaves it out."""

    id: str
    title: str
    lead: str
    content: Html


def page(content: Content) -> str:
    """The document."""
    sections = [section for section in _sections(content) if section.content]
    name = content.plan.graph.name
    return "\n".join(
        (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<link rel="icon" href="data:,">',
            f"<title>{safe(name)}: pipeline report</title>\n<style>{STYLE}</style>\n</head>\n<body>",
            _header(content, sections),
            "<main>",
            *map(_section, sections),
            "</main>",
            _footer(content),
            "</body>\n</html>\n",
        )
    )


def _sections(content: Content) -> Iterator[Section]:
    plan = content.plan
    yield Section(
        "picture",
        "The pipeline",
        "Each box is a step, each line a value of one sample with its dtype and shape. Steps in one frame are a stage: "
        "they run together.",
        picture(content),
    )
    yield Section(
        "plan",
        "Values, step by step",
        "What each step makes, in the order in which they run, for one sample. A letter in a shape is a size that "
        "varies. What crosses a border travels between stages, and costs a transfer on an NPU.",
        values(plan),
    )
    yield Section(
        "gears",
        "Gears and memory",
        "A gear is a batch size, or a picture size, with a static graph of its own. A session has buffers for the "
        "largest of them.",
        gears(plan),
    )
    yield Section(
        "passes",
        "What the passes changed",
        "The declaration is changed so that it gives the same answers for less work. Each change says how exact it is.",
        changes(plan),
    )
    yield Section(
        "benchmark",
        "Benchmark",
        "So many clients ask at once, each with its next request as soon as the last is answered.",
        benchmark(content),
    )
    yield Section(
        "trace",
        "Trace",
        "What happened when: a lane for each stream of the device and each thread of the host, time from left to "
        "right. Point at a slice to see what it is, and how long it took.",
        trace(content),
    )
    yield Section(
        "findings",
        "Findings",
        "What may hurt, before it does. Advice can be left alone; what is refused or fails has to be mended. "
        "`gepipe rule V17` explains the rule V17.",
        findings(content),
    )
    yield Section("settings", "Settings", "The Deployment that this plan was compiled with.", settings(plan))


def _header(content: Content, sections: list[Section]) -> str:
    graph = content.plan.graph
    inputs = ", ".join(f"{value.name} {value.spec}" for value in graph.inputs)
    outputs = ", ".join(f"{value.name} {value.spec}" for value in graph.outputs)
    links = joined(Html(f'<a href="#{section.id}">{safe(section.title)}</a>') for section in sections)
    facts = joined(
        Html(f"<div><dt>{safe(name)}</dt><dd>{safe(value)} {element('small', more)}</dd></div>")
        for name, value, more in _facts(content)
    )
    return (
        f"<header><h1>{safe(graph.name)}</h1>"
        f'<p class="code">{safe(inputs)} → {safe(outputs)}</p>'
        f'<dl class="facts">{facts}</dl><nav aria-label="Sections">{links}</nav></header>'
    )


def _facts(content: Content) -> Iterator[tuple[str, str, str]]:
    plan = content.plan
    devices = sum(stage.on_device for stage in plan.stages)
    yield "Stages", str(len(plan.stages)), f"{len(plan.stages) - devices} host, {devices} device"
    yield "Steps", str(len(plan.graph.steps)), "of one sample"
    sizes = [
        spec.nbytes or 0 for stage in plan.stages if stage.on_device for _, spec in (*stage.inputs, *stage.outputs)
    ]
    if sizes:
        yield "Transfers", bytes_text(sum(sizes)), "a sample, in and out"
    if content.bench is not None and content.bench.levels:
        best = max(content.bench.levels, key=lambda level: level.window.infer_per_sec)
        yield "Throughput", f"{number(best.window.infer_per_sec)}/s", f"by {clients(best.concurrency)}"
        first = content.bench.levels[0]
        median_ms = first.window.latency_us.p50 / 1e3
        if median_ms:  # something was answered
            yield "Median latency", f"{number(median_ms)} ms", f"by {clients(first.concurrency)}"
    if content.findings:
        found = [one.severity for findings in content.findings.values() for one in findings]
        advice = found.count("advice")
        yield "Errors", str(len(found) - advice), f"advice: {advice or 'none'}"


def _section(section: Section) -> str:
    lead = joined(element("code", part) if index % 2 else part for index, part in enumerate(section.lead.split("`")))
    title = f'<h2>{safe(section.title)}</h2><p class="lead">{lead}</p>'
    return f'<section id="{section.id}">{title}{section.content}</section>'


def _footer(content: Content) -> str:
    return f"<footer>Made by gepipe report{safe(f', on {content.machine}' if content.machine else '')}.</footer>"
