from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from tokenizers import BertWordPieceTokenizer
from weights import ROOT, laid_out

import ops
from ge_engine import Model
from ge_engine.builder import GraphBuilder
from ops import Array, TensorSpec
from pipeline import Pipeline

VOCAB = str(ROOT / "tests/data/minilm_vocab.txt")
LENGTH = 24
SENTENCES = (
    "A cat sits on the mat.",
    "A kitten is lying on a rug.",
    "Stocks fell sharply on Tuesday.",
    "",
    "Naïve café, 2024 — 一只猫 😀",
    "word " * 60,
)


def reference(dtype: str) -> dict[str, Array]:
    """What tokenizers makes of the sentences, by the names of BERT's inputs."""
    tokenizer = BertWordPieceTokenizer(VOCAB, lowercase=True)
    tokenizer.enable_truncation(LENGTH)
    tokenizer.enable_padding(length=LENGTH)
    rows = tokenizer.encode_batch(list(SENTENCES))
    ids, mask, types = ([getattr(row, name) for row in rows] for name in ("ids", "attention_mask", "type_ids"))
    return {
        "input_ids": np.array(ids, dtype),
        "attention_mask": np.array(mask, dtype),
        "token_type_ids": np.array(types, dtype),
    }


def embeddings(hidden: Array, mask: Array) -> Array:
    """As sentence-transformers do: the mean over the tokens that are there, at length 1."""
    weights = mask[:, :, None].astype(np.float64)
    means = (hidden * weights).sum(1) / weights.sum(1)
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return np.asarray(means / lengths)


def answers(pipeline: Pipeline, name: str) -> Array:
    """That output for all sentences: each alone, and the same in batches."""
    samples = [{"text": sentence} for sentence in SENTENCES]
    with pipeline.compile(gears=(1, 4)).session() as session:
        solo = [session.run(**sample)[name] for sample in samples]
        for n in range(len(samples) + 1):
            batch: list[Any] = session.run_batch(samples[:n])
            # ONNX Runtime sums in another order where the batch is 1.
            for answer, alone in zip(batch, solo):
                np.testing.assert_allclose(answer[name], alone, rtol=1e-5, atol=1e-6)
    return np.stack(solo)


@pytest.mark.weights
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_minilm_gives_the_sentence_vectors_of_onnx_runtime_fed_by_tokenizers(dtype: str) -> None:
    path = laid_out("tests/weights/minilm_int8.onnx")
    pipeline = Pipeline("minilm")
    tokens = ops.Tokenize(vocab=VOCAB, max_length=LENGTH, dtype=dtype)(pipeline.input("text", ops.TEXT))
    ids, mask, types = tokens if dtype == "int64" else (ops.Cast("int64")(edge) for edge in tokens)
    pipeline.output(hidden=Model(path)(ids, token_type_ids=types, attention_mask=mask))
    feeds = reference("int64")
    (want,) = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, feeds)
    got = answers(pipeline, "hidden")
    np.testing.assert_allclose(got, want, atol=1e-4)
    vectors = embeddings(got, feeds["attention_mask"])
    np.testing.assert_allclose(vectors, embeddings(want, feeds["attention_mask"]), atol=1e-5)
    likeness = vectors @ vectors.T
    assert likeness[0, 1] > 0.5 > likeness[0, 2]  # the cats are alike, the stocks are another matter


def test_a_bert_exported_with_int32_ids_and_mask_takes_them_as_tokenize_makes_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table, dense = (rng.normal(size=size).astype(np.float32) for size in ((30522, 8), (8, 4)))
    g = GraphBuilder(17)
    tokens = TensorSpec("int32", (LENGTH,))
    ids, mask = g.input("input_ids", tokens), g.input("attention_mask", tokens)
    present = g.op("Unsqueeze", g.op("Cast", mask, to=1), g.constant(np.array([2])))
    hidden = g.op("Mul", g.op("Gather", g.constant(table), ids), present)
    total = g.op("ReduceSum", hidden, g.constant(np.array([1])), keepdims=0)
    mean = g.op("Div", total, g.op("ReduceSum", present, g.constant(np.array([1])), keepdims=0))
    g.output("vector", g.op("Tanh", g.op("MatMul", mean, g.constant(dense))), TensorSpec("float32", (4,)))
    (tmp_path / "bert.onnx").write_bytes(g.model().SerializeToString())
    pipeline = Pipeline("bert")
    edges = ops.Tokenize(vocab=VOCAB, max_length=LENGTH, dtype="int32")(pipeline.input("text", ops.TEXT))
    vector = Model(tmp_path / "bert.onnx")(input_ids=edges.ids, attention_mask=edges.mask)
    pipeline.output(vector=vector, length_1=ops.L2Normalize()(vector))
    feeds = reference("int32")
    weights = feeds["attention_mask"][:, :, None].astype(np.float64)
    want = np.tanh((table[feeds["input_ids"]] * weights).sum(1) / weights.sum(1) @ dense)
    np.testing.assert_allclose(answers(pipeline, "vector"), want, rtol=1e-5, atol=1e-6)
    lengths = np.linalg.norm(want, axis=1, keepdims=True)
    np.testing.assert_allclose(answers(pipeline, "length_1"), want / lengths, rtol=1e-5, atol=1e-6)
