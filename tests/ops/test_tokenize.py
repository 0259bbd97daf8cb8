import json
import os
import random
import runpy
from pathlib import Path

import numpy as np
import pytest
from expecting import Expect
from tokenizers import BertWordPieceTokenizer

from ops.asset import Asset
from ops.errors import SampleError, SpecError
from ops.serial import op_from_json, op_to_json
from ops.spec import ENCODED_IMAGE, TEXT, TensorSpec
from ops.tokenize import Tokenize

ROOT = Path(__file__).parents[2]
CNCLIP = str(ROOT / "examples" / "cnclip" / "vocab.txt")
MINILM = str(ROOT / "tests" / "data" / "minilm_vocab.txt")
VOCABULARIES = pytest.mark.parametrize(("vocab", "dtype"), [(CNCLIP, "int64"), (MINILM, "int32")])


def reference(vocab: str, max_length: int, lowercase: bool = True) -> BertWordPieceTokenizer:
    tokenizer = BertWordPieceTokenizer(vocab, lowercase=lowercase)
    tokenizer.enable_truncation(max_length)
    tokenizer.enable_padding(length=max_length)
    return tokenizer


def made_lines(count: int, seed: int) -> list[str]:
    """Fragments of every kind that text brings, strung together."""
    rng = random.Random(seed)
    ranges = {
        "chinese": (0x4E00, 0x9FA6),
        "rare ideographs": (0x3400, 0x4DC0),
        "compatibility ideographs": (0xF900, 0xFB00),
        "ideographs of plane 2": (0x20000, 0x2FA20),
        "ascii": (0x20, 0x7F),
        "letters": (0x61, 0x7B),
        "digits": (0x30, 0x3A),
        "latin": (0xA0, 0x250),
        "extended latin": (0x1E00, 0x2000),
        "greek and cyrillic": (0x370, 0x530),
        "hebrew and arabic": (0x590, 0x8FF),
        "indic": (0x900, 0xE00),
        "thai": (0xE00, 0xE80),
        "kana": (0x3040, 0x3100),
        "hangul": (0xAC00, 0xD7A4),
        "jamo": (0x1100, 0x1200),
        "combining": (0x300, 0x370),
        "controls": (0x0, 0x20),
        "more controls": (0x7F, 0xA0),
        "punctuation and symbols": (0x2000, 0x2C00),
        "full width": (0xFF00, 0x10000),
        "emoji": (0x1F300, 0x1FA00),
        "musical": (0x1D100, 0x1D200),
        "private": (0xE000, 0xF8FF),
        "anything": (0xE000, 0x110000),
    }
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
    fixed = [
        *("Σ", "ΑΣ", "ΟΔΟΣ.", "İ", "ISTANBUL İ", "ß", "ẞ", "Straße", "\ufb01", "\u00c5", "A\u030a", "\u212b", "ñ"),
        *("각", "\u1100\u1161\u11a8", "\u1100\u1161", "e\u0301\u0327", "你\u0301好", "≠", "\u037e", "\u0f76", "ก็"),
        *("\u302e\U0001d165\u0334\u1b44", family, "🏳\ufe0f\u200d🌈", "🇨🇳", "👍\U0001f3fd", "1\ufe0f\u20e3"),
        *("\x00", "\ufffd", "\u00a0", "\u3000", "\u2028", "\t", "\r\n", "\x85", "\u200b", "\ufeff", "\u00ad"),
        *("[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]", "[cls]", "[CLS", "[[SEP]]", "##ing", "[C\u200dLS]"),
        *("don't", "3.14", "10,000", "user@example.com", "electroencephalography", "杰尼龟", "一只猫", "COVID-19"),
        *("x" * 100, "x" * 101, "supercalifragilistic" * 6, "é" * 100, "e\u0301" * 100, "字" * 120, "가" * 40),
    ]
    spans = list(ranges.values())

    def fragment() -> str:
        if rng.random() < 0.3:
            return rng.choice(fixed)
        first, end = rng.choice(spans)
        return "".join(chr(rng.randrange(first, end)) for _ in range(rng.randrange(1, 9)))

    return [rng.choice(("", " ", "  ", "")).join(fragment() for _ in range(rng.randrange(0, 16))) for _ in range(count)]


@VOCABULARIES
def test_ten_thousand_mixed_lines_equal_tokenizers(vocab: str, dtype: str) -> None:
    lines = made_lines(10_000, seed=20240229)
    op = Tokenize(vocab, max_length=52, dtype=dtype)
    tokenizer = reference(vocab, 52)
    truncated = 0
    for line in lines:
        want = tokenizer.encode(line)
        ids, mask, type_ids = op.run(line.encode())
        assert ids.tolist() == want.ids, ascii(line)
        assert mask.tolist() == want.attention_mask, ascii(line)
        assert type_ids.tolist() == want.type_ids, ascii(line)
        truncated += bool(mask.all())
    assert 500 < truncated < 9500, "the lines are all long or all short"


def test_cased_lines_equal_tokenizers() -> None:
    lines = made_lines(2_000, seed=7)
    op = Tokenize(MINILM, max_length=32, lowercase=False)
    tokenizer = reference(MINILM, 32, lowercase=False)
    for line in lines:
        assert op.run(line.encode())[0].tolist() == tokenizer.encode(line).ids, ascii(line)


@VOCABULARIES
def test_a_sentence_keeps_every_promise(expect: Expect, vocab: str, dtype: str) -> None:
    text = "A cat, 一只猫 — naïve café 2024!"
    want = reference(vocab, 32).encode(text)
    arrays = tuple(np.array(row, dtype) for row in (want.ids, want.attention_mask, want.type_ids))
    expect(Tokenize(vocab, max_length=32, dtype=dtype), text.encode(), want=arrays)


def test_the_example_of_chinese_clip_gives_its_published_ids(expect: Expect) -> None:
    """The ids are those of cn_clip.clip.tokenize(["杰尼龟"])."""
    ids = np.zeros(52, np.int64)
    ids[:5] = 101, 3345, 2225, 7991, 102
    expect(Tokenize(CNCLIP), "杰尼龟".encode(), want=(ids, np.int64(ids > 0), np.zeros(52, np.int64)))


def test_out_takes_any_subset() -> None:
    op = Tokenize(CNCLIP, max_length=8)
    text = "一只猫".encode()
    ids, mask, type_ids = op.run(text)
    rows = {name: np.full(8, 77) for name in ("ids", "type_ids")}
    made = op.run(text, out=rows)
    assert made[0] is rows["ids"]
    assert made[2] is rows["type_ids"]
    np.testing.assert_array_equal(made, (ids, mask, type_ids))


@pytest.mark.parametrize("text", ["", " \t\r\n\u3000", "\x00\x01\u200b\ufeff", "\u0301\u0302"])
def test_text_without_a_word_is_cls_and_sep(text: str) -> None:
    ids, mask, _ = Tokenize(CNCLIP, max_length=4).run(text.encode())
    assert ids.tolist() == [101, 102, 0, 0] == reference(CNCLIP, 4).encode(text).ids
    assert mask.tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("max_length", [2, 3, 7])
def test_truncation_keeps_sep(max_length: int) -> None:
    text = "猫狗鸟鱼马牛羊"
    ids, mask, _ = Tokenize(CNCLIP, max_length=max_length).run(text.encode())
    assert ids.tolist() == reference(CNCLIP, max_length).encode(text).ids
    assert ids[-1] == 102
    assert mask.all()


def test_a_special_token_in_the_text_is_that_token() -> None:
    ids, mask, _ = Tokenize(CNCLIP, max_length=8).run("猫[SEP]狗 [PAD]".encode())
    assert ids.tolist() == [101, 4344, 102, 4318, 0, 102, 0, 0]
    assert mask.tolist() == [1, 1, 1, 1, 1, 1, 0, 0]


def test_text_that_is_not_utf8_names_the_byte() -> None:
    with pytest.raises(SampleError, match=r"text is not UTF-8 at byte 3 of 5 \(0xff\)") as error:
        Tokenize(CNCLIP).run("猫".encode() + b"\xffa")
    assert error.value.fix == "encode it as UTF-8"
    with pytest.raises(SampleError, match="not UTF-8 at byte 0 of 2"):
        Tokenize(CNCLIP).run("猫".encode()[:2])


def test_the_pad_id_is_that_of_the_vocabulary(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_bytes("[UNK]\r\n[CLS]\r\n[SEP]\r\n[PAD]\r\n猫".encode())
    ids, _, _ = Tokenize(str(tmp_path / "vocab.txt"), max_length=5).run("猫".encode())
    assert ids.tolist() == [1, 4, 2, 3, 3]


def test_infer_says_the_three_specs() -> None:
    assert [str(spec) for spec in Tokenize(CNCLIP).infer(TEXT)] == ["int64[52]"] * 3
    assert [str(spec) for spec in Tokenize(CNCLIP, max_length=8, dtype="INT32").infer(TEXT)] == ["int32[8]"] * 3
    assert Tokenize(CNCLIP).output_names == ("ids", "mask", "type_ids")
    assert TEXT == ENCODED_IMAGE, "both are one bytes value a sample"


def test_vocab_is_relative_to_the_file_that_declares_it(tmp_path: Path) -> None:
    (tmp_path / "graph.py").write_text("from ops.tokenize import Tokenize\nop = Tokenize('tokens/vocab.txt')\n")
    op = runpy.run_path(str(tmp_path / "graph.py"))["op"]
    assert op.vocab == Asset(str(tmp_path / "tokens" / "vocab.txt"))


def test_nothing_is_read_before_infer_or_run(tmp_path: Path) -> None:
    op = Tokenize(str(tmp_path / "vocab.txt"))
    with pytest.raises(SpecError, match=r"there is no file .*vocab\.txt"):
        op.infer(TEXT)
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n")
    op.infer(TEXT)


def test_a_changed_vocabulary_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n")
    assert Tokenize(str(path), max_length=3).run(b"cat")[0].tolist() == [2, 1, 3]
    path.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\ncat\n")
    assert Tokenize(str(path), max_length=3).run(b"cat")[0].tolist() == [2, 4, 3]


def test_json_holds_the_file_and_reads_back_equal(tmp_path: Path) -> None:
    op = Tokenize(str(tmp_path / "vocab.txt"), max_length=9, lowercase=False, dtype="int32")
    document = json.loads(json.dumps(op_to_json(op, str(tmp_path))))
    assert document["attributes"]["vocab"] == {"asset": "vocab.txt"}
    assert op_from_json(document, str(tmp_path)) == op
    assert os.path.dirname(op_from_json(document, str(ROOT)).vocab.path) == str(ROOT)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("tokens", "lacking"), [("[UNK]\n[CLS]\n", r"lacks \[PAD\], \[SEP\]"), ("{}", r"lacks \[PAD\], \[UNK\], \[CLS\]")]
)
def test_a_vocabulary_without_its_special_tokens_is_refused(tmp_path: Path, tokens: str, lacking: str) -> None:
    (tmp_path / "vocab.txt").write_text(tokens)
    with pytest.raises(SpecError, match=lacking) as error:
        Tokenize(str(tmp_path / "vocab.txt")).infer(TEXT)
    assert "one token a line" in error.value.fix


def test_a_vocabulary_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_bytes(b"\xff\xfe[\x00")
    with pytest.raises(SpecError, match="is not UTF-8 text"):
        Tokenize(str(tmp_path / "vocab.txt")).infer(TEXT)


def test_attributes_that_cannot_be_are_refused() -> None:
    for wrong in (1, 0, -5, 52.0, "52", True, None):
        with pytest.raises(SpecError, match=f"max_length is {wrong!r}"):
            Tokenize(CNCLIP, max_length=wrong).infer(TEXT)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="dtype is float32, wanted int32 or int64"):
        Tokenize(CNCLIP, dtype="float32").infer(TEXT)
    with pytest.raises(SpecError, match=r"uint8\[3\]: dtype is uint8, wanted bytes"):
        Tokenize(CNCLIP).infer(TensorSpec("uint8", (3,)))
