"""What was exported works on a server that has nothing of ours."""

from __future__ import annotations

import pytest
from foreign import HOST_STAGES, STRANGERS, environment
from served import Exported, Served, ask, batch, in_process, on_the_wire
from triton_servers import Start

from pipeline.triton.releases import TARGETS

pytestmark = [pytest.mark.triton, pytest.mark.weights]


@pytest.mark.parametrize("target", TARGETS)
def test_both_examples_answer_on_old_packages_beside_strangers_with_our_names_and_without_a_network(
    target: str, exported: Exported, triton_server: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = environment("host-stages", HOST_STAGES, STRANGERS)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # where nobody listens
    server = triton_server(exported.root, target=target, environment=python)
    for served in (exported.yolo11, exported.cnclip):
        check(server.url, served)


def check(url: str, served: Served) -> None:
    """The bytes of the in-process answers: the runtime is the same, and decoding and resizing agree across releases."""
    got = ask(url, served.name, batch(served, range(4)))
    want = on_the_wire(in_process(served, 4), got)
    assert {name: array.tobytes() for name, array in got.items()} == {
        name: array.tobytes() for name, array in want.items()
    }
