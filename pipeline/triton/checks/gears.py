"""Gears as GE reads them: V16, V17, V31, L08."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ge_engine.npu_ge.gears import FEWEST, GEAR_KEYS, MOST, InputShape, read_dynamic_dims, read_input_shape

from ..problem import Problem
from .npu_options import Options


def check_gears(options: Options) -> Iterator[Problem]:
    """The three options of gears, and what config says beside them."""
    if not options.geared:
        return
    yield from _levels(options)
    yield from _static_by_accident(options)
    shapes, problems = _shapes(options)
    gears, wrong_gears = _gears(options)
    problems += wrong_gears
    if shapes is not None:
        problems += _inputs(options, shapes)
    yield from problems
    if shapes is not None and gears is not None and not problems:
        yield from _counts(options, shapes, gears)
        yield from _coverage(options, shapes, gears)


def covers_all(options: Options) -> bool:
    """Whether no request can be outside the gears: only the batch varies, and each one that can arrive has a gear."""
    model, (shapes, _) = options.model, _shapes(options)
    batch_only = shapes and all(shape.dims[:1] == (-1,) and -1 not in shape.dims[1:] for shape in shapes)
    fixed = all(-1 not in tensor.dims for tensor in model.inputs)
    if not (batch_only and fixed and model.max_batch_size > 0):
        return False
    return not any(problem.rule in ("V16", "V17") for problem in check_gears(options))


def _levels(options: Options) -> Iterator[Problem]:
    for name in GEAR_KEYS:
        keys = options.keys_of(name)
        if not keys:
            yield _problem(options, name, f"gears without {name}", f'write key: "graph.{name}"')
        elif len(keys) > 1:
            message = f"{name} is set under {' and '.join(keys)}: the graph's wins"
            yield _problem(options, name, message, f"leave {keys[0]} out")
    node_type = options.option("ge.dynamicNodeType")
    if node_type is not None and node_type != "1":
        message = f"ge.dynamicNodeType is '{node_type}': the inputs of an ONNX file are placeholders, which is 1"
        yield _problem(options, "ge.dynamicNodeType", message, 'write string_value: "1"')


def _shapes(options: Options) -> tuple[list[InputShape] | None, list[Problem]]:
    text = options.option("ge.inputShape")
    if text is None:
        return None, []
    try:
        return read_input_shape(text), []
    except ValueError as error:
        message = f"ge.inputShape: '{error}' is not name:dim,dim with digits or -1, and no blanks"
        return None, [_problem(options, "ge.inputShape", message, "write it as image:-1,3,224,224")]


def _gears(options: Options) -> tuple[list[tuple[int, ...]] | None, list[Problem]]:
    text = options.option("ge.dynamicDims")
    if text is None:
        return None, []
    try:
        gears = read_dynamic_dims(text)
    except ValueError:
        message = f"ge.dynamicDims '{text}': gears are digits and commas, with ; between them, and no blanks"
        return None, [_problem(options, "ge.dynamicDims", message, 'write it as "1;2;3;4", without a ; at the end')]
    found = []
    if not FEWEST <= len(gears) <= MOST:
        message = f"{len(gears)} gears: GE takes {FEWEST} to {MOST}"
        fix = "one size is static_model, without gears" if len(gears) < FEWEST else "use fewer sizes"
        found.append(_problem(options, "ge.dynamicDims", message, fix))
    if len({len(gear) for gear in gears}) > 1:
        message = f"gears of different lengths: {text}"
        found.append(_problem(options, "ge.dynamicDims", message, "give each gear a value for each -1"))
    if any(not value for gear in gears for value in gear):
        found.append(_problem(options, "ge.dynamicDims", f"a gear of 0: {text}", "write sizes from 1"))
    twice = [gear for gear, count in Counter(gears).items() if count > 1]
    if twice:
        shown = ",".join(map(str, twice[0]))
        found.append(_problem(options, "ge.dynamicDims", f"the gear {shown} stands there twice", "leave one out"))
    return gears, found


def _static_by_accident(options: Options) -> Iterator[Problem]:
    model = options.model
    tensors = (*model.inputs, *model.outputs)
    if model.max_batch_size == 0 and tensors and not any(-1 in tensor.dims for tensor in tensors):
        message = "max_batch_size 0 and no -1 in dims switch static mode on, and gears cannot be set then"
        fix = "write -1 in dims where the gears differ"
        yield Problem("V31", model.at("input"), message, fix)


def _inputs(options: Options, shapes: Sequence[InputShape]) -> Iterator[Problem]:
    """GE sorts the inputs by name and takes the entries by position."""
    model = options.model
    names = [shape.name for shape in shapes]
    wanted = sorted((tensor.name for tensor in model.inputs), key=lambda name: name.encode("utf-8", "replace"))
    if not wanted:
        return
    if names != wanted:
        what = "in another order than sorted by name" if sorted(names) == sorted(wanted) else "not the model's inputs"
        message = f"ge.inputShape lists {', '.join(names)}: {what} ({', '.join(wanted)})"
        yield _problem(options, "ge.inputShape", message, f"list {'; '.join(wanted)}, all of them, in this order")
        return
    onnx = {tensor.name: tensor.dims for tensor in model.onnx.inputs} if model.onnx else {}
    for shape in shapes:
        tensor = next(tensor for tensor in model.inputs if tensor.name == shape.name)
        full = (-1, *tensor.dims) if model.max_batch_size > 0 else tensor.dims
        exact = onnx.get(shape.name)
        real = full if exact is None else tuple(dim if isinstance(dim, int) else -1 for dim in exact)
        if len(real) != len(shape.dims):
            message = f"ge.inputShape: {shape.name} has {len(shape.dims)} dims, the model {len(real)}"
            yield _problem(options, "ge.inputShape", message, f"write {shape.name}:{','.join(map(str, real))}")
            continue
        clash = [
            i
            for i, (want, have) in enumerate(zip(real, shape.dims))
            if have != -1 and have != want and (exact or want != -1)
        ]
        if clash:
            message = (
                f"ge.inputShape: {shape.name} has {shape.dims[clash[0]]} as dim {clash[0]}, the model {real[clash[0]]}"
            )
            fix = "fix that dim in the model, or write -1 and give its value in every gear"
            yield _problem(options, "ge.inputShape", message, fix)


def _counts(options: Options, shapes: Sequence[InputShape], gears: Sequence[tuple[int, ...]]) -> Iterator[Problem]:
    variable = sum(shape.dims.count(-1) for shape in shapes)
    wrong = next((gear for gear in gears if len(gear) != variable), None)
    if wrong is not None:
        message = f"ge.inputShape has {variable} times -1, the gear {','.join(map(str, wrong))} {len(wrong)} values"
        yield _problem(options, "ge.dynamicDims", message, "give each gear a value for each -1, from left to right")


def _coverage(options: Options, shapes: Sequence[InputShape], gears: Sequence[tuple[int, ...]]) -> Iterator[Problem]:
    """V17: there is no padding, so each batch that a client may send needs a gear."""
    model = options.model
    limit = model.max_batch_size
    if limit <= 0 or not shapes:
        return
    columns, column = [], 0
    for shape in shapes:
        if shape.dims and shape.dims[0] == -1:
            columns.append(column)
        column += shape.dims.count(-1)
    if len(columns) != len(shapes) or any(len(gear) != column for gear in gears):
        return  # V16 says what is wrong
    sizes = {gear[columns[0]] for gear in gears if len({gear[index] for index in columns}) == 1}
    missing = [size for size in range(1, min(limit, MOST + 1) + 1) if size not in sizes]
    if missing:
        message = f"max_batch_size is {limit}, and there is no gear for batch {_ranges(missing, limit)}"
        fix = f"write a gear for each batch up to {limit}, or max_batch_size: {_covered(sizes)}"
        severity = "fails" if model.config.HasField("dynamic_batching") else "advice"  # merging forms every size
        yield Problem("V17", options.place_of("ge.dynamicDims"), message, fix, severity)
    preferred = model.config.dynamic_batching.preferred_batch_size
    for size in sorted({size for size in preferred if size not in sizes and size <= limit}):
        message = f"preferred_batch_size {size} has no gear"
        place = model.at("dynamic_batching", "preferred_batch_size")
        yield Problem("L08", place, message, "prefer sizes that are gears")


def _covered(sizes: set[int]) -> int:
    """The largest n with a gear for each of 1..n."""
    size = 0
    while size + 1 in sizes:
        size += 1
    return max(size, 1)


def _ranges(numbers: Sequence[int], limit: int) -> str:
    """[3, 4, 5, 8] as "3..5, 8"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    if runs[-1][1] == MOST + 1:
        runs[-1][1] = limit
    return ", ".join(f"{first}..{last}" if last > first else str(first) for first, last in runs)


def _problem(options: Options, name: str, message: str, fix: str) -> Problem:
    severity = "advice" if "is set under" in message else "refused"
    return Problem("V16", options.place_of(name), message, fix, severity)
