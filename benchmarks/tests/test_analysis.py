"""What training did: indices per stage, pairs before and after, and ranks by hand."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from coterie import Auto, ClusterBERT, TwoStep, load
from coterie.encoders import load_encoder
from coterie.errors import DataError, UsageError
from coterie.metrics import accuracy, nmi
from coterie_bench.analysis import (
    average_precision,
    cluster_distances,
    pair_similarity,
    reciprocal_rank,
    retrieval,
    stage_indices,
)

FAST = {"batch_size": 30, "lr": 1e-3, "head_lr": 1e-2, "random_state": 0, "guard": False}


@pytest.fixture(scope="module")
def model(tiny_encoder: Path, topics) -> ClusterBERT:
    return ClusterBERT(3, encoder=str(tiny_encoder), record_stages=True, **FAST).fit(topics[0])


def test_ranks_by_hand() -> None:
    # Order by score: c (right), a (wrong), d (right), b (right): precisions 1/1, 2/3, 3/4.
    scores, right = [0.8, 0.1, 0.9, 0.5], [0, 1, 1, 1]
    assert average_precision(scores, right) == pytest.approx((1 + 2 / 3 + 3 / 4) / 3)
    assert reciprocal_rank(scores, right) == 1
    assert reciprocal_rank([0.3, 0.2, 0.1], [0, 0, 1]) == pytest.approx(1 / 3)
    assert average_precision([0.3, 0.2], [1, 1]) == 1
    assert np.isnan(average_precision([0.3], [0])) and np.isnan(reciprocal_rank([0.3], [0]))


def test_average_precision_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores, right = rng.normal(size=12), rng.integers(2, size=12)
        right[3] = 1
        expected = average_precision_score(right, scores)
        assert average_precision(scores, right) == pytest.approx(expected)


def test_equal_scores_keep_their_order() -> None:
    assert reciprocal_rank([0.5, 0.5, 0.5], [0, 1, 0]) == 0.5


def test_pairs_are_cosines_of_both_encoders(model: ClusterBERT, tiny_encoder: Path) -> None:
    pairs = [("apple pear", "plum cherry"), ("apple pear", "car truck"), ("song", "song")]
    found = pair_similarity(model, pairs)
    start = load_encoder(tiny_encoder, normalize=False, max_length=64)
    for when, encoder in (("before", start), ("after", model.encoder_)):
        for (a, b), value in zip(pairs, found[when], strict=True):
            u, v = (encoder.encode(encoder.prepare([text])[0])[0] for text in (a, b))
            cosine = u @ v / np.linalg.norm(u) / np.linalg.norm(v)
            assert value == pytest.approx(cosine, abs=1e-5)
    assert found["after"][2] == pytest.approx(1)
    assert not np.allclose(found["before"][:2], found["after"][:2], atol=1e-3)


def test_a_loaded_model_compares_the_same(model: ClusterBERT, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    pairs = [("apple pear", "car truck")]
    before, after = pair_similarity(model, pairs), pair_similarity(load(tmp_path / "m"), pairs)
    for when in ("before", "after"):
        np.testing.assert_allclose(before[when], after[when], atol=1e-6)


def test_counted_words_start_without_the_trained_map(topics) -> None:
    model = ClusterBERT(3, encoder="tfidf", **{**FAST, "lr": 1e-2}).fit(topics[0])
    found = pair_similarity(model, [("apple car", "apple song"), ("apple", "car")])
    idf = dict(zip(model.encoder_.vocabulary, model.encoder_.idf.tolist(), strict=True))
    a, c, s = (idf[word] for word in ("apple", "car", "song"))
    assert found["before"][0] == pytest.approx(a * a / np.hypot(a, c) / np.hypot(a, s), rel=1e-4)
    assert found["before"][1] == 0 and found["after"][1] != 0


def test_methods_that_train_nothing_change_nothing(tiny_encoder: Path, topics) -> None:
    model = TwoStep(3, encoder=str(tiny_encoder), random_state=0).fit(topics[0])
    found = pair_similarity(model, [("apple", "car")])
    np.testing.assert_allclose(found["before"], found["after"], atol=1e-6)


def test_retrieval_ranks_each_querys_own_candidates(model: ClusterBERT) -> None:
    queries = ["apple pear", "song", "car"]
    candidates = [["apple pear", "truck"], ["bus", "song", "fuel"], ["tune"]]
    found = retrieval(model, queries, candidates, [[1, 0], [0, 1, 0], [0]])
    # The right candidate is the query itself, its cosine 1.
    for when in ("before", "after"):
        assert found[when] == {"map": 1.0, "mrr": 1.0}
    assert found["queries"] == {"used": 2, "all": 3}
    wrong = retrieval(model, queries[:2], candidates[:2], [[0, 1], [1, 0, 0]])
    assert wrong["before"]["mrr"] < 1 and wrong["after"]["map"] <= 0.5


def test_retrieval_equals_a_loop(model: ClusterBERT, topics) -> None:
    texts, truth = topics
    queries, rest = texts[:5], texts[5:25]
    right = [[int(t == truth[i]) for t in truth[5:25]] for i in range(5)]
    found = retrieval(model, queries, [rest] * 5, right)
    vectors = model.transform(texts[:25])
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = [average_precision_score(right[i], unit[5:] @ unit[i]) for i in range(5)]
    assert found["after"]["map"] == pytest.approx(np.mean(expected), abs=1e-6)


def test_stage_indices_score_the_labels_of_each_stage(model: ClusterBERT, topics) -> None:
    plain = stage_indices(model)
    scored = stage_indices(model, topics[1])
    assert [row["stage"] for row in plain] == [
        "start", "adapt", "cluster-1", "cluster-2", "harden",
    ]  # fmt: skip
    for row, with_labels, stage in zip(plain, scored, model.stages_, strict=True):
        assert row.keys() == {"stage", "silhouette", "dunn"}
        assert with_labels["nmi"] == pytest.approx(nmi(topics[1], stage["labels"]))
        assert with_labels["acc"] == pytest.approx(accuracy(topics[1], stage["labels"]))


def test_what_cannot_be_analysed_is_refused(model: ClusterBERT, topics) -> None:
    with pytest.raises(DataError, match="no pairs"):
        pair_similarity(model, [])
    with pytest.raises(DataError, match="one of each per query"):
        retrieval(model, ["a"], [], [])
    with pytest.raises(DataError, match="query 1 has 1 candidates but 2 marks"):
        retrieval(model, ["a"], [["b"]], [[0, 1]])
    with pytest.raises(DataError, match="no query has a relevant candidate"):
        retrieval(model, ["apple"], [["car"]], [[0]])
    with pytest.raises(DataError, match="3 labels for a model of 90 texts"):
        stage_indices(model, ["a", "b", "c"])
    with pytest.raises(UsageError, match="no recorded stages"):
        stage_indices(TwoStep(3, encoder="tfidf").fit(topics[0]))
    rows = np.random.default_rng(0).normal(size=(9, 3))
    numbers = TwoStep(3, encoder="precomputed").fit(rows)
    with pytest.raises(UsageError, match="fitted on vectors"):
        pair_similarity(numbers, [("a", "b")])


def test_an_encoder_object_that_was_not_saved_has_to_be_given(
    tiny_encoder: Path, topics, tmp_path: Path
) -> None:
    start = load_encoder(tiny_encoder, max_length=64, normalize=False)
    model = ClusterBERT(3, encoder=start, **FAST).fit(topics[0])
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    pairs = [("apple", "car")]
    with pytest.raises(UsageError, match="of width"):
        pair_similarity(again, pairs)
    found = pair_similarity(again, pairs, start=start)
    np.testing.assert_allclose(found["before"], pair_similarity(model, pairs)["before"], atol=1e-6)


def test_an_encoder_that_is_never_trained_is_the_same_before_and_after(
    tiny_encoder: Path, topics
) -> None:
    model = Auto(3, encoder=str(tiny_encoder), random_state=0).fit(topics[0])
    found = pair_similarity(model, [("an apple", "a car"), ("red", "red apple")])
    assert found["before"] == pytest.approx(found["after"])


def test_cluster_distances_by_hand() -> None:
    # Centroids (0,1), (6,1), (6,9); texts are 1 away; nearest others 6, 6 and 8 away.
    x = np.array([[0.0, 0], [0, 2], [6, 0], [6, 2], [6, 8], [6, 10]])
    found = cluster_distances(x, [0, 0, 1, 1, 2, 2])
    assert found["intra"] == pytest.approx(1)
    assert found["inter"] == pytest.approx((6 + 6 + 8) / 3)


def test_cluster_distances_average_over_clusters_not_texts() -> None:
    x = np.array([[0.0], [0], [0], [10], [14]])
    assert cluster_distances(x, [0, 0, 0, 1, 1])["intra"] == pytest.approx(1.0)
