"""Writing: whole or not at all."""

import json
from pathlib import Path

import numpy as np
import pytest

from coterie._files import atomic_path, read_json, replace_folder, sha256_file, write_json


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
