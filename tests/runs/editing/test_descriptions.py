"""Descriptions and names of a language model, on every level, when clusters are edited."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from commands import rows
from coterie import edit, open_run
from coterie.describe import Cluster
from coterie.runs.clustering import renamed
from coterie.runs.editing import undo
from coterie.runs.store import read, save
from coterie.runs.update import update

from .conftest import content, write_tickets


def name(path: Path) -> Path:
    """Put in what a language model says of every cluster on every level."""
    run = read(path)

    def described(cluster: Cluster, called: str) -> Cluster:
        return replace(cluster, name=called, description=f"About {called}.")

    said = {i: described(c, f"Model {i}") for i, c in run.nodes.items()}
    save(run, renamed(run, {i: c.name for i, c in said.items()}, said))
    return path


@pytest.fixture(scope="module")
def named_once(rich: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return name(Path(shutil.copytree(rich, tmp_path_factory.mktemp("named") / "run")))


@pytest.fixture
def run(named_once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(named_once, tmp_path / "run"))


def told(run: Path) -> dict[int, tuple[str, str | None]]:
    return {c.id: (c.name, c.description) for c in open_run(run).clusters}


def told_all(run: Path) -> dict[int, str | None]:
    """Descriptions of all clusters, shown or not."""
    return {i: c.description for i, c in sorted(open_run(run).nodes.items())}


def told_above(run: Path) -> list[dict[str, tuple[str | None, int]]]:
    """Of each level, names with descriptions and sizes; numbers may change."""
    return [{g.name: (g.description, g.size) for g in level} for level in open_run(run).levels]


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
    before, before_all, files = told(run), told_all(run), content(run)
    done = edit(run, [{"merge": [0, 1]}])
    after = told(run)
    assert after[0][1] is None and not after[0][0].startswith("Model")
    assert {i: said for i, said in after.items() if i > 1} == {
        i: said for i, said in before.items() if i > 1
    }
    gone = [i for i in before_all if i not in told_all(run) or told_all(run)[i] != before_all[i]]
    assert {0, 1} <= {*gone}  # and unions that hold one of them and something else
    assert list(done.notes) == [f"the description of {i} (Model {i}) is dropped" for i in gone]
    page = (run / "report.html").read_text("utf-8")
    assert "About Model 0." not in page and "About Model 2." in page
    check_names(run)
    undo(run)
    assert told(run) == before and content(run) == files


def test_an_update_keeps_what_was_said(run: Path, tmp_path: Path) -> None:
    before, above = told(run), told_above(run)
    text = next(r["text"] for r in rows(run) if r["cluster"] == "1")
    update(run, write_tickets(tmp_path / "new.csv", [f"{text} again"] * 2, 500))
    assert {i: s for i, s in told(run).items() if i in before} == before
    for level, earlier in zip(told_above(run), above, strict=True):
        assert {n: s for n, (s, _) in level.items()} == {n: s for n, (s, _) in earlier.items()}
