"""Writing: whole or not at all."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coterie import _files
from coterie._errors import UsageError
from coterie._files import (
    atomic_path,
    read_json,
    recover_folder,
    replace_folder,
    save_arrays,
    sha256_file,
    write_json,
)
from coterie._locks import held, refuse_held


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


def test_a_folder_is_replaced_whole(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    replace_folder(folder, lambda fresh: (fresh / "old").write_text("1"))
    replace_folder(folder, lambda fresh: (fresh / "new").write_text("2"))
    assert [p.name for p in folder.iterdir()] == ["new"]


def test_json_knows_numpy_and_paths(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"n": np.int64(3), "x": np.ones(2), "p": Path("q"), "u": "ü"})
    assert read_json(tmp_path / "a.json") == {"n": 3, "x": [1.0, 1.0], "p": "q", "u": "ü"}
    assert "ü" in (tmp_path / "a.json").read_text("utf-8")
    assert json.loads((tmp_path / "a.json").read_text("utf-8"))["n"] == 3


def test_digest_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, B.1
    assert sha256_file(tmp_path / "a") == known


def test_without_an_exchange_the_folder_is_replaced_by_two_renames(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(_files, "exchange", lambda one, other: False)
    folder = tmp_path / "model"
    replace_folder(folder, lambda fresh: (fresh / "old").write_text("1"))
    replace_folder(folder, lambda fresh: (fresh / "new").write_text("2"))
    assert [p.name for p in folder.iterdir()] == ["new"]
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def litter(place: Path, *names: str) -> None:
    for name in names:
        (place / name).mkdir()
        (place / name / "file").write_text(name)


def test_a_kill_between_two_renames_is_mended(tmp_path: Path) -> None:
    litter(tmp_path, ".model.7.new", ".model.7.old")
    recover_folder(tmp_path / "model")
    assert (tmp_path / "model" / "file").read_text() == ".model.7.new"  # whole before the renames
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_the_old_folder_comes_back_where_there_is_no_new_one(tmp_path: Path) -> None:
    litter(tmp_path, ".model.7.old")
    recover_folder(tmp_path / "model")
    assert (tmp_path / "model" / "file").read_text() == ".model.7.old"


def test_half_a_new_folder_never_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    litter(tmp_path, "model", ".model.7.new", ".other.7.new")
    recover_folder(tmp_path / "model")
    assert (tmp_path / "model" / "file").read_text() == "model"
    assert sorted(p.name for p in tmp_path.iterdir()) == [".other.7.new", "model"]
    litter(tmp_path, ".fresh.7.new")
    recover_folder(tmp_path / "fresh")  # the first of its name: nobody knows whether it is whole
    assert not (tmp_path / "fresh").exists()


def test_saved_arrays_may_be_read_by_whom_the_user_lets(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    save_arrays(tmp_path / "a.safetensors", {"a": np.ones(2)})
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_a_folder_is_held_by_one(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with held(folder):
        with (
            pytest.raises(UsageError, match=r"another process \(\d+\) is working on"),
            held(folder),
        ):
            pass
        with pytest.raises(UsageError, match="is working on"):
            refuse_held(folder)
    refuse_held(folder)
    with pytest.raises(FileNotFoundError), held(folder):
        raise FileNotFoundError  # what goes wrong inside comes out
    assert not list(folder.iterdir())


def test_a_table_is_written_by_one(tmp_path: Path) -> None:
    from coterie.corpus.growing import GrowingTable

    for name in ("a.csv", "a.parquet"):
        with GrowingTable(tmp_path / name) as table:
            table.write(pa.table({"text": ["one"]}), {"cluster": [1]})
            with (
                pytest.raises(UsageError, match="another process is writing"),
                GrowingTable(tmp_path / name),
            ):
                pass
            table.write(pa.table({"text": ["two"]}), {"cluster": [2]})
    assert (tmp_path / "a.csv").read_text() == "text,cluster\none,1\ntwo,2\n"
    assert pq.read_table(tmp_path / "a.parquet").num_rows == 2
