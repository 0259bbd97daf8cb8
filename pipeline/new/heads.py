"""Heads: from what a model gives to the outputs of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence

from ops import TensorSpec
from ops.unique import unique

from .kinds import Guess, Kind
from .look import Look
from .source import Source, identifier, quoted


def write_outputs(source: Source, seen: Look, guess: Guess, given: Sequence[str], taken: Sequence[str]) -> None:
    """given: what the model is called with. taken: names that no output may have."""
    (_, head), kind, call = seen.outputs[0], guess.kind, f"model({', '.join(given)})"
    if head.dtype == "float16":
        head, call = TensorSpec("float32", head.shape), f'ops.Cast("float32")({call})'
    if kind is Kind.DETECTOR:
        _boxes(source, seen.model.labels, call, head)
    elif kind in (Kind.CLASSIFIER, Kind.TEXT_CLASSIFIER):
        if guess.doubt:
            source.check("the numbers are taken for classes; if they are a vector", _vector(call, head))
        _classes(source, seen.model.labels, call, head, guess.ends)
    elif kind in (Kind.IMAGE_ENCODER, Kind.TEXT_ENCODER) and len(seen.outputs) == 1:
        if guess.doubt:
            source.check(
                "the numbers are taken for a vector; if they are classes", _best(f"ops.Softmax()({call})", head)
            )
        source.check(
            "the vector is brought to length 1, so that a dot product compares two; if its length means something, or "
            "is 1 already",
            Source(f"vector = {call}"),
        )
        source.extend(_vector(call, head))
    else:
        if kind is Kind.TOKENS:
            source.check(
                "one vector a piece; take the mean of those under the mask, or the first, as trained: in an op of your "
                "own, or where the answer is used"
            )
        elif kind is Kind.MASKS:
            source.check(
                "a map as it is; take the largest channel of each pixel, or a threshold: in an op of your own, or "
                "where the answer is used"
            )
        source.call("outputs = model", *given)
        _as_they_are(source, seen, taken)


def _vector(call: str, head: TensorSpec) -> Source:
    source = Source()
    source.add(f"vector = ops.L2Normalize()({call})", f"{head}, of length 1")
    source.add("pipeline.output(vector=vector)")
    return source


def _boxes(source: Source, labels: Sequence[str], call: str, head: TensorSpec) -> None:
    source.add(f"head = {call}", f"{head}: 4 of a box, and its classes")
    source.add("yolo = ops.YoloBoxes(conf_threshold=0.25, iou_threshold=0.45)")
    source.add("boxes, scores, classes = yolo(head, transform)")
    if labels:
        source.note(f"The names of the classes are model.labels: {', '.join(labels[:3])} ...")
    else:
        source.check(
            "the file has no names of classes; if you have a labels.txt, with one name in each line, add "
            'label_file="labels.txt" to Model(...) above: model.labels has them then, and so has a client of the server'
        )
    source.add("pipeline.output(boxes=boxes, scores=scores, classes=classes)")


def _classes(source: Source, labels: Sequence[str], call: str, head: TensorSpec, ends: str) -> None:
    named = "model.labels" if len(labels) == head.at_gear(0)[0] else ""
    if ends:
        source.add(f"probabilities = {call}", str(head))
    else:
        source.check("the head seems to have no Softmax of its own; if it has one", Source(f"probabilities = {call}"))
        source.add(f"probabilities = ops.Softmax()({call})", str(head))
    if ends == "Sigmoid":
        source.check(
            "a Sigmoid: each class holds or not, whatever the others do, so all of them are given; if only one of them "
            "can hold, and the likeliest are wanted",
            _best("probabilities", head, named),
        )
        source.add("pipeline.output(probabilities=probabilities)")
        return
    if not named:
        source.check(
            f"the file has no names of its {head.at_gear(0)[0]} classes, so their numbers are given; if you have a "
            "labels.txt, with one name in each line",
            _best("probabilities", head, quoted("labels.txt")),
        )
    source.extend(_best("probabilities", head, named))


def _best(probabilities: str, head: TensorSpec, labels: str = "") -> Source:
    """labels: code for them."""
    source = Source()
    named = f", labels={labels}" if labels else ""
    source.add(f"best = ops.TopK(k={min(5, head.at_gear(0)[0])}{named})({probabilities})")
    shown = "labels=best.labels" if named else "classes=best.indices"
    source.add(f"pipeline.output(scores=best.scores, {shown})")
    return source


def _as_they_are(source: Source, seen: Look, taken: Sequence[str]) -> None:
    names = set(taken)
    for name, spec in seen.outputs:
        if not spec.is_fixed:
            source.check(f"{name}, {spec}, is left out: the data decides its size")
            continue
        own = unique(identifier(name), names)
        names.add(own)
        source.call("pipeline.output", f"{own}=outputs[{quoted(name)}]", comment=str(spec))
