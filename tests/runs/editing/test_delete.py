"""Clusters that go into their neighbours, and outliers that join theirs."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import coterie
from commands import rows
from commands import run as call
from coterie import edit, load
from coterie.errors import DataError
from coterie.runs.editing import undo
from coterie.runs.store import read
from said import raises, says
from trees import members as rows_of
from trees import whole

from .conftest import clusters, content, members


def copied(run: Path, place: Path) -> Path:
    return Path(shutil.copytree(run, place / "run"))


def next_best(run: Path, cluster: int) -> dict[str, int]:
    """Cluster of each text that is second to this one, by the model that was saved."""
    texts = [row["text"] for row in rows(run) if row["cluster"] == str(cluster)]
    p = load(run / "model").predict_proba(texts)
    p[:, cluster] = -1
    return dict(zip(texts, p.argmax(axis=1).tolist(), strict=True))


def test_texts_of_a_deleted_cluster_go_to_their_next_best(run: Path, finished: Path) -> None:
    edit(run, [{"merge": [2, 3]}])
    before, wanted = members(run), next_best(run, 2)
    moved = next(row["ticket"] for row in rows(run) if row["cluster"] == "0")
    edit(run, [{"move": {"rows": [moved], "to": 2}}])
    text = next(row["text"] for row in rows(run) if row["ticket"] == moved)
    done = edit(run, [{"delete": [2]}]).done[0]
    after = {row["text"]: int(row["cluster"]) for row in rows(run) if row["text"]}
    assert after[text] == 0  # a person had put it there: it goes where the model has it
    assert {text: after[text] for text in wanted} == wanted and len(set(wanted.values())) > 1
    assert all(f"to {i} (" in done for i in wanted.values()) and 2 not in clusters(run)
    for i, tickets in members(run).items():
        assert before[i] <= tickets  # nobody else has moved
    model = load(run / "model")
    assert model.predict(list(after)).tolist() == list(after.values())
    p = model.predict_proba(list(after))
    assert (p[:, 2] == 0).all() and np.allclose(p.sum(axis=1), 1)
    edit(run, [{"split": 0}])  # the number is never used again
    assert 2 not in clusters(run) and 11 in clusters(run)
    for _ in range(4):
        undo(run)
    assert content(run) == content(finished)


@pytest.mark.parametrize("level", ["broad", "medium", "fine"])
def test_a_deletion_lasts_through_cuts(nested: Path, level: str, tmp_path: Path) -> None:
    run = copied(nested, tmp_path)
    coterie.cut(run, level)
    start, before = content(run), read(run)
    gone = max(before.names, key=lambda i: (len(before.tree.below(i)), i))
    edit(run, [{"delete": [gone]}])
    now = whole(run)
    assert {*now.names} == {*before.names} - {gone} and gone not in now.nodes
    assert {*now.tree.leaves} == {*before.tree.leaves} - {*before.tree.below(gone)}
    for i in now.names:
        assert rows_of(before, i) <= rows_of(now, i) and now.names[i] == before.names[i]
    for again in ("fine", "broad", level):
        if again in now.tree.levels:
            coterie.cut(run, again)
            assert gone not in whole(run).nodes
    while content(run) != start:
        undo(run)


@pytest.mark.parametrize("which", ["rich", "nested"])
def test_outliers_join_their_nearest_clusters(which: str, request, tmp_path: Path) -> None:
    source = request.getfixturevalue(which)
    run = copied(source, tmp_path)
    before = {r["ticket"]: r for r in rows(run)}
    odd = {t: r for t, r in before.items() if r["outlier"] == "yes"}
    shown = call("edit", run, "reassign", "outliers").output
    assert says(shown, f"reassigned {len(odd)} outlier")
    for ticket, row in ((r["ticket"], r) for r in rows(run)):
        was = before[ticket]
        assert row["outlier"] == "no" and row["outlier_score"] == was["outlier_score"]
        assert row["cluster"] == (was["nearest_cluster"] if ticket in odd else was["cluster"])
        assert row["confidence"] == was["confidence"]  # it is no surer than it was
    table = [row for row in rows(run) if row["text"]]
    told = load(run / "model").predict([row["text"] for row in table], outliers=True)
    assert told.tolist() == [int(row["cluster"]) for row in table]
    assert json.loads((run / "manifest.json").read_text())["outliers"]["marked"] == 0
    if which == "nested":
        whole(run)
    with raises(DataError, "no text is an outlier"):
        edit(run, "reassign: outliers")
    undo(run)
    assert content(run) == content(source)
