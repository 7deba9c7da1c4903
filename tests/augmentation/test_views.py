"""View pairs from files and lists."""

from pathlib import Path

import pytest

from coterie._errors import DataError, UsageError
from coterie.augmentation import read_views

TEXTS = ["one fish", "two fish", ""]


def file(tmp_path: Path, content: str) -> Path:
    path = tmp_path / "pairs.csv"
    path.write_text(content)
    return path


def test_virtual_views_need_nothing() -> None:
    assert read_views("virtual", TEXTS) == []
    assert read_views(None, TEXTS) == []


def test_rows_in_the_same_order(tmp_path: Path) -> None:
    path = file(tmp_path, "text,text1,text2,label\none fish,a,b,0\ntwo fish,c,d,0\n,e,f,1\n")
    assert read_views(path, TEXTS) == [["a", "c", "e"], ["b", "d", "f"]]


def test_duplicates_in_the_same_order_keep_their_own_views(tmp_path: Path) -> None:
    path = file(tmp_path, "text,text1\nsame,a\nsame,b\n")
    assert read_views(path, ["same", "same"]) == [["a", "b"]]


def test_rows_in_another_order_are_looked_up(tmp_path: Path) -> None:
    path = file(tmp_path, "text1,text\nc,two fish\nx,unused\na,one fish\n")
    assert read_views(str(path), TEXTS) == [["a", "c", ""]]


def test_texts_without_views_are_named(tmp_path: Path) -> None:
    path = file(tmp_path, "text,text1\none fish,a\n")
    with pytest.raises(DataError, match="for 1 of 3 texts; the first is row 2: 'two fish'"):
        read_views(path, TEXTS)


def test_files_without_the_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="found body, label"):
        read_views(file(tmp_path, "body,label\na,0\n"), TEXTS)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(UsageError, match="neither 'virtual' nor a kind"):
        read_views("nowhere.csv", TEXTS)


def test_lists_must_have_the_length_of_the_texts() -> None:
    assert read_views([["a", "b", "c"]], TEXTS) == [["a", "b", "c"]]
    with pytest.raises(UsageError, match="view 2 has 1 texts, X has 3"):
        read_views([["a", "b", "c"], ["a"]], TEXTS)
