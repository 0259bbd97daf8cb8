from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lint_case import ECHO, Case, config, ensemble, host, step, tensor
from lint_cases import CASES, write_cases
from lint_npu import npu_model
from lint_published import PUBLISHED, write_published

from ops import Finding, GepipeError, SpecError
from pipeline.rulebook import BOOK
from pipeline.triton.lint import lint


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> tuple[Finding, ...]:
    repository = tmp_path_factory.mktemp("models")
    write_cases(repository)
    return lint(repository)


def of(findings: tuple[Finding, ...], model: str) -> list[Finding]:
    return [found for found in findings if f"/{model}/" in f"{found.where}/"]


def linted(repository: Path, *cases: Case) -> dict[str, Finding]:
    """The findings of some models, by rule."""
    write_cases(repository, cases)
    return {found.rule: found for found in lint(repository)}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_model_has_the_findings_that_it_should(case: Case, findings: tuple[Finding, ...]) -> None:
    found = of(findings, case.name)
    assert sorted({finding.rule for finding in found}) == sorted(case.rules)
    assert not case.words or any(case.words in finding.message for finding in found)
    if case.loads is not None:
        assert any(finding.severity == "refused" for finding in found) != case.loads


def test_every_finding_has_a_rule_a_place_and_a_remedy(findings: tuple[Finding, ...]) -> None:
    assert {found.rule for found in findings} <= set(BOOK)
    assert all(found.where and found.message and found.fix for found in findings)


def test_findings_are_ordered_by_file_and_line(findings: tuple[Finding, ...]) -> None:
    places = [re.fullmatch(r"(.*?)(?::(\d+))?", found.where) for found in findings]
    order = [(place[1], int(place[2] or 0)) for place in places if place]
    assert order == sorted(order)


def test_a_finding_stands_at_the_line_that_is_wrong(tmp_path: Path) -> None:
    text = config("max_batch_size: 4\n\n# 中文\ndynamic_batching {\n  preferred_batch_size: [\n    8\n  ]\n}")
    found = linted(tmp_path, host("a", text))
    assert found["M06"].where == f"{tmp_path / 'a' / 'config.pbtxt'}:6"


def test_all_problems_of_all_models_come_at_once(tmp_path: Path) -> None:
    wrong = config("max_batch_size: -1 instance_group [ { kind: KIND_GPU } ]").replace("[ 4 ]", "[ 0 ]")
    found = linted(tmp_path, host("a", wrong), host("b", "broken {"))
    assert set(found) == {"M05", "M25", "M27", "M01"}


def test_every_field_and_value_that_is_misspelt_is_found(tmp_path: Path) -> None:
    text = config("max_batchsize: 4\ndynamic_batching { preferred_size: [ 4 ] }").replace("TYPE_FP32", "FP32")
    write_cases(tmp_path, [host("a", text)])
    found = [(finding.rule, finding.where.rpartition(":")[2]) for finding in lint(tmp_path)]
    assert found == [("M01", line) for line in "2345"]


PUBLISHED_RULES = {
    "bert": ({"M03"}, "unexpected platform type 'graph_executor'", 'write backend: "npu_ge" instead of platform'),
    "clip_ensemble": ({"M01"}, "20:1", "mend that place"),
    "cnclip": ({"V20"}, "precision is not written", "origin"),
    "cnclip_cores": ({"V02"}, "'ge.aicoreNum' is dropped", "session.ge.aicoreNum"),
    "cnclip_gears": ({"V17", "V20", "V08"}, "no gear for batch 9..128", "max_batch_size: 8"),
    "cnclip_many": ({"V18", "V20"}, "dynamic_batching without preferred_batch_size", "preferred_batch_size: [ 8 ]"),
    "ensemble_top_step": ({"M01"}, 'no field named "step"', "ensemble_scheduling { step [ { model_name"),
    "graph_executor": ({"M03"}, "unexpected platform type 'graph_executor'", 'DEVICE_ID is now "device_ids"'),
}


def test_every_published_config_is_tried() -> None:
    assert {path.stem for path in PUBLISHED.glob("*.pbtxt")} == set(PUBLISHED_RULES)


@pytest.mark.parametrize("name", PUBLISHED_RULES)
def test_a_published_config(name: str, tmp_path: Path) -> None:
    rules, message, fix = PUBLISHED_RULES[name]
    write_published(tmp_path)
    found = {finding.rule: finding for finding in of(lint(tmp_path), name)}
    assert set(found) == rules
    assert any(message in finding.message and fix in finding.fix for finding in found.values())


def test_the_old_dialect_is_told_what_to_write(tmp_path: Path) -> None:
    text = (PUBLISHED / "graph_executor.pbtxt").read_text(encoding="utf-8")
    found = linted(tmp_path, Case("graph_executor", text, files={"1/model.graphdef": ""}))["M03"]
    assert found.fix == (
        'write backend: "npu_ge" instead of platform; leave EXECUTOR_TYPE out; DEVICE_ID is now "device_ids"; '
        "1/model.graphdef becomes model.pb, or better one .onnx"
    )


def test_an_ensemble_is_explained_back_to_the_tensor_that_is_missing(tmp_path: Path) -> None:
    steps = [step("a", {"x": "imge"}, {"y": "t"}), step("a", {"x": "t"}, {"y": "out"})]
    found = linted(tmp_path, host("a", config()), ensemble("e", steps, inputs=[tensor("image")]))
    assert found["E14"].fix == "no step writes 'imge' (out <- t <- imge): did you mean 'image'?"


def test_a_circle_of_tensors_is_named(tmp_path: Path) -> None:
    steps = [step("a", {"x": "s"}, {"y": "t"}), step("a", {"x": "t"}, {"y": "s"})]
    found = linted(tmp_path, host("a", config()), ensemble("e", steps, inputs=[], outputs=[tensor("t")]))
    assert found["E14"].fix == "break the circle t <- s <- t"


def test_a_python_model_that_completes_its_config_is_not_guessed_at(tmp_path: Path) -> None:
    more = f"{ECHO}\n    def auto_complete_config(config): return config\n"
    steps = [step("a", {"image": "in"}, {"scores": "out"})]
    cases = host("a", 'backend: "python"', files={"1/model.py": more}), ensemble("e", steps)
    assert linted(tmp_path, *cases) == {}


def test_an_ensemble_of_ensembles(tmp_path: Path) -> None:
    inner = ensemble("inner", [step("a", {"x": "in"}, {"y": "out"})])
    outer = ensemble("outer", [step("inner", {"in": "in"}, {"out": "out"})])
    assert linted(tmp_path, host("a", config()), inner, outer) == {}
    (tmp_path / "a" / "config.pbtxt").write_text("broken {")
    assert {found.rule for found in lint(tmp_path)} == {"M01", "E20", "E22"}


@pytest.mark.parametrize(
    ("rule", "case", "words"),
    [
        ("L11", host("my model", config()), "does not decode ' ' in an address"),
        ("L11", host("图像", config()), "does not decode '像' '图'"),
        ("L12", host(".tmp_new", config()), "polls '.tmp_new' as a model"),
        ("L13", host("a", config(), folders=("1", "01")), "'01' is ignored"),
        ("L13", host("a", config(), folders=("1", "2_old")), "'2_old' counts as version 2"),
        ("L13", host("a", config(), folders=("-3",), files={"-3/model.py": ECHO}), "version -3"),
        ("L17", host("a", config(), folders=("2_old",), files={"2_old/model.py": ECHO}), "2/model.py is not there"),
        ("M21", host("a", config(), folders=("1", "9" * 20)), "ends the whole server"),
        ("M21", host("a", config(), folders=("1", "1" + "0" * 250)), "ends the whole server"),
        ("M22", host("a", config(), folders=("1", "warmup"), files={"warmup/model.py": ECHO}), "never a version"),
        ("M36", host("a(b)", config()), "contains invalid characters"),
        ("M23", Case("a", config(head='backend: "mine"')), "if the server does not have it"),
        ("M24", host("a", config('runtime: "../x/lib.so"')), "leads out of the backend directory"),
        (
            "L14",
            Case("a", config(head='backend: "repeat" model_warmup [ { name: "w" batch_size: 2 } ]')),
            "never comes",
        ),
    ],
)
def test_what_no_server_should_be_asked(rule: str, case: Case, words: str, tmp_path: Path) -> None:
    assert words in linted(tmp_path, case)[rule].message


def test_a_hidden_folder_without_a_config_is_told_once(tmp_path: Path) -> None:
    (tmp_path / ".git" / "objects").mkdir(parents=True)
    assert [(finding.rule, finding.severity) for finding in lint(tmp_path)] == [("L12", "refused")]


def test_a_library_beside_the_model_is_its_backend(tmp_path: Path) -> None:
    assert linted(tmp_path, Case("a", config(head='backend: "mine"'), files={"1/libtriton_mine.so": ""})) == {}


def test_links_out_of_the_repository_are_found_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    host("secret", "broken {").write(outside)
    repository = tmp_path / "models"
    host("a", config()).write(repository)
    os.symlink(outside / "secret", repository / "b")
    os.symlink(outside / "secret" / "config.pbtxt", repository / "a" / "1" / "labels.txt")
    os.symlink(outside, repository / "a" / "more")
    (repository / "c" / "1").mkdir(parents=True)
    os.symlink(outside / "secret" / "config.pbtxt", repository / "c" / "config.pbtxt")
    found = lint(repository)
    assert {finding.rule for finding in found} == {"L20"}
    assert [Path(finding.where).relative_to(repository).as_posix() for finding in found] == [
        "a/1/labels.txt", "a/more", "b", "c/config.pbtxt",
    ]  # fmt: skip


def test_links_inside_the_repository_are_fine_even_in_circles(tmp_path: Path) -> None:
    host("a", config()).write(tmp_path)
    os.symlink(tmp_path / "a", tmp_path / "a" / "again")
    os.symlink(tmp_path / "a" / "1", tmp_path / "a" / "2")
    assert lint(tmp_path) == ()


def test_a_broken_link_is_no_accident(tmp_path: Path) -> None:
    host("a", config()).write(tmp_path)
    os.symlink(tmp_path / "nowhere", tmp_path / "a" / "1" / "data")
    os.symlink("config.pbtxt", tmp_path / "a" / "1" / "config.pbtxt")
    assert lint(tmp_path) == ()


def test_odd_files_where_a_config_should_be(tmp_path: Path) -> None:
    (tmp_path / "folder" / "config.pbtxt").mkdir(parents=True)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "config.pbtxt")
    (tmp_path / "README.md").write_text("no model")
    found = lint(tmp_path)
    assert [finding.rule for finding in found] == ["M01", "M01"]
    assert all("no file" in finding.message for finding in found)


def test_a_config_without_end_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with (tmp_path / "a" / "config.pbtxt").open("wb") as file:
        file.truncate(5 << 20)
    assert [finding.rule for finding in lint(tmp_path)] == ["L21"]


@pytest.mark.parametrize("opening", ["input {", "input [", "a <", "parameters { value {"])
def test_nesting_without_end(opening: str, tmp_path: Path) -> None:
    assert set(linted(tmp_path, Case("a", opening * 10_000))) == {"M01"}


def test_text_in_another_encoding_is_advice_in_comments_and_refused_outside(tmp_path: Path) -> None:
    for name, data in (("comment", "# 你好\n".encode("gbk")), ("outside", "你好".encode("gbk"))):
        host(name, config()).write(tmp_path)
        path = tmp_path / name / "config.pbtxt"
        path.write_bytes(data + path.read_bytes())
    found = {finding.rule: finding for finding in lint(tmp_path)}
    assert set(found) == {"L22", "M01"}
    assert found["L22"].severity == "advice"
    assert "only ASCII stands there" in found["M01"].message


def test_nothing_of_a_repository_is_run(tmp_path: Path) -> None:
    trap = f"open({str(tmp_path / 'sprung')!r}, 'w')\n"
    linted(
        tmp_path / "models", host("a", config(), files={"1/model.py": trap, "1/__init__.py": trap, "conftest.py": trap})
    )
    assert not (tmp_path / "sprung").exists()


def test_an_empty_repository_has_no_problem(tmp_path: Path) -> None:
    assert lint(tmp_path) == ()


def test_what_is_no_repository(tmp_path: Path) -> None:
    with pytest.raises(GepipeError, match="there is no folder"):
        lint(tmp_path / "nowhere")
    with pytest.raises(SpecError, match=r"there is no schema of Triton 23\.01"):
        lint(tmp_path, "23.01")


def test_the_release_decides_which_fields_there_are(tmp_path: Path) -> None:
    text = config().replace("dims: [ 4 ]", "dims: [ 4 ] is_non_linear_format_io: true", 1)
    host("a", text).write(tmp_path)
    assert [finding.rule for finding in lint(tmp_path, "24.02")] == ["M01"]
    assert [finding.rule for finding in lint(tmp_path, "24.10")] == ["M29"]


def test_fifty_models_take_less_than_two_seconds(tmp_path: Path) -> None:
    for number in range(25):
        model = npu_model(tmp_path / "made")
        shutil.move(model, tmp_path / "models" / f"device_{number}") if number else shutil.copytree(
            model, tmp_path / "models" / "device_0"
        )
        shutil.rmtree(tmp_path / "made")
        host(f"host_{number}", config("max_batch_size: 4")).write(tmp_path / "models")
    start = time.perf_counter()
    assert lint(tmp_path / "models") == ()
    assert time.perf_counter() - start < 2


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([case for case in CASES if case.config]), st.randoms(use_true_random=False))
def test_whatever_is_written_lint_has_an_answer(
    tmp_path_factory: pytest.TempPathFactory, case: Case, random: object
) -> None:
    text = list(case.config or "")
    for _ in range(random.randint(1, 6)):  # type: ignore[attr-defined]
        place = random.randrange(len(text) + 1)  # type: ignore[attr-defined]
        text[place : place + random.randint(0, 3)] = random.choice(
            ["", "{", "}", "[", "]", '"', "-1", "0", ",", "x", "\\", "9" * 30]
        )  # type: ignore[attr-defined]
    folder = tmp_path_factory.mktemp("models")
    Case(case.name, "".join(text), files={"1/model.py": ECHO}).write(folder)
    assert all(finding.rule in BOOK for finding in lint(folder))


def test_a_folder_that_cannot_be_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # whoever runs the tests may read everything
    (finding,) = lint(tmp_path)
    assert (finding.rule, finding.where) == ("M01", str(tmp_path / "m"))
    assert "the folder cannot be read by this user" in finding.message
