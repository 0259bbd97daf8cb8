"""Rules of requests (R): what a loaded model refuses, or does wrong, when it is asked."""

from __future__ import annotations

from ...rules import Rule

REQUESTS = (
    Rule(
        "R01",
        "a request's batch is at most max_batch_size",
        "The server splits nothing.",
        "shape [16, 3] for max_batch_size: 8",
        "two requests of [8, 3]",
    ),
    Rule(
        "R02",
        "a request has the dims of the config",
        "With max_batch_size above 0 the batch is an axis of its own, in front of the dims.",
        "shape [3, 224, 224] for max_batch_size: 8, dims: [ 3, 224, 224 ]",
        "shape [1, 3, 224, 224]",
    ),
    Rule(
        "R03",
        "a request has the type of the config",
        "Nothing is converted.",
        "FP64 for TYPE_FP32",
        "array.astype(np.float32)",
    ),
    Rule(
        "R04",
        "a request has every input",
        "Only an input with `optional: true` may be left out.",
        "inputs: ids",
        "inputs: ids, mask",
    ),
    Rule(
        "R05",
        "a BYTES tensor holds as many elements as its shape says",
        "Each element is a length of four bytes, and the bytes.",
        "shape [2] and one element",
        "shape [2] and two elements",
    ),
    Rule(
        "R06",
        "a step without a batch axis gets a batch of 1",
        "Loading accepts equal dims; a batch of 2 then has one axis too many.",
        "max_batch_size: 0 dims: [ 3, 8, 8 ] behind max_batch_size: 4 dims: [ 3, 8, 8 ]",
        "max_batch_size: 4 in both",
    ),
    Rule(
        "R07",
        "a batch has at least one row",
        "24.02 may answer with a row that nobody sent, later releases refuse. Without a batch axis none can pass.",
        "shape [0, 4] for max_batch_size: 8",
        "max_batch_size: 0 dims: [ -1, 4 ]",
    ),
    Rule(
        "R08",
        "the inputs of a step have one batch size",
        "Rows belong together.",
        "x of 2 rows, y of 3 rows",
        "x of 2 rows, y of 2 rows",
    ),
    Rule(
        "R09",
        "every step writes what the ensemble waits for",
        "A model that leaves an output out stops the ensemble, or (later releases) the client gets no output.",
        "return InferenceResponse([])",
        'return InferenceResponse([Tensor("y", y)])',
    ),
    Rule(
        "R10",
        "a tensor that a step reads is not an output of the ensemble",
        "A request that names fewer outputs then fails (a bug in every release so far).",
        'output [ { name: "t" ... } ]  # and a step reads "t"',
        "the step emits it twice, under a second name",
    ),
    Rule(
        "R11",
        "a full queue refuses requests",
        "max_queue_size is an answer to overload: 503.",
        "max_queue_size: 1 behind 64 clients",
        "a larger max_queue_size, or clients that try again",
    ),
)
