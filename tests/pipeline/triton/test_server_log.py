from __future__ import annotations

import pytest

from pipeline.triton.server_log import reasons

LOG = """\
W1129 21:11:51.090890 12505 pinned_memory_manager.cc:271] Unable to allocate pinned system memory
E1129 21:11:51.091040 12505 server.cc:243] CudaDriverHelper has not been initialized.
[libprotobuf ERROR /build/text_format.cc:335] Error parsing text-format inference.ModelConfig: 3:32: Expected integer
E1129 21:11:51.092194 12505 model_repository_manager.cc:1335] Poll failed for model directory 'nope': failed to read
I1129 21:11:51.092194 12505 server.cc:1] all is well
E1129 21:11:52.661669 12505 backend_model.cc:691] ERROR: Failed to create instance: RuntimeError: no weights today
E1129 21:11:52.661758 12505 model_lifecycle.cc:638] failed to load 'boom' version 1: Internal: RuntimeError: no weights

At:
  boom/1/model.py(3): initialize

+------+
E1129 21:12:00.726149270   12825 chttp2_server.cc:1080]      UNKNOWN:No address added {created_time:"2026-11-29"}
E1129 21:12:00.726292 12825 main.cc:245] failed to start GRPC service: Unavailable - Socket '127.0.0.1:1' already in use
error: creating server: Internal - failed to load all models
"""
WANT = [
    "Error parsing text-format inference.ModelConfig: 3:32: Expected integer",
    "Poll failed for model directory 'nope': failed to read",
    "failed to load 'boom' version 1: Internal: RuntimeError: no weights\nAt:\n  boom/1/model.py(3): initialize",
    "failed to start GRPC service: Unavailable - Socket '127.0.0.1:1' already in use",
    "creating server: Internal - failed to load all models",
]


def test_the_errors_of_a_log_are_told_without_what_is_said_for_want_of_a_gpu() -> None:
    assert reasons(LOG) == WANT


def test_messages_that_newer_servers_quote_are_told_as_they_are() -> None:
    line = "E1129 21:11:55.2 1 model.cc:642] \"failed to load 'boom'\\n\\nAt:\\n  model.py(3): initialize\\n\""
    assert reasons(line) == ["failed to load 'boom'\nAt:\n  model.py(3): initialize"]


@pytest.mark.parametrize("log", ["", "I1129 21:11:51.092194 12505 server.cc:1] all is well\n", "print of a model\n"])
def test_a_log_without_errors_has_no_reasons(log: str) -> None:
    assert reasons(log) == []
