"""Feed: from what a pipeline takes to what a model is called with."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from ge_engine.meaning import id_tables
from ops import SpecError, Tokenize
from ops.unique import unique

from .kinds import Guess, Kind
from .look import Entry, Look
from .source import Source, identifier, quoted, tupled
from .texts import Roles, roles_of

_IMAGENET = ("(0.485, 0.456, 0.406)", "(0.229, 0.224, 0.225)")
_CLIP = ("(0.48145466, 0.4578275, 0.40821073)", "(0.26862954, 0.26130258, 0.27577711)")
_FED = {"NCHW": ("float32", "float16"), "NHWC": ("uint8", "float32", "float16")}  # what ops make of pixels
_RESERVED = ("ops", "Model", "Pipeline", "pipeline", "model", "outputs", "name")


class Feed:
    """Writes the lines in front of a model.

    inputs: those of the pipeline; given: the variables that the model is called with.
    """

    def __init__(
        self, source: Source, seen: Look, guess: Guess, vocab: Path | None, path: Callable[[Path], str]
    ) -> None:
        self.source = source
        self.seen = seen
        self.guess = guess
        self.inputs: tuple[str, ...] = ()
        self.given: tuple[str, ...] = ()
        entry = seen.picture
        roles = roles_of(seen.inputs)
        if roles is not None and vocab is None:
            vocab = _vocab_by(Path(seen.model.file))
            vocab = None if vocab and _too_large(seen, roles, vocab) else vocab
        elif roles is not None and vocab and (fault := _too_large(seen, roles, vocab)):
            raise SpecError(fault, fix="name the vocabulary that the model was trained with")
        if entry is not None and entry.spec.dtype in _FED[entry.layout]:
            self._picture(entry)
        elif roles is not None and vocab:
            self._text(roles, path(vocab.absolute()))
        else:
            self._raw(roles)

    def _picture(self, entry: Entry) -> None:
        source = self.source
        assert entry.picture is not None
        channels, height, width = entry.picture
        color = "RGB" if channels == 3 else "GRAY"
        self.inputs = ("image",)
        source.add('data = pipeline.input("image", ops.ENCODED_IMAGE)', "an encoded file: bytes")
        if channels == 3 and self.guess.kind is not Kind.DETECTOR:
            source.check("RGB or BGR? Models trained with OpenCV's pictures want BGR")
        source.add(f'pixels = ops.DecodeImage(color="{color}")(data)', f"uint8[H,W,{channels}]")
        if entry.open_axes:
            said = "its metadata says so" if self.seen.size else "that is a guess"
            source.check(f"the file leaves the size of the picture open; {height}x{width}: {said}")
        shape = f"uint8[{height},{width},{channels}]"
        if self.guess.kind is Kind.DETECTOR:
            source.add(f"framed, transform = ops.Letterbox(height={height}, width={width})(pixels)", shape)
        else:
            self._resized(height, width, shape)
        self.given = (self._numbers(entry, channels, height, width),)

    def _resized(self, height: int, width: int, shape: str) -> None:
        source = self.source
        whole = f'framed = ops.Resize(height={height}, width={width}, filter="pillow_{self._filter}")(pixels)'
        if self.guess.kind is Kind.CLASSIFIER and height == width:
            shorter = round(height / 0.875)
            source.check(
                f"the shorter side is brought to {shorter}, and the middle is cut out, as is usual: do what was done "
                "in training; if nothing was cut off",
                Source(whole),
            )
            source.add(f'resized = ops.Resize(shorter={shorter}, filter="pillow_bilinear")(pixels)')
            source.add(f"framed = ops.CenterCrop(height={height}, width={width})(resized)", shape)
        else:
            bordered = f"framed, _ = ops.Letterbox(height={height}, width={width})(pixels)"
            source.check(
                f"the whole picture is stretched to {height}x{width}, its aspect not kept: do what was done in "
                "training; if its aspect was kept, and the rest filled with a border",
                Source(bordered),
            )
            source.add(whole)

    @property
    def _is_clip(self) -> bool:
        return bool(re.search(r"image_(features|embeds)", self.seen.outputs[0][0]))

    @property
    def _filter(self) -> str:
        return "bicubic" if self._is_clip else "bilinear"

    def _numbers(self, entry: Entry, channels: int, height: int, width: int) -> str:
        """From pixels to what the model reads; its variable."""
        source, dtype = self.source, entry.spec.dtype
        if dtype == "uint8":
            return "framed"
        if entry.layout == "NHWC":
            source.check("0..255, channels last; if the model wants 0..1 or less, that takes an op of your own here")
            source.add(f'x = ops.Cast("{dtype}")(framed)', str(entry.spec))
            return "x"
        self._normalized(channels, height, width)
        if dtype != "float32":
            source.add(f'x = ops.Cast("{dtype}")(x)', str(entry.spec))
        return "x"

    def _normalized(self, channels: int, height: int, width: int) -> None:
        source = self.source
        reader = _first_reader(self.seen)
        if self.guess.kind is Kind.DETECTOR:
            mean, std = "(0, 0, 0)", "(1, 1, 1)"
        elif channels == 1:
            source.check("0..1; the mean and std of the training are in no file")
            mean, std = "(0,)", "(1,)"
        else:
            mean, std = _CLIP if self._is_clip else _IMAGENET
            source.check(f"{'CLIP' if self._is_clip else 'ImageNet'}'s mean and std; the training's are in no file")
        if reader in ("Sub", "Div", "Mul", "BatchNormalization") and self.guess.kind is not Kind.DETECTOR:
            as_bytes = f"x = ops.Normalize(mean=(0,) * {channels}, std=(1 / 255,) * {channels})(framed)  # 0..255"
            source.check(f"the graph begins with {reader}: if it wants 0..255 and does this itself", Source(as_bytes))
        given = f"mean={mean}, std={std}"
        if len(given) > 40:
            source.add(f"mean = {mean}")
            source.add(f"std = {std}")
            given = "mean=mean, std=std"
        source.add(f"x = ops.Normalize({given})(framed)", f"float32[{channels},{height},{width}]")

    def _text(self, roles: Roles, vocab: str) -> None:
        source, entry = self.source, self.seen.inputs[0]
        self.inputs = ("text",)
        length = entry.spec.at_gear(0)[0]
        open_length = f"the file leaves the length of a text open, and {length} is a guess; " if entry.open_axes else ""
        source.check(
            f"{open_length}is this the model's own vocabulary? It is taken as one of lower case: if it is not, add "
            "lowercase=False"
        )
        given = {role: name for name, role in zip(("ids", "mask", "type_ids"), roles) if role}
        source.extend(_tokenized(vocab, entry, [given.get(role, "_") for role in roles]))
        self.given = tuple(given[entry.name] for entry in self.seen.inputs)

    def _raw(self, roles: Roles | None) -> None:
        source = self.source
        taken: set[str] = set(_RESERVED)
        names: dict[str, str] = {}
        for entry in self.seen.inputs:
            names[entry.name] = unique(identifier(entry.name), taken)
            taken.add(names[entry.name])
        if roles is not None:
            made = _tokenized("vocab.txt", self.seen.inputs[0], [names.get(role, "_") for role in roles])
            source.check("the ids of a text are taken as they are; if you have the model's vocabulary, vocab.txt", made)
        elif all(entry.is_ids for entry in self.seen.inputs):
            what = ", ".join(entry.name for entry in self.seen.inputs)
            source.check(
                f"whole numbers, as of a text, are taken as they are: of {what} it is not clear which takes the ids, "
                "the mask and the type_ids that ops.Tokenize makes"
            )
        sizes = {
            entry.dims[axis] or f"dim {axis} of {entry.name}": entry.spec.shape[axis]
            for entry in self.seen.inputs
            for axis in entry.open_axes
        }
        if sizes:
            guesses = ", ".join(f"{name} {size}" for name, size in sizes.items())
            source.check(f"the file leaves sizes of its inputs open; these are guesses: {guesses}")
        for entry, name in zip(self.seen.inputs, names.values()):
            spec = f'ops.TensorSpec("{entry.spec.dtype}", {tupled(entry.spec.shape)})'
            source.call(f"{name} = pipeline.input", quoted(name), spec)
            self.inputs = self.given = (*self.given, name)


def _tokenized(vocab: str, entry: Entry, names: Sequence[str]) -> Source:
    """From a text to the inputs of a model. entry: one of them; names: the variables, "_" for one that has none."""
    source, length = Source(), entry.spec.at_gear(0)[0]
    source.add('text = pipeline.input("text", ops.TEXT)', "UTF-8: bytes")
    dtype = [] if entry.spec.dtype == "int64" else [f'dtype="{entry.spec.dtype}"']
    source.call("tokenize = ops.Tokenize", f"vocab={quoted(vocab)}", f"max_length={length}", *dtype)
    source.add(f"{', '.join(names)} = tokenize(text)", f"{entry.spec.dtype}[{length}] each")
    return source


def _vocab_by(model: Path) -> Path | None:
    """The vocabulary that lies by a model, or by its folder."""
    places = (folder / "vocab.txt" for folder in (model.parent, model.parent.parent))
    return next((place for place in places if place.is_file()), None)


def _too_large(seen: Look, roles: Roles, vocab: Path) -> str:
    """What is wrong with a vocabulary that makes ids for which the model has no row; "" for one that does not."""
    table = id_tables(seen.model.skeleton.model.graph).get(roles.ids)
    try:
        largest = Tokenize(vocab.absolute()).largest["ids"]
    except (OSError, SpecError) as error:
        return f"{vocab} cannot be read: {error}"
    if table is None or largest < table.rows:
        return ""
    return (
        f"{vocab} makes ids up to {largest}, and the model's table '{table.name}' has {table.rows} rows, for 0 to "
        f"{table.rows - 1}"
    )


def _first_reader(seen: Look) -> str:
    """The operator that reads the picture first."""
    names = {seen.inputs[0].name}
    for node in seen.model.skeleton.model.graph.node:
        if names.intersection(node.input):
            if node.op_type != "Cast":
                return node.op_type
            names.update(node.output)
    return ""
