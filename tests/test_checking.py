"""``coterie check`` finds what does not belong together."""

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import run as call
from commands import write_csv
from coterie import cluster, cut
from coterie.checking import check_integrity
from said import says
from trees import nested_texts


@pytest.fixture(scope="module")
def made(topics, tmp_path_factory) -> Path:
    """A finished run with levels and an edit that can be undone."""
    place = tmp_path_factory.mktemp("made")
    (place / "t.csv").write_text("text\n" + "\n".join(topics[0][:40]) + "\n")
    (place / "e.yaml").write_text("- merge: [0, 1]\n")
    call("cluster", place / "t.csv", "-k", 5, "-m", "kmeans", "--encoder", "tfidf", "-q",
         "--levels", "2", "--out", place / "run")  # fmt: skip
    call("edit", place / "run", place / "e.yaml")
    return place / "run"


def rewrite(file: Path, change: Callable[[Any], object]) -> None:
    value = json.loads(file.read_text("utf-8"))
    change(value)
    file.write_text(json.dumps(value), "utf-8")


def drop_row(run: Path) -> None:
    lines = (run / "assignments.csv").read_text().splitlines()
    (run / "assignments.csv").write_text("\n".join(lines[:-1]) + "\n")


HARMS: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "nothing": (lambda run: None, []),
    "a row": (drop_row, ["39 rows, the manifest says 40"]),
    "a size": (
        lambda run: rewrite(run / "clusters.json", lambda c: c["clusters"][0].update(size=3)),
        ["but clusters.json says 3"],
    ),
    "a cluster": (
        lambda run: rewrite(run / "clusters.json", lambda c: c["clusters"][0].update(id=77)),
        ["does not know cluster 77"],
    ),
    "a place": (
        lambda run: rewrite(run / "map.json", lambda m: m["rows"].append(m["rows"].pop() + 99)),
        ["has rows that the table does not have"],
    ),
    "the levels": (lambda run: (run / "levels.json").unlink(), ["levels.json is missing"]),
    "the page": (lambda run: (run / "report.html").unlink(), ["report.html is missing"]),
    "the log": (lambda run: (run / "edits.jsonl").unlink(), ["the log of edits"]),
    "a kept file": (
        lambda run: (run / "earlier/0001/files/clusters.json").unlink(),
        ["this change cannot be undone"],
    ),
    "a file that is not JSON": (
        lambda run: (run / "clusters.json").write_text("{"),
        ["is not JSON"],
    ),
    "the status": (
        lambda run: rewrite(run / "manifest.json", lambda m: m.update(status="running")),
        ["the run is not finished"],
    ),
}


@pytest.mark.parametrize("name", HARMS)
def test_what_is_wrong_is_found(name: str, made: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(made, tmp_path / "run"))
    harm, parts = HARMS[name]
    harm(run)
    found = [finding.what for finding in check_integrity(run).findings]
    assert says(" ".join(found), *parts) and bool(found) == bool(parts), found
    assert len(found) == len(set(found))  # what several checks cannot read is said once
    call("check", run, code=3 if parts else 0)


def test_what_several_checks_cannot_read_is_said_with_its_remedy(
    made: Path, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(made, tmp_path / "run"))
    (run / "model/config.json").write_text("{")
    (found,) = [f for f in check_integrity(run).findings if "is not JSON" in f.what]
    assert found.remedy == f"coterie edit {run} --undo"  # the first of the two checks knows none


@pytest.fixture(scope="module")
def grown(tmp_path_factory) -> Path:
    """A run with a merge tree, of which another cut is kept for an undo."""
    folder = tmp_path_factory.mktemp("grown") / "run"
    cluster(nested_texts(), encoder="tfidf-svd", folder=folder)
    cut(folder, "broad")
    return folder


def move_row(run: Path) -> None:
    """Let the first row be in the finest cluster of the last."""
    with (run / "assignments.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    table[0]["fine"] = table[-1]["fine"]
    write_csv(run / "assignments.csv", list(table[0]), *(row.values() for row in table))


TREE_HARMS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a finest cluster": (move_row, "row 1 is in cluster"),
    "a column": (
        lambda run: (run / "assignments.csv").write_text(
            (run / "assignments.csv").read_text().replace(",fine,", ",other,", 1)
        ),
        "no column 'fine'",
    ),
    "the cut": (
        lambda run: shutil.copy(
            run / "earlier/0001/files/model/config.json", run / "model/config.json"
        ),
        "does not know cluster",
    ),
    "a level": (
        lambda run: rewrite(run / "clusters.json", lambda c: c["tree"].update(at=3)),
        "which does not hold its finest one",
    ),
    "a description": (
        lambda run: rewrite(run / "clusters.json", lambda c: c["tree"]["nodes"].pop()),
        "other clusters than it describes",
    ),
    "a merge": (
        lambda run: rewrite(run / "clusters.json", lambda c: c["tree"]["merges"].pop(0)),
        "is damaged",
    ),
}


@pytest.mark.parametrize("name", TREE_HARMS)
def test_a_merge_tree_that_does_not_fit_is_found(name: str, grown: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(grown, tmp_path / "run"))
    assert not check_integrity(run).findings
    harm, said = TREE_HARMS[name]
    harm(run)
    assert says(" ".join(finding.what for finding in check_integrity(run).findings), said)
