from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pipeline.triton.server_folder import ServerFolder


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def made(text: str = "words of a server") -> ServerFolder:
    folder = ServerFolder()
    folder.log.write_text(text)
    return folder


def age(folder: ServerFolder) -> None:
    for path in (folder.log, folder.path):
        os.utime(path, (1e9, 1e9))


def test_the_log_of_a_server_that_has_ended_can_be_read_for_a_day() -> None:
    ended = made()
    ended.close()
    ended.close()
    made().close()
    assert ended.log.read_text() == "words of a server"
    age(ended)
    made().close()
    assert not ended.path.exists()


def test_the_folder_of_a_server_that_runs_stays_however_quiet_it_is() -> None:
    running = made()
    age(running)
    made().close()
    assert running.log.exists()
    running.close()


def test_what_is_not_a_servers_folder_of_this_user_stays(temporary: Path) -> None:
    theirs = temporary / "notes"
    theirs.mkdir()
    link = temporary / "gepipe-serve-link"
    link.symlink_to(theirs, target_is_directory=True)
    os.utime(theirs, (1e9, 1e9))
    made().close()
    assert theirs.exists()
    assert link.is_symlink()


def test_of_servers_that_have_ended_only_the_newest_few_keep_their_logs(temporary: Path) -> None:
    ended = [made() for _ in range(12)]
    for age_s, folder in enumerate(reversed(ended)):
        moment = time.time() - age_s
        for path in (folder.log, folder.path):
            os.utime(path, (moment, moment))
        folder.close()
    running = made()
    assert [folder.path.exists() for folder in ended] == [False] * 4 + [True] * 8
    running.close()
