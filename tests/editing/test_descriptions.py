"""Descriptions and names of a language model, on every level, when clusters are edited."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from commands import rows
from coterie import edit, open_run
from coterie.clustering import read, renamed, save
from coterie.description import Cluster
from coterie.editing import undo
from coterie.runs.update import update

from .conftest import content, write_tickets


def name(path: Path) -> Path:
    """Put in what a language model says of every cluster on every level."""
    run = read(path)

    def described(cluster: Cluster, called: str) -> Cluster:
        return replace(cluster, name=called, description=f"About {called}.")

    clusters = {c.id: described(c, f"Model {c.id}") for c in run.clusters}
    names = {i: c.name for i, c in clusters.items()}
    levels = [
        {
            g.id: described(g, f"Level {number} {g.id}")
            for g in level
            if len(run.hierarchy.parts(number)[g.id]) > 1
        }
        for number, level in enumerate(run.hierarchy.levels)
    ]
    save(run, renamed(run, names, levels, clusters))
    return path


@pytest.fixture(scope="module")
def named_once(rich: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return name(Path(shutil.copytree(rich, tmp_path_factory.mktemp("named") / "run")))


@pytest.fixture
def run(named_once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(named_once, tmp_path / "run"))


def told(run: Path) -> dict[int, tuple[str, str | None]]:
    return {c.id: (c.name, c.description) for c in open_run(run).clusters}


def told_above(run: Path) -> list[dict[str, tuple[str | None, int]]]:
    """Of each level, names with descriptions and sizes; numbers may change."""
    return [{g.name: (g.description, g.size) for g in level} for level in open_run(run).levels]


def parents(run: Path) -> dict[int, int]:
    return {c.id: c.parent for c in open_run(run).clusters}


def check_names(run: Path) -> None:
    """The table says what clusters and levels say."""
    opened = open_run(run)
    called = {c.id: c.name for c in opened.clusters}
    assert all(c.parent_name for c in opened.clusters)
    for row in rows(run):
        if (label := int(row["cluster"])) >= 0:
            assert row["name"] == called[label]
            for number, level in enumerate(opened.levels, 1):
                group = next(g for g in level if g.id == int(row[f"level_{number}"]))
                assert row[f"level_{number}_name"] == group.name


def test_a_name_leaves_all_else_as_it_is(run: Path) -> None:
    before, above = told(run), told_above(run)
    edit(run, [{"rename": {0: "Mine"}}])
    assert told(run) == {**before, 0: ("Mine", *before[0][1:])}  # its texts are the same
    alone = {n for n in ("Model 0",) for level in above if n in level}  # a group of one cluster
    assert [set(level) for level in told_above(run)] == [
        {"Mine" if n in alone else n for n in level} for level in above
    ]
    check_names(run)


def test_a_merge_drops_its_description_alone(run: Path) -> None:
    before, files = told(run), content(run)
    done = edit(run, [{"merge": [0, 1]}])
    after = told(run)
    assert after[0][1] is None and not after[0][0].startswith("Model")
    assert {i: said for i, said in after.items() if i > 1} == {
        i: said for i, said in before.items() if i > 1
    }
    dropped = [f"the description of {i} (Model {i}) is dropped" for i in (0, 1)]
    assert list(done.notes[:2]) == dropped
    assert all("of level" in note for note in done.notes[2:])
    logged = json.loads((run / "edits.jsonl").read_text("utf-8"))
    assert logged["notes"] == list(done.notes)
    page = (run / "report.html").read_text("utf-8")
    assert "About Model 0." not in page and "About Model 2." in page
    check_names(run)
    undo(run)
    assert told(run) == before and content(run) == files


def test_groups_keep_names_and_descriptions_while_they_hold_the_same(run: Path) -> None:
    above, family = told_above(run), parents(run)
    (first, second), *_ = [
        [c for c in family if family[c] == group] for group in set(family.values())
        if list(family.values()).count(group) > 1
    ]  # fmt: skip
    rows_of = [r["ticket"] for r in rows(run) if r["cluster"] == str(first)]
    done = edit(run, [{"move": {"rows": rows_of[:1], "to": second}}])
    assert done.notes == ()
    assert told_above(run) == above  # the move was inside one group
    check_names(run)
    done = edit(run, [{"merge": [first, second]}])
    assert "the description of the cluster of level 2 Level 1 0 is dropped" in done.notes
    kept = [{n: said for n, said in level.items() if said[0]} for level in told_above(run)]
    for level, before in zip(kept, above, strict=False):
        assert level and level.items() <= before.items()
    check_names(run)
    undo(run)
    undo(run)
    assert told_above(run) == above


def test_a_group_that_holds_other_clusters_gets_a_new_name(run: Path) -> None:
    above, family = told_above(run)[0], {}
    top = open_run(run).hierarchy.above[0]
    for one, group in top.items():
        family.setdefault(group, []).append(one)
    one, other = family.values()
    done = edit(run, [{"merge": [one[0], other[0]]}])
    now = told_above(run)[0]
    for called, (said, _) in now.items():
        assert said == above.get(called, (None,))[0]
    gone = [called for called, (said, _) in above.items() if said and called not in now]
    assert gone
    for called in gone:
        assert f"the description of the cluster of level 1 {called} is dropped" in done.notes
    check_names(run)


def test_an_update_keeps_what_was_said(run: Path, tmp_path: Path) -> None:
    before, above = told(run), told_above(run)
    text = next(r["text"] for r in rows(run) if r["cluster"] == "1")
    update(run, write_tickets(tmp_path / "new.csv", [f"{text} again"] * 2, 500))
    assert {i: s for i, s in told(run).items() if i in before} == before
    for level, earlier in zip(told_above(run), above, strict=True):
        assert {n: s for n, (s, _) in level.items()} == {n: s for n, (s, _) in earlier.items()}
