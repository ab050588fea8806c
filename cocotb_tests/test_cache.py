"""Cache entries are whole, made once, and bounded in number."""

import multiprocessing
import os
import time

import pytest
from dve_cosim.cache import cached, log_file
from dve_cosim.errors import CosimError


@pytest.fixture(autouse=True)
def private_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DVE_CACHE", str(tmp_path / "cache"))


def fill(draft):
    (draft / "content").write_text("whole")


def test_an_entry_is_filled_once():
    calls = []

    def counted(draft):
        calls.append(draft)
        fill(draft)

    first = cached("family", "key", counted, keep=4)
    assert cached("family", "key", counted, keep=4) == first
    assert (first / "content").read_text() == "whole"
    assert len(calls) == 1


@pytest.mark.parametrize("damage", ["truncated", "removed", "unsealed"])
def test_a_damaged_entry_is_made_anew(damage):
    entry = cached("family", "key", fill, keep=4)
    if damage == "truncated":
        os.truncate(entry / "content", 2)
    else:
        (entry / {"removed": "content", "unsealed": ".complete"}[damage]).unlink()
    assert cached("family", "key", fill, keep=4) == entry
    assert (entry / "content").read_text() == "whole"
    assert [path.name for path in entry.parent.iterdir() if path.is_dir()] == ["key"]


def test_what_others_add_to_an_entry_is_no_damage():
    entry = cached("family", "key", fill, keep=4)
    (entry / "added").write_text("")
    cached("family", "key", fill, keep=4)
    assert (entry / "added").exists()


def test_a_failing_fill_leaves_no_entry_and_no_draft():
    def broken(draft):
        fill(draft)
        raise CosimError("no")

    with pytest.raises(CosimError, match="no"):
        cached("family", "key", broken, keep=4)
    entry = cached("family", "key", fill, keep=4)
    assert [path.name for path in entry.parent.iterdir() if path.is_dir()] == ["key"]


def _slow_fill(counts):
    def counted(draft):
        with counts.get_lock():
            counts.value += 1
        time.sleep(0.2)
        fill(draft)

    assert (cached("family", "key", counted, keep=4) / "content").read_text() == "whole"


def test_processes_wait_for_the_first_to_fill():
    context = multiprocessing.get_context("fork")
    counts = context.Value("i", 0)
    processes = [context.Process(target=_slow_fill, args=(counts,)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert counts.value == 1


def test_the_least_recently_used_entries_go():
    for age, key in enumerate(("newer", "older", "oldest")):
        entry = cached("family", key, fill, keep=9)
        os.utime(entry, (1000 - age, 1000 - age))
    family = cached("family", "newest", fill, keep=2).parent
    assert {path.name for path in family.iterdir() if path.is_dir()} == {"newest", "newer"}


def test_an_unwritable_cache_is_one_line(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DVE_CACHE", str(tmp_path / "file"))
    for use in (lambda: cached("family", "key", fill, keep=1), lambda: log_file("run")):
        with pytest.raises(CosimError, match=r"set DVE_CACHE") as error:
            use()
        assert "\n" not in str(error.value)


def test_logs_are_bounded():
    paths = [log_file(f"run-{number}") for number in range(40)]
    assert paths[-1].exists()
    assert len(list(paths[0].parent.iterdir())) == 32
