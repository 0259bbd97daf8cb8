from __future__ import annotations

import os
from pathlib import Path

import pytest

from ge_engine.cache.folders import IN_USE, Held
from ge_engine.cache.manifest import MANIFEST, About
from ge_engine.cache.store import Cache, Entry, said
from ge_engine.gears import Gear
from ge_engine.stage import Made, StaticGraph
from ops import BuildError

KEYS = [digit * 64 for digit in "abcdef"]
ABOUT = About("stage", ("1",), ())


def put(cache: Cache, key: str, nbytes: int = 1000) -> tuple[Held, Made]:
    """An entry as the build makes one, of about so many bytes."""
    held = cache.new()
    path = held.path / "stage_1.onnx"
    path.write_bytes(b"x" * nbytes)
    made = Made({Gear(1): StaticGraph(Gear(1), str(path), (), ())}, {}, None, None, (), ())
    return held, cache.keep(key, held, ABOUT, made)


def keys(cache: Cache) -> set[str]:
    return {entry.key for entry in cache.entries()}


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache", most_nbytes=12_000)  # three of 3,000 bytes, with what is beside them


def test_what_is_kept_is_taken(cache: Cache) -> None:
    assert cache.take(KEYS[0]) is None
    held, made = put(cache, KEYS[0])
    held.close()
    taken = cache.take(KEYS[0])
    assert taken is not None
    again, same = taken
    assert same == made
    assert Path(same.static[Gear(1)].path).parent == again.path == cache.folder / "entries" / KEYS[0]
    again.close()
    (entry,) = cache.entries()
    assert (entry.key, entry.name, entry.about) == (KEYS[0], "a" * 12, ABOUT)
    assert entry.nbytes > 1000
    assert [path.name for path in (cache.folder / "building").iterdir()] == []


def test_the_least_recently_used_makes_room_and_never_the_new_one(cache: Cache) -> None:
    for age, key in ((1, KEYS[0]), (3, KEYS[1]), (2, KEYS[2])):
        put(cache, key, 3000)[0].close()
        os.utime(cache.folder / "entries" / key / IN_USE, (1e9 - age, 1e9 - age))
    taken = cache.take(KEYS[1])  # now it is the one that was used last
    assert taken is not None
    taken[0].close()
    put(cache, KEYS[3], 3000)[0].close()
    assert keys(cache) == {KEYS[0], KEYS[1], KEYS[3]}
    put(cache, KEYS[4], 50_000)[0].close()
    assert keys(cache) == {KEYS[4]}


def test_what_a_plan_holds_is_not_removed(cache: Cache) -> None:
    held, made = put(cache, KEYS[0], 3000)
    put(cache, KEYS[1], 9000)[0].close()
    assert keys(cache) == {KEYS[0], KEYS[1]}
    assert {entry.key for entry in cache.clear()} == {KEYS[1]}
    assert Path(made.static[Gear(1)].path).read_bytes() == b"x" * 3000
    held.close()
    assert {entry.key for entry in cache.clear()} == {KEYS[0]}
    assert keys(cache) == set()


def test_clear_spares_what_was_used_lately(cache: Cache) -> None:
    for key in KEYS[:2]:
        put(cache, key)[0].close()
    os.utime(cache.folder / "entries" / KEYS[0] / IN_USE, (1e9, 1e9))
    assert {entry.key for entry in cache.clear(older_than_s=3600)} == {KEYS[0]}
    assert keys(cache) == {KEYS[1]}


def test_clear_leaves_nothing_of_ours_and_all_that_is_not(cache: Cache) -> None:
    put(cache, KEYS[0])[0].close()
    with cache.building(KEYS[0], lambda: None):
        pass
    foreign = [cache.folder / "notes.txt", cache.folder / "entries" / "notes.txt", cache.folder / "entries" / "folder"]
    for path in foreign[:2]:
        path.touch()
    foreign[2].mkdir()
    cache.clear()
    assert {path for path in cache.folder.rglob("*") if path.is_file() or path in foreign} == set(foreign)


def test_a_damaged_entry_is_not_taken_and_gives_way(cache: Cache) -> None:
    put(cache, KEYS[0])[0].close()
    (cache.folder / "entries" / KEYS[0] / MANIFEST).write_text("{")
    assert cache.take(KEYS[0]) is None
    (entry,) = cache.entries()
    assert entry.about is None
    put(cache, KEYS[0])[0].close()
    taken = cache.take(KEYS[0])
    assert taken is not None
    taken[0].close()


@pytest.mark.parametrize("kind", ["a file", "an empty folder", "a foreign folder", "a link"])
def test_what_stands_in_the_place_of_an_entry_gives_way(kind: str, cache: Cache, tmp_path: Path) -> None:
    place = cache.folder / "entries" / KEYS[0]
    place.parent.mkdir(parents=True)
    if kind == "a file":
        place.touch()
    elif kind == "a link":
        (tmp_path / "theirs").mkdir()
        place.symlink_to(tmp_path / "theirs", target_is_directory=True)
    else:
        place.mkdir()
        if kind == "a foreign folder":
            (place / "notes.txt").touch()
    assert len(cache.entries()) == 1
    assert cache.take(KEYS[0]) is None
    held, _ = put(cache, KEYS[0])
    assert held.path == place
    held.close()
    assert kind != "a link" or (tmp_path / "theirs").exists()


def test_who_comes_second_keeps_its_own(cache: Cache) -> None:
    first, _ = put(cache, KEYS[0])
    second, made = put(cache, KEYS[0])
    path = Path(made.static[Gear(1)].path)
    assert path.parent == second.path != first.path
    assert path.exists()
    second.close()
    assert not path.exists()
    assert keys(cache) == {KEYS[0]}
    first.close()


def test_check_reads_all_of_it_and_drops_what_is_damaged(cache: Cache) -> None:
    for key in KEYS[:2]:
        put(cache, key)[0].close()
    assert list(cache.check()) == []
    (cache.folder / "entries" / KEYS[1] / "stage_1.onnx").write_bytes(b"y" * 1000)
    ((entry, reason, gone),) = cache.check()
    assert (entry.key, reason, gone) == (KEYS[1], "stage_1.onnx is not as it was written", True)
    assert keys(cache) == {KEYS[0]}


def test_a_damaged_entry_that_a_plan_holds_stays_and_check_says_so(cache: Cache) -> None:
    held, made = put(cache, KEYS[0])
    Path(made.static[Gear(1)].path).write_bytes(b"")
    assert [gone for _, _, gone in cache.check()] == [False]
    held.close()
    assert [gone for _, _, gone in cache.check()] == [True]


def test_clear_says_what_stays_and_why(cache: Cache) -> None:
    for key in KEYS[:2]:
        held, _ = put(cache, key)
    first = cache.folder / "entries" / KEYS[0]
    (cache.folder / "building").rmdir()
    (cache.folder / "building").touch()  # there nothing can be put aside, whoever asks
    told: list[tuple[str, type[OSError] | None]] = []

    def stays(entry: Entry, error: OSError | None) -> None:
        told.append((entry.key, error and type(error)))

    assert cache.clear(0, stays) == []
    assert set(told) == {(key, FileExistsError) for key in KEYS[:2]}
    assert first.exists()
    (cache.folder / "building").unlink()
    told.clear()
    assert {entry.key for entry in cache.clear(0, stays)} <= {KEYS[0]}
    assert (KEYS[1], None) in told
    held.close()


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o755), (0o002, 0o775), (0o077, 0o700), (0o027, 0o750)])
def test_an_entry_is_for_those_whom_the_umask_lets_read(umask: int, mode: int, cache: Cache) -> None:
    before = os.umask(umask)
    try:
        held, _ = put(cache, KEYS[0])
    finally:
        os.umask(before)
    held.close()
    assert (cache.folder / "entries" / KEYS[0]).stat().st_mode & 0o777 == mode


def test_a_file_in_the_place_of_the_folder_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="it is a file, not a folder") as error:
        Cache(tmp_path / "file").new()
    assert said(error.value) == f"{tmp_path / 'file'}: it is a file, not a folder"


def test_there_may_be_no_cache_yet(cache: Cache) -> None:
    assert cache.entries() == []
    assert cache.clear() == []
    assert list(cache.check()) == []
    assert not cache.folder.exists()


def test_the_environment_says_where_it_is_and_how_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    usual = Cache.of_environment({})
    assert usual is not None
    assert (usual.folder, usual.most_nbytes) == (tmp_path / "gepipe" / "compiled", 10**10)
    named = Cache.of_environment({"GEPIPE_CACHE": str(tmp_path / "there"), "GEPIPE_CACHE_GB": "0.5"})
    assert named is not None
    assert (named.folder, named.most_nbytes) == (tmp_path / "there", 5 * 10**8)
    assert Cache.of_environment({"GEPIPE_CACHE": "off"}) is None


@pytest.mark.parametrize("size", ["much", "-1", "inf", "nan", "10 GB"])
def test_a_size_that_is_none_is_refused(size: str) -> None:
    with pytest.raises(BuildError, match=f"GEPIPE_CACHE_GB is '{size}'") as error:
        Cache.of_environment({"GEPIPE_CACHE_GB": size})
    assert error.value.fix == "give the most that the cache may hold in GB, as 10"


def test_the_folder_of_a_user_who_is_not_there_is_refused() -> None:
    with pytest.raises(BuildError, match=r"GEPIPE_CACHE is '~nobody-of-this-name/cache'.*\nfix: name a folder, or off"):
        Cache.of_environment({"GEPIPE_CACHE": "~nobody-of-this-name/cache"})


def test_what_is_none_of_ours_among_locks_is_no_hindrance(cache: Cache) -> None:
    (cache.folder / "locks" / "theirs").mkdir(parents=True)
    assert cache.clear() == []
