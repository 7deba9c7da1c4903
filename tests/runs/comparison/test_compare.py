"""Comparisons of planted clusterings, by rows, and what is refused."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from coterie import compare
from coterie.errors import DataError, UsageError
from coterie.runs.comparison import Side, read_table_side
from coterie.runs.comparison.side import read_labels
from said import raises


def side(title: str, rows: dict[str, int], **more) -> Side:
    labels = np.array(list(rows.values()))
    names = {int(i): f"Name {i}" for i in set(rows.values()) if i >= 0}
    return Side(title, labels, names, texts=list(rows), **more)


def status(found) -> tuple[dict[int, str], dict[int, str]]:
    return ({c.id: c.status for c in found.clusters_a}, {c.id: c.status for c in found.clusters_b})


def test_the_same_clustering_under_other_numbers_has_not_changed() -> None:
    found = compare([0, 0, 1, 1, 2], [7, 7, 3, 3, 5])
    assert found.partners == {0: 7, 1: 3, 2: 5}
    assert (found.moved, found.unchanged, found.nmi, found.ari) == (0, 1.0, 1.0, 1.0)
    assert all(flow.kept for flow in found.flows)


def test_born_and_died_and_how_many_moved_from_where_to_where() -> None:
    before = [0] * 9 + [1] * 9 + [2] * 6
    after = [0] * 9 + [1] * 9 + [0, 0, 0, 1, 1, 1]
    found = compare(before, after)
    assert status(found)[0] == {0: "matched", 1: "matched", 2: "died"}
    assert {(f.a, f.b): f.count for f in found.flows if not f.kept} == {(2, 0): 3, (2, 1): 3}
    back = compare(after, before)
    assert status(back)[1] == {0: "matched", 1: "matched", 2: "born"}
    assert back.moved == 6


def test_figures_are_those_of_a_loop() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-1, 4, 200), rng.integers(-1, 5, 200)
    found = compare(a, b)
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if (x, y) != (-1, -1)]
    stayed = sum(found.partners.get(int(x), -2) == y for x, y in pairs)
    assert found.seen == len(pairs)
    assert found.moved == len(pairs) - stayed
    assert found.unchanged == pytest.approx(stayed / len(pairs))
    both = (a >= 0) & (b >= 0)
    assert found.nmi == pytest.approx(normalized_mutual_info_score(a[both], b[both]))
    assert found.ari == pytest.approx(adjusted_rand_score(a[both], b[both]))
    assert sum(flow.count for flow in found.flows) == found.seen
    for cluster in found.clusters_a:
        assert cluster.size == (a == cluster.id).sum()
        assert cluster.stayed == sum(x == cluster.id and y == cluster.partner for x, y in pairs)
    assert sum(c.share for c in found.clusters_b) == pytest.approx(1)


def test_rows_without_a_cluster_are_followed_and_never_matched() -> None:
    found = compare([0, 0, 0, -1, -1], [0, 0, -1, 0, -1])
    assert found.seen == 4
    assert {(f.a, f.b): f.count for f in found.flows} == {(0, 0): 2, (0, None): 1, (None, 0): 1}
    assert found.moved == 2


def test_rows_are_matched_by_text_whatever_their_order() -> None:
    a = side("a", {"one": 0, "two": 0, "three": 1, "gone": 1})
    b = side("b", {"new": 4, "three": 4, "two": 3, "one": 3})
    found = compare(a, b)
    assert found.evidence == "texts" and found.partners == {0: 3, 1: 4}
    assert (found.seen, found.only_a, found.only_b) == (3, 1, 1)
    assert [c.only for c in found.clusters_a] == [0, 1]


def test_repeated_texts_are_paired_as_often_as_both_have_them() -> None:
    names = {0: "A", 1: "B"}
    a = Side("a", np.array([0, 0, 0, 1]), names, texts=["x", "x", "x", "y"])
    b = Side("b", np.array([0, 0, 1]), names, texts=["x", "x", "y"])
    found = compare(a, b)
    assert (found.seen, found.only_a, found.only_b) == (3, 1, 0)


def test_ids_go_before_texts() -> None:
    a = side("a", {"one": 0, "two": 1}, ids=["T1", "T2"])
    b = side("b", {"changed": 0, "one": 1}, ids=["T1", "T2"])
    found = compare(a, b)
    assert found.evidence == "ids" and found.moved == 0


def test_empty_texts_are_nobody() -> None:
    a = Side("a", np.array([0, 0, 0]), {0: "A"}, texts=["x", "", ""])
    b = Side("b", np.array([0, 1, 1]), {0: "A", 1: "B"}, texts=["x", "", ""])
    assert compare(a, b).seen == 1


def test_a_few_shared_rows_are_better_than_nothing() -> None:
    a = side("a", {"shared": 0, "one": 0, "two": 1, "three": 1})
    b = side("b", {"shared": 5, "x": 5, "y": 6, "z": 6})
    found = compare(a, b)
    assert found.evidence == "texts" and found.partners == {0: 5}


def test_examples_are_of_moved_rows_alone_and_different() -> None:
    rows = {f"text {i}": 0 for i in range(9)}
    moved = {text: int(i >= 6) for i, text in enumerate(rows)}
    found = compare(side("a", rows | {"other": 1}), side("b", moved | {"other": 2}), examples=2)
    kept, gone = found.flows[0], next(f for f in found.flows if (f.a, f.b) == (0, 1))
    assert kept.examples == ()
    assert gone.examples == ("text 6", "text 7")


def test_what_cannot_be_compared_is_refused() -> None:
    with raises(DataError, "have nothing to compare"):
        compare(side("a", {"one": 0}), side("b", {"two": 0}))
    with raises(UsageError, "after; give one for", "2", "3"):
        compare([0, 1], [0, 1, 1])
    with raises(UsageError, "should be one of", "by"):
        compare([0], [0], by="guessing")


def test_labels_of_any_kind() -> None:
    labels, names = read_labels(["late", None, "broken", "late"])
    assert labels.tolist() == [1, -1, 0, 1] and names == {0: "broken", 1: "late"}
    labels, names = read_labels(np.array([5, -1, 2]))
    assert labels.tolist() == [5, -1, 2] and set(names) == {2, 5}
    with raises(UsageError, "labels: clusters"):
        read_labels([0, -7])


def test_tables_of_other_programs(tmp_path) -> None:
    table = tmp_path / "topics.csv"
    table.write_text("ticket,message,topic,name\n1,late parcel,7,Late\n2,my refund,3,Money\n")
    found = read_table_side(str(table), "a_column", "topic", id_column="ticket")
    assert found.labels.tolist() == [7, 3] and found.names == {3: "Money", 7: "Late"}
    assert found.ids == ["1", "2"]
    assert read_table_side(str(table), "a_column", "topic").texts == ["late parcel", "my refund"]
    other = tmp_path / "other.csv"
    other.write_text("ticket,cluster\n1,0\n2,0\n")
    merged = compare(table, other, a_column="topic", id_column="ticket")
    assert merged.count("merged") == 1 and merged.notes[0].startswith("topics.csv")
    with raises(DataError, "there is no column", "a_column", "'topics'"):
        compare(table, other, a_column="topics", id_column="ticket")


def test_tables_in_memory_are_compared_as_their_files_are() -> None:
    pandas = pytest.importorskip("pandas")
    a = pandas.DataFrame({"key": [1, 2, 3], "topic": [0, 10, None]})  # floats, for pandas
    b = pandas.DataFrame({"key": [3, 2, 1], "topic": ["x", "y", "z"]})
    columns = {"a_column": "topic", "b_column": "topic", "id_column": "key"}
    for make in (lambda frame: frame, pa.Table.from_pandas):
        found = compare(make(a), make(b), **columns)
        assert {c.id for c in found.clusters_a} == {0, 10} and found.seen == 3
        assert [c.name for c in found.clusters_b] == ["x", "y", "z"]
    with raises(DataError, "a_column", "'cluster'"):
        compare(a, b)
