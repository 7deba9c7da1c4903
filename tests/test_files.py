"""Writing: whole or not at all."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coterie import _folders
from coterie._files import atomic_path, save_arrays
from coterie._folders import held, mend_folder, one_state, refuse_held, replace_folder
from coterie.errors import DataError, UsageError
from said import raises


@pytest.fixture(scope="module")
def dead() -> int:
    """The number of a process that is gone."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(OSError, match="disk full"), atomic_path(path) as temporary:
        temporary.write_text("half")
        raise OSError("disk full")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_a_failed_folder_leaves_the_old_one(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    replace_folder(folder, lambda fresh: (fresh / "x").write_text("1"))

    def broken(fresh: Path) -> None:
        (fresh / "x").write_text("2")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        replace_folder(folder, broken)
    assert (folder / "x").read_text() == "1"
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_without_an_exchange_the_folder_is_replaced_by_two_renames(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(_folders, "exchange", lambda one, other: False)
    folder = tmp_path / "model"
    replace_folder(folder, lambda fresh: (fresh / "old").write_text("1"))
    replace_folder(folder, lambda fresh: (fresh / "new").write_text("2"))
    assert [p.name for p in folder.iterdir()] == ["new"]
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def litter(place: Path, *names: str) -> None:
    for name in names:
        (place / name).mkdir()
        (place / name / "file").write_text(name)


def test_a_kill_between_two_renames_is_mended(tmp_path: Path, dead: int) -> None:
    litter(tmp_path, f".model.{dead}.new", f".model.{dead}.old")
    mend_folder(tmp_path / "model")
    assert (tmp_path / "model" / "file").read_text().endswith(".new")  # whole before the renames
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_the_old_folder_comes_back_where_there_is_no_new_one(tmp_path: Path, dead: int) -> None:
    litter(tmp_path, f".model.{dead}.old")
    mend_folder(tmp_path / "model")
    assert (tmp_path / "model" / "file").read_text().endswith(".old")


def test_half_a_new_folder_never_takes_the_place_of_the_old_one(tmp_path: Path, dead: int) -> None:
    litter(tmp_path, "model", f".model.{dead}.new", f".other.{dead}.new")
    mend_folder(tmp_path / "model")
    assert (tmp_path / "model" / "file").read_text() == "model"
    assert sorted(p.name for p in tmp_path.iterdir()) == [f".other.{dead}.new", "model"]
    litter(tmp_path, f".fresh.{dead}.new")
    mend_folder(tmp_path / "fresh")  # the first of its name: nobody knows whether it is whole
    assert not (tmp_path / "fresh").exists() and not (tmp_path / f".fresh.{dead}.new").exists()


def test_a_new_empty_folder_of_the_name_costs_nothing(tmp_path: Path, dead: int) -> None:
    litter(tmp_path, f".run.{dead}.new", f".run.{dead}.old")
    (tmp_path / "run").mkdir()  # by somebody who came between the two renames
    (tmp_path / "run" / ".lock").touch()
    mend_folder(tmp_path / "run")
    assert (tmp_path / "run" / "file").read_text().endswith(".new")
    litter(tmp_path, f".run.{dead}.new", f".run.{dead}.old")
    mend_folder(tmp_path / "run")  # a folder with files: nobody can say which is the right one
    assert len(list(tmp_path.iterdir())) == 3


def test_what_a_living_process_writes_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        litter(tmp_path, "run", f".run.{process.pid}.new")
        mend_folder(tmp_path / "run")
        assert (tmp_path / f".run.{process.pid}.new").exists()
        process.stdin.close()
    mend_folder(tmp_path / "run")
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_a_lock_says_more_than_the_number_of_a_process(tmp_path: Path) -> None:
    """The number of a dead process may belong to another one by now."""
    left = tmp_path / ".run.1.old"  # there is always a process 1
    litter(tmp_path, left.name)
    (left / ".lock").touch()
    with (left / ".lock").open() as file:
        fcntl = pytest.importorskip("fcntl")
        fcntl.flock(file, fcntl.LOCK_EX)
        assert not _folders.is_abandoned(left)
    assert _folders.is_abandoned(left)
    with held(tmp_path / "run"):  # must not make an empty folder in the place of the lost one
        assert (tmp_path / "run" / "file").exists()


def test_a_folder_that_cannot_be_replaced_is_refused_before_the_work(tmp_path: Path, monkeypatch):
    folder = tmp_path / "run"
    folder.mkdir()
    worked = []
    monkeypatch.setattr(Path, "is_mount", lambda path: path == folder)
    with raises(UsageError, "Copy it into a", "it is a mount point"):
        replace_folder(folder, worked.append)
    assert worked == [] and [p.name for p in tmp_path.iterdir()] == ["run"]


def test_a_folder_is_read_in_one_state(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    def state(value: str) -> None:
        def fill(fresh: Path) -> None:
            for name in ("manifest.json", "a", "b"):
                (fresh / name).write_text(value)

        replace_folder(folder, fill)

    state("0")
    tries = []

    def read() -> tuple[str, str]:
        first = (folder / "a").read_text()
        if len(tries) < 3:
            tries.append(first)
            state(str(len(tries)))  # somebody changes the folder between two files
            if len(tries) == 3:
                raise DataError("what was read does not fit together")
        return first, (folder / "b").read_text()

    assert one_state([folder], read) == ("3", "3")
    assert tries == ["0", "1", "2"]

    def wrong() -> None:
        raise DataError("really damaged")

    with pytest.raises(DataError, match="really damaged"):
        one_state([folder], wrong)


def test_saved_arrays_may_be_read_by_whom_the_user_lets(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    save_arrays(tmp_path / "a.safetensors", {"a": np.ones(2)})
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_a_folder_is_held_by_one(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with held(folder):
        with (
            raises(
                UsageError,
                "wait until it is done, or choose another folder",
                str(f"another process ({os.getpid()})"),
            ),
            held(folder),
        ):
            pass
        with raises(UsageError, "wait until it is done, or choose another folder"):
            refuse_held(folder)
    refuse_held(folder)
    with pytest.raises(FileNotFoundError), held(folder):
        raise FileNotFoundError  # what goes wrong inside comes out
    assert not folder.exists()  # made by the lock
    folder.mkdir()
    with held(folder):
        pass
    assert folder.exists()


def test_a_table_is_written_by_one(tmp_path: Path) -> None:
    from coterie.corpus.write import GrowingTable

    for name in ("a.csv", "a.parquet"):
        with GrowingTable(tmp_path / name) as table:
            table.write(pa.table({"text": ["one"]}), {"cluster": [1]})
            with (
                raises(UsageError, "wait until it is done, or choose another name"),
                GrowingTable(tmp_path / name),
            ):
                pass
            table.write(pa.table({"text": ["two"]}), {"cluster": [2]})
    assert (tmp_path / "a.csv").read_text() == "text,cluster\none,1\ntwo,2\n"
    assert pq.read_table(tmp_path / "a.parquet").num_rows == 2
