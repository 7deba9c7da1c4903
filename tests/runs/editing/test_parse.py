"""Files of edits as people write them, and as nobody should."""

import json
from dataclasses import replace

import pytest

from coterie.errors import DataError, UsageError
from coterie.models.guidance import theme_texts
from coterie.runs.editing import read_edits
from said import raises

ALL = """\
# what the meeting decided
- merge: [3, 7]
  name: Late parcels
- split: {cluster: 4, into: 3, names: [A, B, C]}
- rename:
    2: "Refunds"
    8: no
- move:
    rows: [12, {contains: "late"}, {id: T-1, in: 3}]
    to: 5
- reassign: {rows: outliers}
- delete: 6
"""


def test_every_kind_of_edit(tmp_path) -> None:
    file = tmp_path / "edits.yaml"
    file.write_text(ALL)
    merge, split, rename, move, reassign, delete = read_edits(file)
    assert (merge.kind, merge.clusters, merge.names) == ("merge", (3, 7), ("Late parcels",))
    assert (split.clusters, split.into, split.names) == ((4,), 3, ("A", "B", "C"))
    assert (rename.clusters, rename.names) == ((2, 8), ("Refunds", "no"))  # no is a word here
    assert move.rows == ("12", {"contains": "late"}, {"id": "T-1", "in": "3"})
    assert move.clusters == (5,)
    assert reassign.kind == "reassign"
    assert (delete.kind, delete.clusters) == ("delete", (6,))
    assert merge.where.endswith("edits.yaml, edit 1 (merge)")


def test_json_python_and_what_is_logged_are_read_alike(tmp_path) -> None:
    (tmp_path / "e.yaml").write_text(ALL)
    edits = read_edits(tmp_path / "e.yaml")
    plain = [edit.told for edit in edits]
    (tmp_path / "e.json").write_text(json.dumps(plain))
    for source in (plain, tmp_path / "e.json", str(tmp_path / "e.json"), ALL):
        again = [replace(edit, where="") for edit in read_edits(source)]
        assert again == [replace(edit, where="") for edit in edits]


def test_a_mapping_is_read_entry_by_entry(tmp_path) -> None:
    (tmp_path / "e.yml").write_text("merge: {clusters: [1, 2], name: Both}\ndelete: [1]\n")
    merge, delete = read_edits(tmp_path / "e.yml")
    assert merge.names == ("Both",) and delete.where.endswith("edit 2 (delete)")
    assert [e.kind for e in read_edits({"split": 4, "rename": {4: "X"}})] == ["split", "rename"]
    assert read_edits([{"split": 4}])[0].into == 2


@pytest.mark.parametrize(
    "text, message",
    [
        ("- mrege: [1, 2]", "expected exactly"),
        ("- merge: [1, 2]\n  delete: [1]", "expected exactly"),
        ("- merge: [1]", "at least two"),
        ("- merge: [1, 2.5]", "whole numbers from 0"),
        ("- merge: [1, 2]\n  nmae: X", "is not known here"),
        ("- split: {cluster: 4, into: 1}", "2 or more"),
        ("- split: {into: 2}", "whole numbers from 0"),
        ("- split: {cluster: 4, names: [A]}", "2 or more"),
        ("- rename: [2, 3]", "No cluster is named"),
        ("- rename: {2: ''}", ("characters that can be seen", "100")),
        ("- rename: {2: [a]}", "characters that can be seen"),
        ("- move: {rows: [1]}", "whole numbers from 0"),
        ("- move: {to: 1}", "Name the rows"),
        ("- reassign: 3", "Only outliers"),
        ("- reassign: {rows: outliers, max_score: 2}", "is not known here"),
        ("words", "expected a list or a mapping, not a single value"),
        ("", "there are no edits"),
        ("- rename: {2: a, 2: b}", ("occurs twice", "'2'")),
        ("- merge: [1, 2]\n- delete: [3", "this is not YAML"),
        ("- &a merge: [1, 2]\n- *a", "are not read; write"),
        ("- !!python/object/apply:os.system ['true']", "expected exactly"),
        ("- " + "[" * 900 + "]" * 900, "are not read; write"),
    ],
)
def test_errors_name_the_place_and_the_remedy(tmp_path, text: str, message: str) -> None:
    file = tmp_path / "edits.yaml"
    file.write_text(text)
    with raises(DataError, message) as caught:
        read_edits(file)
    assert "edits.yaml" in str(caught.value)


def test_names_are_one_plain_line() -> None:
    (edit,) = read_edits([{"rename": {1: "two\nlines \x1b[31m red \x00"}}])
    assert edit.names == ("two lines [31m red",)
    with raises(DataError, "characters that can be seen", "100"):
        read_edits([{"rename": {1: "x" * 101}}])
    (turned,) = read_edits([{"rename": {1: "\u202eRefunds\u2066"}}])
    assert turned.names == ("Refunds",)


@pytest.mark.parametrize("name", ["\u2060\u200d", "\u202e", "\u0301"])
def test_a_name_can_be_seen(name: str) -> None:
    with raises(DataError, "characters that can be seen"):
        read_edits([{"rename": {1: name}}])
    with raises(DataError, "characters that can be seen"):
        theme_texts([name])


def test_files_that_are_none(tmp_path) -> None:
    with raises(UsageError, "expected a .yaml"):
        read_edits(tmp_path / "edits.txt")
    with raises(UsageError, "there is no file"):
        read_edits(tmp_path / "edits.yaml")
    (tmp_path / "a.json").write_text('[{"delete": [1]},]')
    with raises(DataError, "this is not JSON", "1"):
        read_edits(tmp_path / "a.json")
    (tmp_path / "a.json").write_text('{"delete": [1], "delete": [2]}')
    with raises(DataError, "occurs twice"):
        read_edits(tmp_path / "a.json")
    (tmp_path / "b.yaml").write_bytes(b"- rename: {1: \xff}")
    with raises(DataError, "is not UTF-8; save"):
        read_edits(tmp_path / "b.yaml")


def test_edits_that_are_no_list_are_refused() -> None:
    with raises(UsageError, "edits should be a file", "3"):
        read_edits(3)
