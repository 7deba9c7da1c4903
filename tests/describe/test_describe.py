"""Described clusters: every field, in any order of rows, at every edge."""

import json
import logging

import numpy as np
import pyarrow as pa
import pytest

from coterie import describe_clusters
from coterie.describe import Cluster, Neighbor
from coterie.errors import UsageError
from coterie.texts.corpus import is_placeholder
from coterie.texts.words import cutting
from said import raises

TEXTS = [
    "The refund for my chair never came",
    "Still waiting for a refund",
    "Refunded twice, please check",
    "I cannot log in to the app",
    "The app crashes at log in",
    "app will not open",
    "",
]


def full(order: np.ndarray | None = None) -> list[Cluster]:
    """Everything that can be known of 60 texts in 3 clusters, in any order of rows."""
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    own = ["parcel late courier", "card declined bank", "app crash screen"]
    texts = [f"{own[c]} {'abcdefghij'[i // 6]}{i}" for i, c in enumerate(labels)]
    vectors = np.eye(3)[labels] + rng.normal(size=(60, 3)) * 0.1
    p = rng.dirichlet(np.ones(3), 60) + 2 * np.eye(3)[labels]
    p /= p.sum(axis=1, keepdims=True)
    dates = [f"2026-{1 + i % 9:02d}-15" for i in range(60)]
    channel = ["mail" if i % 4 else "chat" for i in range(60)]
    o = np.arange(60) if order is None else order
    return describe_clusters(
        [texts[i] for i in o], labels[o], vectors[o], probabilities=p[o],
        dates=[dates[i] for i in o], columns={"channel": [channel[i] for i in o]},
        topics=[[["a"]], [["b"]], [["c"]]], parents=[0, 0, 1],
    )  # fmt: skip


def test_every_field_is_filled() -> None:
    for i, cluster in enumerate(full()):
        assert (cluster.id, cluster.size, cluster.parent) == (i, 20, [0, 0, 1][i])
        assert len(cluster.examples) == len(cluster.diverse) == len(cluster.borderline) == 5
        assert len(cluster.near) == 2 and {n.id for n in cluster.near} == {0, 1, 2} - {i}
        assert len(cluster.over_time) == 36  # weeks 3 to 38 of 2026
        assert (
            sum(n for _, n in cluster.over_time) == sum(n for _, n in cluster.by["channel"]) == 20
        )
        assert cluster.topics == [[["a"]], [["b"]], [["c"]]][i]


def test_nothing_depends_on_the_order_of_rows() -> None:
    assert full(np.random.default_rng(0).permutation(60)) == full()


def test_neighbours_are_named_with_the_words_that_differ() -> None:
    first = full()[0]
    for near in first.near:
        other = full()[near.id]
        assert near.name == other.name and -1 <= near.similarity <= 1
        assert set(near.more) <= {"parcel", "late", "courier"} and near.more
        assert not set(near.less) & {"parcel", "late", "courier"} and near.less
    assert first.near[0].similarity >= first.near[1].similarity


def test_neighbours_without_vectors_share_words() -> None:
    texts = ["card lost", "card lost abroad", "card stolen", "card stolen abroad", "late parcel"]
    clusters = describe_clusters(texts, [0, 0, 1, 1, 2])
    assert clusters[0].near[0].id == 1 and clusters[1].near[0].id == 0
    assert clusters[0].near[0].more == ["lost"] and clusters[0].near[0].less == ["stolen"]


def test_words_that_differ_are_whole_in_scripts_without_blanks(monkeypatch) -> None:
    monkeypatch.setattr(cutting, "segmenter", lambda language: None)
    texts = ["สินค้าชำรุด", "ได้รับสินค้าชำรุดครับ", "คืนเงินช้า", "ขอคืนเงิน", "退款申请", "我要退款申请"]
    first, second, _ = describe_clusters(texts, [0, 0, 1, 1, 2, 2])
    assert {word for near in first.near for word in near.more} == {"สินค้าชำรุด"}
    assert {word for near in second.near for word in near.less} <= {"สินค้าชำรุด", "退款申请"}


def test_at_most_three_neighbours_and_none_that_is_empty() -> None:
    clusters = describe_clusters([f"word{i} here" for i in range(6)], [0, 1, 2, 4, 5, 6])
    assert all(len(c.near) == 3 for c in clusters if c.size)
    assert clusters[3].size == 0 and clusters[3].near == []
    assert all(near.id != 3 for c in clusters for near in c.near)


def test_periods_without_texts_are_listed_with_zero() -> None:
    first, second = describe_clusters(
        ["x", "y", "z"], [0, 0, 1], dates=["2026-01-01", "2026-01-03", None]
    )
    assert first.over_time == [("2026-01-01", 1), ("2026-01-02", 0), ("2026-01-03", 1)]
    assert second.over_time == [("2026-01-01", 0), ("2026-01-02", 0), ("2026-01-03", 0)]


def test_dates_that_cannot_be_read_are_logged_and_left_out(caplog) -> None:
    with caplog.at_level(logging.INFO, logger="coterie"):
        (cluster,) = describe_clusters(["x", "y"], [0, 0], dates=["2026-01-01", "soon"])
    assert cluster.over_time == [("2026-01-01", 1)]
    assert "1 dates could not be read" in caplog.text


def test_columns_of_arrow_and_numpy_are_taken() -> None:
    columns = {"a": pa.chunked_array([["x"], ["y"]]), "b": np.array([1.0, np.nan])}
    (cluster,) = describe_clusters(["x", "y"], [0, 0], columns=columns)
    assert cluster.by == {"a": [("x", 1), ("y", 1)], "b": [("(none)", 1), ("1", 1)]}


def test_empty_fields_are_left_out_and_json_brings_all_back() -> None:
    plain = describe_clusters(TEXTS, [0] * 6 + [-1])[0].to_dict()
    assert set(plain) == {"id", "name", "size", "share", "words", "examples", "diverse"}
    for cluster in full():
        assert Cluster.from_dict(json.loads(json.dumps(cluster.to_dict()))) == cluster
    empty = Cluster(0, "x", 0, 0.0, [], [])
    assert empty.to_dict().keys() == {"id", "name", "size", "share", "words", "examples"}
    assert Cluster(0, "x", 0, 0.0, [], [], parent=0).to_dict()["parent"] == 0
    near = [Neighbor(1, "y", 0.5, ["a"], [])]
    assert Cluster(0, "x", 0, 0.0, [], [], near=near).to_dict()["near"][0]["more"] == ["a"]


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["one text"], [0]),
        (["same words"] * 7, [0] * 7),
        (["same words"] * 8, [0, 1] * 4),
        (["?!", "...", ""], [0, 0, 1]),
        (["", ""], [-1, -1]),
        ([], []),
        (["a gap"] * 3, [0, 3, 3]),
        (["12 34", "the of", "real words"], [0, 1, 2]),
        (["مرحبا", "שלום", "你好", "สวัสดี", "नमस्ते", "😀"], [0, 0, 1, 1, 2, 2]),
        (["x" * 100_000, "\x00\x01", "a\u202eb"], [0, 0, 0]),
    ],
)
@pytest.mark.parametrize("with_vectors", [False, True])
def test_edges(texts: list[str], labels: list[int], with_vectors: bool) -> None:
    n, k = len(texts), max(labels, default=-1) + 1
    vectors = np.zeros((n, 2)) if with_vectors else None
    p = np.full((n, max(k, 1)), 1 / max(k, 1))
    clusters = describe_clusters(
        texts, labels, vectors, probabilities=p, dates=["2026-01-01"] * n, columns={"c": ["v"] * n}
    )
    assert [c.size for c in clusters] == [labels.count(i) for i in range(k)]
    assert len({c.name for c in clusters}) == k and all(c.name for c in clusters)
    for i, cluster in enumerate(clusters):
        said = [t for t, label in zip(texts, labels, strict=True) if label == i]
        assert set(cluster.examples + cluster.diverse + cluster.borderline) <= set(texts)
        assert (
            bool(cluster.examples) == bool(cluster.diverse) == (not all(map(is_placeholder, said)))
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [0]}, ("one for each text", "labels", "1", "2")),
        ({"labels": [0, -2]}, "is not a cluster"),
        ({"vectors": np.ones((3, 1))}, ("one for each text", "vectors", "3", "2")),
        ({"probabilities": np.ones((1, 2))}, ("one for each text", "probabilities", "1")),
        ({"probabilities": np.ones((2, 1))}, ("clusters; give one for each", "1", "2")),
        ({"dates": ["2026-01-01"]}, ("one for each text", "dates", "1")),
        ({"columns": {"team": ["a"]}}, ("one for each text", "team", "1")),
        ({"topics": [[]]}, ("clusters; give one for each", "topics", "1", "2")),
        ({"parents": [0]}, ("clusters; give one for each", "parents", "1", "2")),
        ({"language": "xx"}, ("has no list of stop", "'xx'")),
    ],
)
def test_what_does_not_fit_is_refused(change: dict, message: str) -> None:
    with raises(UsageError, message):
        describe_clusters(**{"texts": ["a", "b"], "labels": [0, 1], **change})
