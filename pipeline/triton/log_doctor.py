"""What the lines of a server's log mean, and what to do: `gepipe doctor --log FILE`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .log_of_cann import CANN


@dataclass(frozen=True)
class Entry:
    """A pattern of a log line; `rule` is what `gepipe rule` says more about, where there is one."""

    pattern: str
    meaning: str
    fix: str
    rule: str = ""


@dataclass(frozen=True)
class Explained:
    """A line of a log, and what it means."""

    line: int
    text: str
    entry: Entry

    def as_dict(self) -> dict[str, str | int]:
        entry = self.entry
        return {"line": self.line, "text": self.text, "meaning": entry.meaning, "fix": entry.fix, "rule": entry.rule}


_PLOG = "look at CANN's own log (~/ascend/log) of that time"
_STREAM = "the stream is lost after it: with one stream the model hangs until it is reloaded"

NPU_GE = (
    Entry(
        r"no npu card detected!",
        "the backend sees no NPU",
        "give the container its /dev/davinci* and the driver's mounts; `npu-smi info` must list the card",
    ),
    Entry(
        r"can't find model file in model path!|Model file not found: dir path",
        "no .onnx or .pb below the model's folder",
        "put one .onnx into <model>/1/",
        "V01",
    ),
    Entry(
        r"Failed to create model state: stoi",
        "a parameter that has to be a number is not one",
        'write "1", not "true", in static_model, device_ids and device_exec_blocks',
        "V04",
    ),
    Entry(
        r"Failed to create model state:",
        "the backend did not take the config or the model file",
        "the words behind it say why; `gepipe lint` checks both",
    ),
    Entry(
        r"not support model_mode_TENSOR_ZERO",
        "inputs and outputs are not known, or are all variable in a .pb",
        "list input and output in config.pbtxt, or keep auto-complete on",
        "V26",
    ),
    Entry(
        r"not support model_mode_",
        "a combination of dims that the backend does not run",
        "fix the dims, or write max_batch_size",
        "V12",
    ),
    Entry(
        r"-1 dim has no name",
        "an output dim is variable and has no name in the ONNX file",
        "name it in the model, by an expression of input dims",
        "V14",
    ),
    Entry(
        r"(\w+) have not find",
        "an output dim is named by something that is no input dim",
        "rename the dim in the model",
        "V14",
    ),
    Entry(
        r"Division by zero|Invalid operator|Invalid expression",
        "the name of an output dim cannot be computed: the server ends",
        "rename the dim in the model",
        "V14",
    ),
    Entry(
        r"buffer_size get error",
        "a request's bytes are not its batch times the dims of config.pbtxt",
        "fix the dims in config.pbtxt; merged requests need them",
        "V19",
    ),
    Entry(
        r"键 0 不存在",
        "a type that the backend does not know (key 0 is not there)",
        "put a Cast into the model, or list inputs and outputs in config.pbtxt",
        "V10",
    ),
    Entry(
        r"aclgrphParseONNX execute failed, ret is:",
        "GE cannot parse the ONNX file",
        f"look for E16002 or E19010 near it: an operator or opset that is not registered; {_PLOG}",
        "V24",
    ),
    Entry(
        r"E16002|No parser is registered for",
        "an operator of this opset has no parser",
        "export for opset 18 or lower, or without the operator",
        "V24",
    ),
    Entry(r"E19010", "GE does not support the graph", "export for opset 18 or lower; try the file with atc", "V24"),
    Entry(
        r"session_->AddGraph failed, ret is:",
        "GE did not take the graph's options",
        "check graph.* and session.* keys; gears are E1003x",
        "V16",
    ),
    Entry(
        r"session_->CompileGraph failed, ret is:",
        "the graph does not compile",
        f"an operator, a gear or memory: {_PLOG}",
        "V16",
    ),
    Entry(
        r"session_->LoadGraph failed, ret is:",
        "the compiled graph does not fit on the card",
        "fewer streams (weights are there once a stream), or fewer or smaller gears",
        "V07",
    ),
    Entry(
        r"E1003[5-9]|E1004[56]|E10001",
        "the gears are not as GE reads them",
        "check ge.inputShape and ge.dynamicDims",
        "V16",
    ),
    Entry(
        r"E13025",
        "a shape arrived that is no gear",
        f"cover every batch with gears, or make max_batch_size smaller; {_STREAM}",
        "V17",
    ),
    Entry(
        r"execute model failed, ret is:",
        "a request failed on the card",
        f"look for E13025 near it, else {_PLOG}; {_STREAM}",
        "V17",
    ),
    Entry(
        r"malloc dev buffer failed, ret is:",
        "no memory on the card",
        f"fewer streams or smaller gears; {_STREAM}",
        "V07",
    ),
    Entry(
        r"infer output failed!",
        "the size of an output could not be computed",
        "fix the output's dims, or rename them",
        "V14",
    ),
    Entry(
        r"InitGraphSession failed for graph_id:",
        "a stream of the model was not made",
        "the lines before it say why; every model after it waits for ever, so restart the server",
    ),
    Entry(
        r"init instance error, please check log for more info",
        "an instance was not made",
        "the lines before it say why; restart the server: later models wait for ever",
    ),
    Entry(
        r"ProcessRequests fail please check triton log find error info",
        "a request failed in the backend",
        f"the lines before it say why; {_STREAM}",
    ),
    Entry(r"E19999.*opp version", "a model that was compiled by another CANN", "compile it again with this CANN"),
    Entry(
        r"\b507011\b",
        "the card failed while it ran the graph",
        f"often memory at a large gear: use smaller ones; {_PLOG}",
    ),
    Entry(r"\b507035\b", "a vector core failed, or a stream did not finish", f"restart the server; {_PLOG}"),
)

TRITON = (
    Entry(
        r"Error parsing text-format inference\.ModelConfig: (\d+):(\d+)",
        "config.pbtxt does not parse: line and column are here",
        "`gepipe lint` names the file",
        "M01",
    ),
    Entry(
        r"failed to read text proto from",
        "config.pbtxt does not parse",
        "the line before says line and column; `gepipe lint` shows the place",
        "M01",
    ),
    Entry(
        r"unexpected directory name",
        "the name in config.pbtxt is not the folder's",
        "make them equal, or leave name out",
        "M02",
    ),
    Entry(r"unexpected platform type", "no backend is named", 'write backend: "npu_ge" instead of platform', "M03"),
    Entry(
        r"Could not determine backend for model",
        "neither config nor files say what runs the model",
        'write backend, or platform: "ensemble"',
        "E04",
    ),
    Entry(
        r"contains models that are not available or ambiguous",
        "a step's model is not in the repository, or its config is refused",
        "mend that model first",
        "E20",
    ),
    Entry(r"circular dependency between ensembles", "an ensemble contains itself", "break the circle", "E21"),
    Entry(
        r"whose required version \d+ is not loaded",
        "a step asks for a version that is not there; left out it means 0",
        "write model_version: -1",
        "E23",
    ),
    Entry(r"which has no loaded version", "a step's model failed", "mend that model first", "E22"),
    Entry(
        r"is not written",
        "an output of an ensemble has no value",
        "`gepipe lint` walks back to the missing tensor",
        "E14",
    ),
    Entry(r"inconsistent data type", "two ends of an edge have different types", "make them equal", "E34"),
    Entry(
        r"inconsistent shape", "two ends of an edge have different dims", "make dims and max_batch_size agree", "E35"
    ),
    Entry(
        r"at least one version must be available",
        "no version folder is there",
        "make <model>/1/ with a file in it",
        "M20",
    ),
    Entry(
        r"unable to find backend library", "the server does not have the backend", "mend its name, or install it", "M23"
    ),
    Entry(
        r"KIND_GPU but no GPUs are available|server does not support GPUs",
        "the server has no GPU",
        "write kind: KIND_CPU",
        "M25",
    ),
    Entry(
        r"unexpected deadlock",
        "an ensemble waits for a tensor that will not come",
        "see R10 if a request named fewer outputs, else a model left an output out",
        "R10",
    ),
    Entry(
        r"Exceeds maximum queue size", "a queue is full", "send less at a time, or write a larger max_queue_size", "R11"
    ),
    Entry(
        r"Stub process '.*' is not healthy",
        "the Python process of a model died; it is not started again",
        "unload and load the model; look for its last words above",
    ),
    Entry(
        r"lock_exception",
        "two servers started at the same time and share their memory's names",
        "start them one after the other, or give each its own /dev/shm",
    ),
    Entry(
        r"Failed to increase the shared memory pool size|No space left on device.*shm|bus error",
        "/dev/shm is too small",
        "docker run --shm-size, or --ipc=host",
    ),
    Entry(
        r"output tensor shape does not match size of output",
        "the stub's numpy is 2, and this release needs 1",
        "pip install 'numpy<2' for the server's Python",
    ),
    Entry(
        r"indices element out of data bounds|invalid index found, index =|an id is \d+",
        "a request has an id for which the model's table has no row",
        "give ids below the number of rows; is the tokenizer's vocabulary the model's?",
    ),
    Entry(r"libpython3\.\d+\.so", "the stub does not find its Python", "put the matching libpython on LD_LIBRARY_PATH"),
    Entry(
        r"ModuleNotFoundError: No module named '(\w+)'",
        "the server's Python lacks a module",
        "install it there, or export with --bundle or --environment",
    ),
)

_LONGEST = 10_000  # letters of a line that are looked at: some patterns take a time that grows with its square
_BOOK = tuple((re.compile(entry.pattern), entry) for entry in (*NPU_GE, *(Entry(*row) for row in CANN), *TRITON))


def explain_log(lines: Iterable[str]) -> Iterator[Explained]:
    """The lines of a log that are known, in order; the same words of one meaning are told once.

    >>> [(found.line, found.entry.rule) for found in explain_log(["I.. ok", "E.. E13025 The input tensor dimension"])]
    [(2, 'V17')]
    """
    told: set[tuple[Entry, str]] = set()
    for number, line in enumerate(lines, start=1):
        text = line.strip()[:_LONGEST]
        for pattern, entry in _BOOK:
            if pattern.search(text):
                words = re.sub(r"^.*?\] ", "", text, count=1)
                if (entry, words) not in told:
                    told.add((entry, words))
                    yield Explained(number, text, entry)
                break
