"""Descriptions, quotes and names of a language model, on every level, when clusters are edited."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from commands import rows
from coterie import edit, open_run
from coterie.clustering import read, save
from coterie.description import Cluster
from coterie.editing import undo
from coterie.errors import DataError
from coterie.runs.names import OwnNames, restore_names, take_names
from coterie.runs.update import update

from .conftest import cluster, content, write_tickets


def name(path: Path) -> Path:
    """Put in what a language model says of every cluster on every level."""
    run = read(path)
    own = OwnNames(run)

    def described(cluster: Cluster, called: str) -> Cluster:
        quotes = [text.upper() for text in cluster.examples[:2]]
        return replace(cluster, name=called, description=f"About {called}.", quotes=quotes)

    clusters = [described(c, f"Model {c.id}") for c in run.clusters]
    levels, inside = [], {c.id: c.name for c in clusters}
    for number in range(len(own.levels)):
        groups, _, _ = own.level(number, inside)
        levels.append({g.id: described(g, f"Level {number} {g.id}") for g in groups})
    save(run, take_names(own, inside, "tiny", levels, {c.id: c for c in clusters}))
    return path


@pytest.fixture(scope="module")
def named_once(rich: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return name(Path(shutil.copytree(rich, tmp_path_factory.mktemp("named") / "run")))


@pytest.fixture
def run(named_once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(named_once, tmp_path / "run"))


def told(run: Path) -> dict[int, tuple[str, str | None, list[str]]]:
    return {c.id: (c.name, c.description, c.quotes) for c in open_run(run).clusters}


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


def test_names_locks_and_marks_leave_all_as_it_is(run: Path) -> None:
    before, above = told(run), told_above(run)
    files = content(run)
    done = edit(run, [{"lock": [1]}, {"done": [2]}])
    assert told(run) == before and told_above(run) == above and done.notes == ()
    for unchanged in ("assignments.csv", "clusters.json", "levels.json", "map.json"):
        assert (run / unchanged).read_bytes() == files[unchanged]
    edit(run, [{"rename": {0: "Mine"}}])
    assert told(run) == {**before, 0: ("Mine", *before[0][1:])}  # its texts are the same
    alone = {n for n in ("Model 0",) for level in above if n in level}  # a group of one cluster
    assert [set(level) for level in told_above(run)] == [
        {"Mine" if n in alone else n for n in level} for level in above
    ]
    check_names(run)
    known = json.loads((run / "manifest.json").read_text("utf-8"))["names"]
    assert "0" not in known["clusters"] and "1" in known["clusters"]


def test_a_merge_drops_its_description_alone(run: Path) -> None:
    before, files = told(run), content(run)
    done = edit(run, [{"merge": [0, 1]}])
    after = told(run)
    assert after[0][1:] == (None, []) and not after[0][0].startswith("Model")
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
    pairs = json.loads((run / "manifest.json").read_text("utf-8"))["names"]["levels"][0]
    assert {pair["given"] for pair in pairs.values()} == {n for n, (said, _) in now.items() if said}
    check_names(run)


def test_a_quote_leaves_with_its_row(run: Path) -> None:
    said = told(run)[3]
    moved = next(r["ticket"] for r in rows(run) if r["text"].upper() == said[2][0])
    edit(run, [{"move": {"rows": [moved], "to": 4}}])
    assert told(run)[3] == (said[0], said[1], said[2][1:])
    assert told(run)[4][1] == "About Model 4."
    undo(run)
    assert told(run)[3] == said


def test_own_names_come_back_after_edits(run: Path, rich: Path) -> None:
    edit(run, [{"split": {"cluster": 2, "names": ["One", "Two"]}}])
    restore_names(run)
    own = {c.id: c.name for c in open_run(rich).clusters}
    after = told(run)
    assert {i: n for i, (n, _, _) in after.items() if i not in (2, 6)} == {
        i: n for i, n in own.items() if i != 2
    }
    assert [said for said in after.values() if said[1] or said[2]] == []
    assert not any(said for level in told_above(run) for said, _ in level.values())
    assert not any("Level" in called for level in told_above(run) for called in level)
    check_names(run)


def test_an_update_keeps_what_was_said(run: Path, tmp_path: Path) -> None:
    before, above = told(run), told_above(run)
    text = next(r["text"] for r in rows(run) if r["cluster"] == "1")
    update(run, write_tickets(tmp_path / "new.csv", [f"{text} again"] * 2, 500))
    assert {i: s for i, s in told(run).items() if i in before} == before
    for level, earlier in zip(told_above(run), above, strict=True):
        assert {n: s for n, (s, _) in level.items()} == {n: s for n, (s, _) in earlier.items()}


@pytest.mark.parametrize("levels", [3, [3], [{"0": "x"}], [{"0": {"own": 1, "given": "x"}}]])
def test_a_manifest_with_other_names_of_levels_is_refused(run: Path, levels: object) -> None:
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    manifest["names"]["levels"] = levels
    (run / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(DataError, match="manifest"):
        edit(run, [{"merge": [0, 1]}])


def test_a_later_run_keeps_descriptions_of_clusters_that_stay(
    run: Path, tickets: Path, tmp_path: Path
) -> None:
    """Cluster 0 is not the one that the earlier run had: 2 is in it, too."""
    edit(run, [{"merge": [0, 2]}])
    before = told(name(run))
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    del manifest["editing"]["merged"]  # so that it is not repeated
    (run / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    new = cluster(tickets, tmp_path / "new", "--keep", run)
    after = told(new)
    assert after[0][1:] == (None, [])
    stayed = before.keys() - {0}
    assert len(stayed) == 4 and {i: after[i] for i in stayed} == {i: before[i] for i in stayed}
    assert "About Model 1." in (new / "report.html").read_text("utf-8")
    summary = json.loads((new / "manifest.json").read_text("utf-8"))["summary"]
    assert [s for s in summary if "description" in s] == [
        "The description of 0 (Model 0) is dropped: more than a tenth of its texts changed."
    ]


def test_quotes_that_no_text_holds_are_dropped(run: Path, tickets: Path, tmp_path: Path) -> None:
    saved = json.loads((run / "clusters.json").read_text("utf-8"))["clusters"]
    saved[1]["quotes"].append("nobody ever wrote this")
    (run / "clusters.json").write_text(json.dumps({"clusters": saved}), "utf-8")
    after = told(cluster(tickets, tmp_path / "new", "--keep", run))
    assert after[1][2] == saved[1]["quotes"][:-1] != []
