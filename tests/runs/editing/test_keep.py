"""A later run keeps numbers and names of an earlier one."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from commands import rows
from commands import run as call
from coterie import cut, edit, load
from coterie.arrays.assign import CenterAssigner
from coterie.errors import DataError
from coterie.runs.editing.keep import EarlierRun, keep, read_earlier
from said import raises, says
from trees import whole

from .conftest import cluster, clusters, members, write_tickets


@pytest.fixture
def earlier(finished: Path, tmp_path: Path) -> Path:
    run = Path(shutil.copytree(finished, tmp_path / "earlier"))
    edit(run, [{"rename": {0: "Zero", 4: "Four"}}, {"merge": [2, 5]}, {"split": 1}])
    return run


def test_the_same_data_keeps_all_numbers_and_names(finished, tickets, tmp_path) -> None:
    old = Path(shutil.copytree(finished, tmp_path / "old"))
    edit(old, [{"rename": {3: "Three"}}])
    new = cluster(tickets, tmp_path / "new", "--keep", old)
    assert clusters(new) == clusters(old) and members(new) == members(old)
    manifest = json.loads((new / "manifest.json").read_text())
    assert any("6 of 6 clusters live on; new clusters: 0." in s for s in manifest["summary"])
    assert manifest["editing"]["named"] == [3] and manifest["editing"]["next_id"] > 10


def test_numbers_are_those_of_the_table_in_every_file(earlier, tickets, tmp_path) -> None:
    new = cluster(tickets, tmp_path / "new", "--keep", earlier, "--seed", 3)
    table = rows(new)
    model = load(new / "model")
    assert model.predict([r["text"] for r in table]).tolist() == [int(r["cluster"]) for r in table]
    names = clusters(new)
    assert {int(r["cluster"]) for r in table if r["text"]} == set(names)
    assert all(r["name"] == names[int(r["cluster"])] for r in table if r["text"])
    assert all(int(r["runner_up"]) in names for r in table if r["text"])
    assert len(set(names.values())) == len(names)
    assert f'id="cluster-{max(names)}"' in (new / "report.html").read_text("utf-8")
    kept = set(names) & set(clusters(earlier))
    assert kept and min(set(names) - kept, default=99) > 10  # no number is used again


def test_a_run_may_replace_the_one_it_keeps(earlier: Path, tickets: Path) -> None:
    before = clusters(earlier)
    cluster(tickets, earlier, "--keep", earlier, "--overwrite")
    assert clusters(earlier)[0] == before[0] == "Zero"


def test_other_texts_are_placed_by_the_earlier_model(earlier, topics, tmp_path) -> None:
    # Half of a text and half of the next one of its topic.
    words = [text.split() for text in topics[0]]
    texts = [" ".join(words[i][:3] + words[(i + 3) % 90][3:]) for i in range(90)]
    assert not set(texts) & set(topics[0])
    file = write_tickets(tmp_path / "next.csv", texts, first=500)
    new = cluster(file, tmp_path / "next", "--keep", earlier)
    kept = set(clusters(earlier)) & set(clusters(new))
    assert kept and all(clusters(new)[i] == clusters(earlier)[i] for i in kept)
    predicted = load(earlier / "model").predict([r["text"] for r in rows(new)])
    for i in kept:
        inside = predicted[[int(r["cluster"]) == i for r in rows(new)]]
        mine, all_old = (inside == i).sum(), (predicted == i).sum()
        assert mine > min(len(inside), all_old) / 2  # the definition of a link
    summary = json.loads((new / "manifest.json").read_text())["summary"]
    assert any("0 texts in its table and 90 placed by its model" in s for s in summary)


def test_given_classes_keep_their_names() -> None:
    """Two classes are given; the second is called as a cluster that another one carries on."""
    model = SimpleNamespace(
        n_clusters_=3,
        classes_=("Post", "Money"),
        labels_=np.array([0, 0, 1, 1, 2, 2, -1]),
        assigner_=CenterAssigner(np.eye(3)),
        corrections_={"a": 1},
        corrected_rows_={2: 1},
    )
    before = np.array([4, 4, 7, 7, 9, 9, -1])
    names: dict[int, str | None] = {4: "Letters", 7: "Cash", 9: "money"}
    found = EarlierRun(Path("old"), names, {4, 9}, 10, before, 6, 0)
    keep(model, found)
    assert found.numbers == [4, 7, 9]
    assert found.names == {4: "Post", 7: "Money", 9: None}
    assert model.labels_.tolist() == before.tolist() and model.assigner_.clusters == [4, 7, 9]
    assert (model.corrections_, model.corrected_rows_) == ({"a": 7}, {2: 7})
    assert found.editing()["named"] == [9] and found.facts["matched"] == 3


def test_what_cannot_be_kept_is_refused_before_any_work(tickets, finished, tmp_path) -> None:
    result = call("cluster", tickets, "-k", 3, "--keep", tmp_path, "--out", tmp_path / "x", code=3)
    assert says(result.output, "holds no run: there")
    assert not (tmp_path / "x").exists()
    broken = Path(shutil.copytree(finished, tmp_path / "broken"))
    (broken / "model" / "model.safetensors").unlink()
    with raises(DataError, "none of its texts"):
        read_earlier(broken, ["words that are nowhere else"])
    known = read_earlier(broken, [rows(finished)[0]["text"], "words that are nowhere else"])
    assert known.before.tolist() == [int(rows(finished)[0]["cluster"]), -1]


def test_numbers_above_kept_clusters_are_their_own(nested, tmp_path: Path) -> None:
    old = Path(shutil.copytree(nested, tmp_path / "old"))
    before = whole(old)
    one = min(before.names)
    edit(old, [{"rename": {one: "One"}}])
    file = write_tickets(tmp_path / "new.csv", before.texts)
    new = tmp_path / "new"
    call("cluster", file, "--encoder", "tfidf-svd", "-q", "--keep", old, "--out", new)
    after = whole(new)
    kept = {*before.names} & {*after.names}
    assert one in kept and after.names[one] == "One"
    assert list(after.tree.levels)[-1] == "medium" and after.tree.at == after.tree.finest
    assert min({*after.tree.inside(), *({*after.names} - kept)}) > before.tree.highest
    assert after.facts["editing"]["next_id"] == after.tree.highest + 1
    cut(new, 2)
    again = tmp_path / "again"
    call("cluster", file, "--encoder", "tfidf-svd", "-q", "--keep", new, "--out", again)
    assert min(whole(again).tree.inside()) > after.tree.highest
