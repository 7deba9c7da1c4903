"""Edits on a run folder: what changes, what must not, and what is refused."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from commands import rows
from coterie import edit, export_run, load
from coterie.errors import DataError
from coterie.runs.editing import undo
from coterie.runs.store import read, undoable
from said import raises

from .conftest import clusters, content, members


def test_a_merge_keeps_the_first_number_and_takes_only_its_rows(run: Path, finished: Path) -> None:
    before = members(finished)
    done = edit(run, [{"merge": [4, 1], "name": "Both"}])
    after = members(run)
    assert after.pop(4) == before.pop(4) | before.pop(1)
    assert after == before
    assert clusters(run)[4] == "Both" and 1 not in clusters(run)
    assert done.clusters == clusters(run) and "merged 1" in done.done[0]


def test_a_split_divides_one_cluster_into_new_ones_the_largest_first(run, finished) -> None:
    before = members(finished)
    edit(run, [{"split": {"cluster": 2, "into": 3, "names": ["A", "B", "C"]}}])
    after = members(run)
    parts = [after.pop(i) for i in (11, 12, 13)]
    assert set().union(*parts) == before.pop(2) and after == before
    assert sum(map(len, parts)) == len(set().union(*parts))
    assert len(parts[0]) >= len(parts[1]) >= len(parts[2]) > 0
    assert [clusters(run)[i] for i in (11, 12, 13)] == ["A", "B", "C"]


def test_a_move_takes_identical_texts_along(run: Path, finished: Path) -> None:
    there = {row["ticket"]: row["cluster"] for row in rows(finished)}
    to = next(i for i in range(6) if str(i) != there["T-0"])
    done = edit(run, [{"move": {"rows": ["T-0"], "to": to}}])
    after = {row["ticket"]: row for row in rows(run)}
    assert after["T-0"]["cluster"] == after["T-91"]["cluster"] == str(to)  # the same text
    assert after["T-0"]["confidence"] == "1.0"
    assert after["T-0"]["runner_up"] == there["T-0"]  # where it came from
    moved = [t for t, row in after.items() if row["cluster"] != there[t]]
    assert set(moved) == {"T-0", "T-91"} and done.done[0].startswith("moved 2 rows")


def test_rows_are_named_in_many_ways(run: Path) -> None:
    texts = [row["text"] for row in rows(run)]
    word = texts[7].split()[0]
    here = int(rows(run)[7]["cluster"])
    to = (here + 1) % 6
    edit(run, [{"move": {"rows": [{"row": 8}, {"text": f"  {texts[20]} "}], "to": to}}])
    assert {rows(run)[i]["cluster"] for i in (7, 20)} == {str(to)}
    edit(run, [{"move": {"rows": {"contains": word.upper(), "in": to}, "to": here}}])
    for row in rows(run):
        assert not (row["cluster"] == str(to) and word in row["text"])


def test_names_change_everywhere(run: Path) -> None:
    before = {row["ticket"]: row["cluster"] for row in rows(run)}
    model = content(run)["model/config.json"]
    edit(run, [{"rename": {0: "Äpfel & Birnen", 3: "no"}}])
    assert clusters(run)[0] == "Äpfel & Birnen"
    assert {row["name"] for row in rows(run) if row["cluster"] == "0"} == {"Äpfel & Birnen"}
    saved = json.loads((run / "clusters.json").read_text("utf-8"))["clusters"]
    near = {n["id"]: n["name"] for c in saved for n in c["near"]}
    assert all(name == clusters(run)[i] for i, name in near.items())
    assert "Äpfel &amp; Birnen" in (run / "report.html").read_text("utf-8")
    assert {row["ticket"]: row["cluster"] for row in rows(run)} == before
    assert content(run)["model/config.json"] == model  # nothing to learn
    edit(run, [{"rename": {0: "no", 3: "Äpfel & Birnen"}}])  # they may change places
    assert (clusters(run)[0], clusters(run)[3]) == ("no", "Äpfel & Birnen")


def test_an_undo_takes_exports_back_that_were_made_in_between(run: Path) -> None:
    export_run(run, "parquet")
    before = content(run)["assignments.parquet"]
    edit(run, [{"merge": [0, 3]}])
    export_run(run, ["jsonl", "parquet"])
    edited = content(run)["assignments.jsonl"]
    undo(run)
    after = content(run)
    assert after["assignments.parquet"] == before
    assert after["assignments.jsonl"] != edited
    found = [json.loads(line) for line in after["assignments.jsonl"].splitlines()]
    assert [str(row["cluster"]) for row in found] == [row["cluster"] for row in rows(run)]


def test_the_model_predicts_what_the_table_says_after_many_edits(run: Path) -> None:
    edits = [
        {"merge": [0, 5]},
        {"split": {"cluster": 0, "into": 3}},
        {"move": {"rows": ["T-3", "T-40"], "to": 2}},
        {"merge": [2, 11]},
        {"split": 2},
        {"rename": {1: "One"}},
    ]
    edit(run, edits)
    table = rows(run)
    model = load(run / "model")
    texts = [row["text"] for row in table]
    p = model.predict_proba(texts)
    assert model.predict(texts).tolist() == [int(row["cluster"]) for row in table]
    for row, values in zip(table, p, strict=True):
        if row["cluster"] != "-1":
            assert float(row["confidence"]) == pytest.approx(values.max(), abs=1e-3)
            assert values.sum() == pytest.approx(1)
            assert int(row["runner_up"]) in clusters(run)
    alive = [i for i in range(p.shape[1]) if i in clusters(run)]
    retired = [i for i in range(p.shape[1]) if i not in clusters(run)]
    assert (p[:, retired] == 0).all() and (p[p.any(axis=1)][:, alive] > 0).all()
    assert model.n_clusters_ == len(clusters(run))


def test_corrections_follow_a_merge_of_their_cluster(run: Path) -> None:
    text = rows(run)[9]["text"]
    to = next(i for i in range(6) if i not in (1, int(rows(run)[9]["cluster"])))
    edit(run, [{"move": {"rows": [{"row": 10}], "to": to}}])
    edit(run, [{"merge": [1, to]}])  # the number it was moved to is retired
    assert rows(run)[9]["cluster"] == "1"
    assert load(run / "model").predict([text]).tolist() == [1]


def test_numbers_are_never_used_again(run: Path) -> None:
    edit(run, [{"split": 0}])  # makes 11 and 12; unions of the tree have 6 to 10
    edit(run, [{"merge": [11, 12]}])  # retires 12
    edit(run, [{"split": 11}])
    assert {13, 14} <= {*clusters(run)} and not {0, 11, 12} & {*clusters(run)}
    undo(run)
    undo(run)
    edit(run, [{"split": 1}])
    assert {13, 14} <= {*clusters(run)}


def test_undo_brings_back_every_byte(run: Path, finished: Path) -> None:
    states = [content(run)]
    for edits in (
        [{"merge": [0, 1]}, {"rename": {2: "Y"}}],
        [{"split": 3}],
        [{"rename": {4: "X"}}],
    ):
        edit(run, edits)
        states.append(content(run))
    assert undo(run) == 3
    for number, state in ((2, states[2]), (1, states[1]), (0, states[0])):
        assert content(run) == state
        if number:
            assert undo(run) == number
    assert content(run) == content(finished)
    with raises(DataError, "has no edits to undo"):
        undo(run)
    assert undoable(read(run)) == ""
    done = edit(run, [{"merge": [0, 1]}]).done
    assert undoable(read(run)) == "; ".join(done)
    (change,) = read(run).facts["changes"]
    assert change["done"] == list(done) and change["when"]


@pytest.mark.parametrize(
    ("wanted", "parts"),
    [
        ({"merge": [0, 9]}, ["there is no cluster", "9", "0, 1, 2, 3, 4, 5"]),
        ({"split": {"cluster": 1, "into": 60}}, ["different texts", "1", "60"]),
        ({"move": {"rows": ["T-999"], "to": 1}}, ["look it up in assignments.csv", "T-999"]),
        ({"move": {"rows": [{"row": 0}], "to": 1}}, ["has the row", "0"]),
        ({"move": {"rows": [{"contains": "zebra"}], "to": 1}}, ["look it up", "zebra"]),
        ({"move": {"rows": [{"contains": ""}], "to": 1}}, ["no row contains"]),
        ({"move": {"rows": ["T-90"], "to": 1}}, ["has no text, so it", "91"]),
        ({"move": {"rows": [{"row": 1, "id": 2}], "to": 1}}, ["name a row by one of"]),
        ({"move": {"rows": [{"row": 1, "in": 77}], "to": 1}}, ["no row in cluster", "77"]),
    ],
)
def test_what_cannot_be_done_changes_nothing(run: Path, wanted, parts: list[str]) -> None:
    before = content(run)
    with raises(DataError, "edit 2", parts):
        edit(run, [{"rename": {3: "done before"}}, wanted])
    assert content(run) == before


def test_names_must_differ(run: Path) -> None:
    taken = clusters(run)[3]
    for wanted in ({"rename": {1: taken.upper()}}, {"merge": [0, 1], "name": taken},
                   {"split": {"cluster": 1, "names": ["A", taken]}}):  # fmt: skip
        with raises(DataError, "already; choose another", "3"):
            edit(run, [wanted])
    with raises(DataError, "is given twice; every", "'a'"):
        edit(run, [{"split": {"cluster": 1, "names": ["A", "a"]}}])


def test_a_move_may_not_empty_a_cluster_or_do_nothing(run: Path) -> None:
    everyone = [r["ticket"] for r in rows(run) if r["cluster"] == "5"]
    with raises(DataError, "without a row; merge", "0", "5"):
        edit(run, [{"move": {"rows": everyone, "to": 0}}])
    with raises(DataError, "already; leave the", "5"):
        edit(run, [{"move": {"rows": everyone, "to": 5}}])


def test_a_table_that_was_changed_by_hand_is_noticed(run: Path) -> None:
    file = run / "assignments.csv"
    lines = file.read_text("utf-8").splitlines(keepends=True)
    swapped = [re.sub(r"^(T-\d+,[^,]+,[^,]+),(\d),", _other, line) for line in lines]
    file.write_text("".join(swapped), "utf-8")
    with raises(DataError, "rows elsewhere than"):
        edit(run, [{"merge": [0, 1]}])


def _other(found: re.Match[str]) -> str:
    return f"{found[1]},{(int(found[2]) + 1) % 6},"


def test_a_row_that_rounds_differently_is_bound_to_its_cluster(run: Path) -> None:
    file = run / "assignments.csv"
    lines = file.read_text("utf-8").splitlines(keepends=True)
    old = rows(run)[17]["cluster"]
    new = str((int(old) + 1) % 6)
    lines[18] = lines[18].replace(f",{old},", f",{new},", 1)
    file.write_text("".join(lines), "utf-8")
    edit(run, [{"split": next(i for i in range(6) if str(i) not in (old, new))}])
    assert rows(run)[17]["cluster"] == new
    assert load(run / "model").predict([rows(run)[17]["text"]]).tolist() == [int(new)]


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2))
def test_random_edits_keep_every_row_in_exactly_one_cluster(finished, tmp_path, seed: int) -> None:
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    rng = np.random.default_rng(seed)
    everyone = {row["ticket"] for row in rows(run)}
    done = 0
    for _ in range(5):
        try:
            edit(run, random_edits(rng, sorted(clusters(run))))
            done += 1
        except DataError:
            continue
        placed = members(run)
        assert set().union(*placed.values()) == everyone
        assert sum(map(len, placed.values())) == len(everyone)
        assert placed.pop(-1) == {"T-90"}  # the row without a text
        assert placed.keys() == clusters(run).keys()
        assert len(set(clusters(run).values())) == len(placed)
        by_text: dict[str, set[str]] = {}
        for row in rows(run):
            by_text.setdefault(row["text"], set()).add(row["cluster"])
        assert all(len(found) == 1 for found in by_text.values())
        saved = json.loads((run / "clusters.json").read_text("utf-8"))["clusters"]
        assert {c["id"]: c["size"] for c in saved} == {i: len(m) for i, m in placed.items()}
    assert done  # otherwise nothing was tried
    texts = [row["text"] for row in rows(run)]
    assert load(run / "model").predict(texts).tolist() == [int(r["cluster"]) for r in rows(run)]
    for _ in range(done):
        undo(run)
    assert content(run) == content(finished)


def random_edits(rng: np.random.Generator, known: list[int]) -> list[dict]:
    def some(n: int) -> list[int]:
        return [int(i) for i in rng.choice(known, min(n, len(known)), replace=False)]

    rows_ = [f"T-{i}" for i in rng.choice(90, 3)]
    choices = [
        {"merge": some(2)}, {"merge": some(3)}, {"split": {"cluster": some(1)[0], "into": 2}},
        {"split": {"cluster": some(1)[0], "into": 3}}, {"move": {"rows": rows_, "to": some(1)[0]}},
        {"rename": {some(1)[0]: f"Name {rng.integers(1000)}"}},
    ]  # fmt: skip
    return [choices[i] for i in rng.choice(len(choices), 2)]
