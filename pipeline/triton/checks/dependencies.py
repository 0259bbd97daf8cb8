"""Which models an ensemble needs: E20-E22."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ops.near import near

from ..model import Model
from ..problem import Problem
from .ensemble import STEP

_POLLED = {"E", "M"}
_LATER = ("E2", "E3", "M2", "M3")  # rules that the server applies after polling


def check_dependencies(models: Mapping[str, Model]) -> dict[str, list[Problem]]:
    """The problems of each ensemble, by its name; an ensemble falls with the models that it needs."""
    graph = {name: _needs(model) for name, model in models.items()}
    found: dict[str, list[Problem]] = {name: list(_missing(model, models)) for name, model in models.items()}
    for name, model in models.items():
        circle = _circle(name, graph)
        if circle:
            message = f"circular dependency between ensembles: {circle[0]} -> ... -> {circle[-2]} -> {circle[0]}"
            step = next(i for i, s in enumerate(model.config.ensemble_scheduling.step) if s.model_name == circle[1])
            fix = f"break the circle {' -> '.join(circle)}"
            found[name].append(Problem("E21", model.at(*STEP, step, "model_name"), message, fix))
    return found


def check_fallen(models: Mapping[str, Model]) -> Iterator[tuple[str, Problem]]:
    """E20 and E22: ensembles whose models are refused, from the bottom up."""
    refused = {name: _first_refusal(model) for name, model in models.items()}
    grown = True
    while grown:
        grown = False
        for name, model in models.items():
            if refused[name] or model.config is None:
                continue
            for index, step in enumerate(model.config.ensemble_scheduling.step):
                cause = refused.get(step.model_name)
                if cause:
                    problem = _fallen(model, index, step.model_name, cause)
                    refused[name], grown = problem, True
                    yield name, problem
                    break


def _fallen(model: Model, index: int, upstream: str, cause: Problem) -> Problem:
    place, fix = model.at(*STEP, index, "model_name"), f"mend {upstream} first ({cause.rule})"
    if polled(cause):
        message = f"ensemble {model.name} contains models that are not available or ambiguous: {upstream}"
        return Problem("E20", place, message, fix)
    message = (
        f"ensemble '{model.name}' depends on '{upstream}' which has no loaded version. Model '{upstream}' loading "
        f"failed with error: {cause.message}"
    )
    return Problem("E22", place, message, fix)


def polled(problem: Problem) -> bool:
    """Whether the server refuses it while it polls, so that the model does not even come into its list."""
    return problem.rule[0] in _POLLED and not problem.rule.startswith(_LATER)


def _first_refusal(model: Model) -> Problem | None:
    refusals = sorted((p for p in model.problems if p.refused), key=lambda problem: not polled(problem))
    return refusals[0] if refusals else None


def _needs(model: Model) -> list[str]:
    if model.config is None:
        return []
    return [step.model_name for step in model.config.ensemble_scheduling.step]


def _missing(model: Model, models: Mapping[str, Model]) -> Iterator[Problem]:
    for index, name in enumerate(_needs(model)):
        if name and name not in models:
            message = f"ensemble {model.name} contains models that are not available or ambiguous: {name}"
            yield Problem("E20", model.at(*STEP, index, "model_name"), message, near(name, set(models) - {model.name}))


def _circle(start: str, graph: Mapping[str, list[str]]) -> list[str]:
    """A way from a model back to itself, if there is one."""
    seen: set[str] = set()
    ways = [[start]]
    while ways:
        way = ways.pop()
        for name in graph.get(way[-1], ()):
            if name == start:
                return [*way, start]
            if name not in seen:
                seen.add(name)
                ways.append([*way, name])
    return []
