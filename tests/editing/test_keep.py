"""A later run keeps numbers, names, corrections and locks of an earlier one."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from commands import rows
from commands import run as call
from coterie import TwoStep, cut, edit, load
from coterie.editing.apply import Draft
from coterie.editing.keep import EarlierRun, keep, read_earlier
from coterie.errors import DataError
from coterie.summary import kept_sentences
from said import raises, says
from trees import members as rows_of
from trees import whole

from .conftest import cluster, clusters, members, write_tickets


@pytest.fixture
def earlier(finished: Path, tmp_path: Path) -> Path:
    run = Path(shutil.copytree(finished, tmp_path / "earlier"))
    edit(run, [{"rename": {0: "Zero", 4: "Four"}}, {"merge": [2, 5]}, {"split": 1}])
    return run


def agreement(one: Path, other: Path) -> float:
    there = {row["ticket"]: row["cluster"] for row in rows(one)}
    here = {row["ticket"]: row["cluster"] for row in rows(other) if row["ticket"] in there}
    return sum(there[t] == c for t, c in here.items()) / len(here)


def test_the_same_data_keeps_all_numbers_and_names(finished, tickets, tmp_path) -> None:
    old = Path(shutil.copytree(finished, tmp_path / "old"))
    edit(old, [{"rename": {3: "Three"}}, {"merge": [1, 4], "name": "Merged"}])
    new = cluster(tickets, tmp_path / "new", "--keep", old)
    assert clusters(new)[3] == "Three"
    # The new clustering has six clusters again; the two that were merged are merged again.
    assert members(new) == members(old) and clusters(new)[1] == "Merged"
    manifest = json.loads((new / "manifest.json").read_text())
    assert any("5 of 5 clusters live on; new clusters: 0." in s for s in manifest["summary"])
    assert manifest["editing"]["next_id"] == 7


def test_merges_splits_and_deletions_are_repeated(finished, tickets, tmp_path) -> None:
    old = Path(shutil.copytree(finished, tmp_path / "old"))
    edit(old, [{"rename": {2: "Gone"}}, {"delete": [2]}])
    edit(old, [{"merge": [1, 4], "name": "Both"}, {"split": {"cluster": 3, "names": ["A", "B"]}}])
    first = cluster(tickets, tmp_path / "first", "--keep", old)
    second = cluster(tickets, tmp_path / "second", "--keep", first)  # what is kept is kept on
    for new in (first, second):
        assert clusters(new) == clusters(old) and members(new) == members(old)
        table = rows(new)
        told = load(new / "model").predict([row["text"] for row in table])
        assert told.tolist() == [int(row["cluster"]) for row in table]
        manifest = json.loads((new / "manifest.json").read_text())
        (said,) = (s for s in manifest["summary"] if "were repeated:" in s)
        parts = ["merged others into 1 (Both)", "split off 3 (A)", "split off 6 (B)", "(Gone)"]
        assert all(part in said for part in parts)
        assert any("There are 5 clusters instead of 6: edits" in s for s in manifest["summary"])
    coarse = cluster(tickets, tmp_path / "coarse", "--keep", old, "-k", 2)
    summary = json.loads((coarse / "manifest.json").read_text())["summary"]
    assert any("not found again: " in sentence for sentence in summary)


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
    assert agreement(earlier, new) > 0.5


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


def test_a_locked_cluster_keeps_its_texts(finished, tickets, tmp_path) -> None:
    old = Path(shutil.copytree(finished, tmp_path / "old"))
    spread = [f"T-{i}" for i in range(0, 90, 9)]  # ten texts of all topics, put together by hand
    target = int(rows(old)[0]["cluster"])
    others = [t for t in spread if rows(old)[int(t[2:])]["cluster"] != str(target)]
    edit(old, [{"move": {"rows": others, "to": target}}, {"rename": {target: "Ours"}},
               {"lock": [target]}])  # fmt: skip
    inside = members(old)[target]
    new = cluster(tickets, tmp_path / "new", "--keep", old, "--seed", 9)
    assert inside <= members(new)[target] and clusters(new)[target] == "Ours"
    assert json.loads((new / "manifest.json").read_text())["editing"]["locked"] == [target]
    with raises(DataError, "is locked: it keeps", str(target)):
        edit(new, [{"rename": {target: "Theirs"}}])
    again = cluster(tickets, tmp_path / "again", "--keep", new, "--seed", 10)
    assert inside <= members(again)[target]


def planted(labels: list[int], before: list[int], locked: set[int], fixed: dict[int, int]):
    """A fitted model of six different texts with planted labels, and an earlier run for it."""
    from coterie.base.edited import fingerprint
    from coterie.blocks.assign import CenterAssigner

    texts = [f"text {i}" for i in range(len(labels))]
    x = np.eye(max(labels) + 1, dtype=np.float32)[labels]
    x += np.linspace(0, 0.1, len(labels), dtype=np.float32)[:, None]
    model = TwoStep(max(labels) + 1, encoder="precomputed", random_state=0).fit(x)
    model.assigner_ = CenterAssigner(np.stack([x[np.array(labels) == i].mean(axis=0)
                                       for i in range(max(labels) + 1)]))  # fmt: skip
    model.labels_ = np.array(labels)
    names = {i: f"Old {i}" for i in set(before) if i >= 0} | {i: f"Old {i}" for i in locked}
    draft = Draft(texts, np.array(before), lambda: x, names, max(names) + 1, locked=locked,
                  corrections={fingerprint(texts[r]): c for r, c in fixed.items()})  # fmt: skip
    kept = EarlierRun(Path("old"), draft, np.array(before), len(before), 0)
    keep(model, kept, texts)
    return model, kept, kept_sentences(kept.facts)


def test_a_locked_cluster_without_a_match_lives_on_with_its_texts() -> None:
    # Cluster 7 had one text of each of two that are now apart, by a person's word.
    model, kept, said = planted([0, 0, 0, 1, 1, 1], [4, 4, 7, 9, 9, 7], {7}, {2: 7, 5: 7})
    assert model.labels_.tolist() == [4, 4, 7, 9, 9, 7]
    assert model.assigner_.extra == (7,) and 7 in model.assigner_.clusters
    assert "There are 3 clusters instead of 2: 1 locked ones" in said[-1]
    assert model.probabilities_.argmax(axis=1).tolist() == [4, 4, 7, 9, 9, 7]
    assert kept.draft.locked == {7}


def test_a_new_cluster_that_is_all_locked_texts_becomes_theirs() -> None:
    # Clusters 0 and 1 of the new model hold texts of the locked 4 only; the larger one is 4.
    model, _, said = planted([0, 0, 0, 1, 2, 2], [4, 4, 4, 4, 9, 9], {4}, {0: 4, 1: 4, 2: 4, 3: 4})
    assert model.labels_.tolist() == [4, 4, 4, 4, 9, 9]
    assert model.assigner_.clusters == [4, 9] and model.n_clusters_ == 2
    assert "There are 2 clusters instead of 3: all texts of 1 are in locked" in said[-1]


def test_a_locked_cluster_that_is_gone_is_told() -> None:
    _, kept, said = planted([0, 0, 1, 1], [4, 4, 9, 9], {6}, {})
    assert kept.draft.locked == set()
    assert "The locked cluster 6 (Old 6) is not in the new data" in said[1]


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


@pytest.mark.parametrize("level", ["medium", "broad"])
def test_numbers_above_kept_clusters_are_their_own(nested, level: str, tmp_path: Path) -> None:
    old = Path(shutil.copytree(nested, tmp_path / "old"))
    cut(old, level)
    before = whole(old)
    one, two, *_ = before.names
    edit(old, [{"rename": {one: "One"}}, {"lock": [one, two]}])
    part = [i for i, text in enumerate(before.texts) if i % 3 or before.nearest[i] == two]
    file = write_tickets(tmp_path / "new.csv", [before.texts[i] for i in part])
    new = tmp_path / "new"
    call("cluster", file, "--encoder", "tfidf-svd", "-q", "--keep", old, "--out", new)
    after = whole(new)
    kept = {*before.names} & {*after.names}
    assert {one, two} <= kept and after.names[one] == "One"
    assert list(after.tree.levels)[-1] == "medium" and after.tree.at == after.tree.finest
    assert min({*after.tree.inside(), *({*after.names} - kept)}) > before.tree.highest
    assert after.facts["editing"]["next_id"] == after.tree.highest + 1
    cut(new, 2)
    edit(new, [{"unlock": [one, two]}, {"split": {"cluster": max(after.tree.shown(2)), "into": 9}}])
    edited = whole(new)
    again = tmp_path / "again"
    call("cluster", file, "--encoder", "tfidf-svd", "-q", "--keep", new, "--out", again)
    assert min(whole(again).tree.inside()) > edited.tree.highest


def test_a_locked_cluster_beside_those_found_is_in_the_tree(nested, tmp_path: Path) -> None:
    """Its texts are spread over others now: it has no match, and is one more cluster."""
    old = Path(shutil.copytree(nested, tmp_path / "old"))
    cut(old, "fine")
    fine = whole(old)
    one = next(i for i in fine.names if len(rows_of(fine, i)) == 2)
    edit(old, [{"lock": [one]}])
    file = write_tickets(tmp_path / "new.csv", fine.texts)
    new = tmp_path / "new"
    call("cluster", file, "--encoder", "tfidf-svd", "-q", "--keep", old, "--out", new)
    after = whole(new)
    assert rows_of(after, one) >= rows_of(fine, one) and one in after.tree.leaves
    assert after.facts["editing"]["kept"]["beside"] == 1
