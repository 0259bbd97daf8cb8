"""Tokenize: text to the ids that a BERT-type model reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from .asset import Asset
from .errors import SampleError, SpecError
from .op import Edge, Op
from .spec import Array, TensorSpec, canonical_dtype, require, require_flag, require_whole
from .wordpiece import WordPiece

_NEEDED = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


class TokenizeEdges(NamedTuple):
    """What Tokenize makes."""

    ids: Edge
    mask: Edge
    type_ids: Edge


@dataclass(frozen=True)
class Tokenize(Op[TokenizeEdges]):
    """BERT WordPiece: [CLS] pieces [SEP] [PAD]..., cut to max_length with [SEP] kept.

    vocab:      one token a line, relative to the file that declares it
    lowercase:  lower case without accents, as uncased and Chinese models were trained
    dtype:      int64, or int32 for a model that was exported so

    Input:      text      bytes               UTF-8, may be empty
    Output:     ids       int64[max_length]   line numbers of the vocabulary; the id of [PAD] behind [SEP]
                mask      int64[max_length]   1 up to [SEP], 0 behind it
                type_ids  int64[max_length]   0: one text is one segment
    Errors:     SpecError when the vocabulary is missing or lacks [PAD], [UNK], [CLS] or [SEP], or when max_length
                or dtype cannot be. SampleError for text that is not UTF-8.
    Reference:  tokenizers 0.23.3, BertWordPieceTokenizer(vocab, lowercase=lowercase). Like it, a special token written
                in the text ("[SEP]") is that token, and a word of over 100 characters is [UNK]. Chinese-CLIP's own
                tokenizer takes the former for punctuation and letters, and cuts words of up to 200 characters.
    Deviation:  none

    >>> vocab = os.path.abspath("examples/cnclip/vocab.txt")
    >>> ids, mask, type_ids = Tokenize(vocab, max_length=7).run("杰尼龟".encode())
    >>> ids.tolist(), mask.tolist()
    ([101, 3345, 2225, 7991, 102, 0, 0], [1, 1, 1, 1, 1, 0, 0])
    """

    vocab: str | os.PathLike[str] | Asset
    max_length: int = 52
    lowercase: bool = True
    dtype: str = "int64"

    def __post_init__(self) -> None:
        object.__setattr__(self, "vocab", Asset.of(self.vocab))

    def infer(self, text: TensorSpec) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
        require(text, "text", dtype=("bytes",), rank=0)
        require_flag("lowercase", self.lowercase)
        self._asset.check()
        lacking = [token for token in _NEEDED if token not in self._wordpiece.ids]
        if lacking:
            raise SpecError(
                f"{self._asset.path} lacks {', '.join(lacking)}",
                fix="give the vocab.txt of a BERT-type model, one token a line",
            )
        require_whole("max_length", self.max_length, least=2)  # [CLS] and [SEP] are always there
        if canonical_dtype(self.dtype) not in ("int32", "int64"):
            raise SpecError(f"dtype is {self.dtype}, wanted int32 or int64", fix="take the dtype of the model's input")
        spec = TensorSpec(self.dtype, (self.max_length,))
        return spec, spec, spec

    def run(self, text: bytes, out: Mapping[str, Array] | None = None) -> tuple[Array, Array, Array]:
        try:
            decoded = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise SampleError(
                f"text is not UTF-8 at byte {error.start} of {len(text)} (0x{text[error.start]:02x})",
                fix="encode it as UTF-8",
            ) from error
        out = out or {}
        ids, mask, type_ids = (
            np.empty(self.max_length, self._numpy) if array is None else array
            for array in (out.get("ids"), out.get("mask"), out.get("type_ids"))
        )
        known = self._wordpiece.ids
        row = [known["[CLS]"], *self._wordpiece.pieces(decoded, self.max_length - 2), known["[SEP]"]]
        ids[: len(row)] = row
        ids[len(row) :] = known["[PAD]"]
        mask[: len(row)] = 1
        mask[len(row) :] = 0
        type_ids[:] = 0
        return ids, mask, type_ids

    @property
    def largest(self) -> Mapping[str, int]:
        return {"ids": max(self._wordpiece.ids.values()), "mask": 1, "type_ids": 0}

    @property
    def _asset(self) -> Asset:
        assert isinstance(self.vocab, Asset)
        return self.vocab

    @cached_property
    def _numpy(self) -> np.dtype[np.signedinteger]:
        return np.dtype(canonical_dtype(self.dtype))

    @cached_property
    def _wordpiece(self) -> WordPiece:
        path = self._asset.path
        status = os.stat(path)
        return _read(path, status.st_mtime_ns, status.st_size, self.lowercase)


@lru_cache(maxsize=8)
def _read(path: str, mtime_ns: int, size: int, lowercase: bool) -> WordPiece:
    """The vocabulary of a file; read again when the file has changed."""
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            lines = file.read().removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise SpecError(f"{path} is not UTF-8 text", fix="give the vocab.txt of a BERT-type model") from error
    return WordPiece([line.rstrip() for line in lines], lowercase)
