"""Cuts of a run with a merge tree, before and after edits: all files tell the same story."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import coterie
from commands import run as call
from coterie.errors import DataError
from coterie.runs.editing import undo
from coterie.runs.store import read
from said import raises, says
from trees import members, whole

from .conftest import content

LEVELS = ["broad", "medium", "fine", 7]


@pytest.fixture
def run(nested: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(nested, tmp_path / "run"))


def test_a_cut_changes_all_files_and_the_way_back_is_the_same(run: Path, nested: Path) -> None:
    first = whole(run)
    assert list(first.tree.levels) == ["broad", "medium", "fine"]
    assert first.tree.finest > first.tree.at > first.tree.number("broad") > 1
    assert first.outliers.any()
    seen = {i: (first.names[i], members(first, i)) for i in first.names}
    for level in ("broad", 7, "fine"):
        assert coterie.cut(run, level) == first.tree.number(level)
        now = whole(run)
        assert len(now.clusters) == first.tree.number(level)
        for i in now.names:
            if i in seen:  # in both: the same cluster
                assert (now.names[i], members(now, i)) == seen[i]
            seen[i] = now.names[i], members(now, i)
    coterie.Run(run).cut("medium")
    assert content(run)["assignments.csv"] == content(nested)["assignments.csv"]
    assert json.loads((run / "manifest.json").read_text())["editing"]["edits"] == 0
    for _ in range(4):
        undo(run)
    assert content(run) == content(nested)


@pytest.mark.parametrize("level", LEVELS)
def test_edits_at_any_level_last_through_cuts(run: Path, level: int | str) -> None:
    coterie.cut(run, level)
    start, before = content(run), read(run)
    one, other, kept, *_, large = sorted(before.names, key=lambda i: len(members(before, i)))
    ticket = {"row": 1 + min(members(before, large))}
    edits = [
        {"rename": {kept: "Kept"}},
        {"merge": [one, other], "name": "Both"},
        {"move": {"rows": [ticket], "to": one}},
    ]
    coterie.edit(run, edits)
    both = members(before, one) | members(before, other) | {ticket["row"] - 1}
    edited = whole(run)
    assert members(edited, one) == both and len(edited.clusters) == len(before.clusters) - 1
    for again in ("fine", "broad", 7, level):
        coterie.cut(run, again)
        now = whole(run)
        assert {i for i in now.names if members(now, i) & both} == {now.tree.cut()[one]}
        assert now.all_names[kept] == "Kept" and now.all_names[one] == "Both"
        assert members(now, kept) == members(before, kept)
    if isinstance(level, str):  # what was shown is still what the level shows
        assert (now.names, now.labels.tolist()) == (edited.names, edited.labels.tolist())
    for _ in range(5):
        undo(run)
    assert content(run) == start


def test_a_split_shows_the_parts_that_there_are_or_makes_new_ones(run: Path) -> None:
    before = read(run)
    large = max(before.names, key=lambda i: len(before.tree.below(i)))
    parts = before.tree.inside()[large]
    coterie.edit(run, [{"split": {"cluster": large, "into": 2}}])
    after = whole(run)
    assert {*after.names} == {*before.names, *parts} - {large}
    assert [after.names[i] for i in parts] == [before.all_names[i] for i in parts]
    assert after.tree.levels["medium"] == before.tree.at + 1
    leaf = max(after.tree.leaves, key=lambda i: len(members(after, i)))
    coterie.cut(run, "fine")
    coterie.edit(run, [{"split": {"cluster": leaf, "into": 2, "names": ["New A", "New B"]}}])
    divided = whole(run)
    new = next(i for i, name in divided.names.items() if name == "New B")
    assert new > before.tree.highest and leaf not in divided.names
    assert members(divided, new) < members(divided, leaf) == members(after, leaf)
    coterie.cut(run, "medium")  # together again, under the number that they had
    again = whole(run)
    assert (again.names, again.labels.tolist()) == (after.names, after.labels.tolist())


def test_a_move_may_leave_a_finer_cluster_without_a_text(run: Path) -> None:
    before = read(run)
    tree = before.tree
    large = max(before.names, key=lambda i: len(tree.below(i)))
    gone = min(tree.below(large), key=lambda i: len(members(before, i)))
    to = next(i for i in before.names if i != large)
    rows = [{"row": 1 + row} for row in members(before, gone)]
    coterie.edit(run, [{"move": {"rows": rows, "to": to}}])
    now = whole(run)
    assert gone not in now.tree.leaves and now.tree.finest == tree.finest - 1
    coterie.cut(run, "fine")
    assert members(before, gone) <= set(np.flatnonzero(np.isin(whole(run).finest, tree.below(to))))


def test_a_name_that_is_given_makes_others_give_way(run: Path) -> None:
    before = read(run)
    one = min(before.names)
    hidden = next(i for i, shown in before.tree.cut().items() if shown not in (i, one))
    coterie.edit(run, [{"rename": {one: before.all_names[hidden]}}])
    coterie.cut(run, "fine")
    names = whole(run).all_names
    with raises(DataError, names[one], "already"):  # a later cut would show two of that name
        other = next(i for i in read(run).names if i != one)
        coterie.edit(run, [{"rename": {other: names[one]}}])
    assert names[one] == before.all_names[hidden] == names[hidden].removesuffix(" (2)")


@pytest.mark.parametrize("said", ["0", "1", "1000", "x"])
def test_a_cut_that_is_none_changes_nothing(said: str, run: Path) -> None:
    before = content(run)
    shown = call("cut", run, said, code=2)
    assert says(shown.output, said, "is no cut", "2 to", "broad (", "fine (")
    assert content(run) == before


def test_the_command_shows_the_clusters(run: Path) -> None:
    shown = call("cut", run, "broad").output
    after = whole(run)
    assert says(shown, "--undo", *after.names.values())
    said = json.loads(call("cut", run, "7", "--json").stdout)
    assert len(said) == 7
