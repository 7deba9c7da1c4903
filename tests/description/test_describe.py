"""Words, names and examples: telling, unique, and the same every time."""

import numpy as np
import pytest

from coterie import describe
from coterie._errors import UsageError
from coterie.description.words import cluster_words, stem, terms, tokens

TEXTS = [
    "The refund for my chair never came",
    "Still waiting for a refund",
    "Refunded twice, please check",
    "I cannot log in to the app",
    "The app crashes at log in",
    "app will not open",
    "",
]
LABELS = [0, 0, 0, 1, 1, 1, -1]


def test_telling_words_come_first_and_stop_words_never() -> None:
    first, second = cluster_words(TEXTS, np.array(LABELS), 2)
    assert first[0][0] in {"refund", "refunded"}
    assert second[0][0] == "app"
    shown = {word for term, _ in first + second for word in term.split()}
    assert not shown & {"the", "for", "my", "i", "to", "please", "still"}


def test_weights_by_hand() -> None:
    # "app" is in 3 of 3 texts of the cluster and in 3 of 6 of all: 1 * log(1 + 1 / 0.5).
    (_, words) = cluster_words(TEXTS, np.array(LABELS), 2)
    assert dict(words)["app"] == pytest.approx(np.log(3), abs=1e-4)


def test_a_word_that_every_cluster_has_weighs_less() -> None:
    texts = ["order late", "order late", "order broken", "order broken"]
    first, _ = cluster_words(texts, np.array([0, 0, 1, 1]), 2)
    weights = dict(first)
    assert weights["late"] > weights.get("order", 0)


def test_inflected_forms_and_parts_of_pairs_are_shown_once() -> None:
    for words in cluster_words(TEXTS, np.array(LABELS), 2):
        stems = [stem(word) for term, _ in words for word in term.split()]
        assert len(stems) == len(set(stems))


def test_names_are_unique_readable_and_repeatable() -> None:
    clusters = describe(TEXTS, LABELS)
    again = describe(TEXTS, LABELS)
    assert [c.name for c in clusters] == [c.name for c in again]
    assert len({c.name for c in clusters}) == 2
    assert clusters[1].name.startswith("App")


def test_sizes_shares_and_examples() -> None:
    first, second = describe(TEXTS, LABELS, n_examples=2)
    assert (first.size, first.share) == (3, 0.5)
    assert len(second.examples) == 2 and set(second.examples) <= set(TEXTS[3:6])


def test_examples_are_the_nearest_to_the_mean_and_each_once() -> None:
    texts = ["far", "near", "near", "middle"]
    vectors = np.array([[9.0], [0.2], [0.2], [1.0]])
    (cluster,) = describe(texts, [0, 0, 0, 0], vectors)  # the mean is 2.6
    assert cluster.examples == ["middle", "near", "far"]


def test_a_cluster_without_words_still_has_a_name() -> None:
    clusters = describe(["12 34", "the of", "real words"], [0, 1, 2])
    assert [c.name for c in clusters][:2] == ["Cluster 0", "Cluster 1"]


def test_other_scripts_have_words_too() -> None:
    assert tokens("我要退款") == ["我要", "要退", "退款"]
    assert "طلبي" in terms("أين طلبي؟")
    (cluster,) = describe(["我要退款", "退款还没到", "什么时候退款"], [0, 0, 0])
    assert "退款" in cluster.name


def test_unequal_lengths_are_refused() -> None:
    with pytest.raises(UsageError, match="2 texts but 1 labels"):
        describe(["a", "b"], [0])


def test_a_huge_text_does_not_hold_things_up() -> None:
    (cluster,) = describe(["word " * 2_000_000, "other words here"], [0, 0])
    assert cluster.size == 2


def test_topics_are_shown_where_a_method_finds_them() -> None:
    topics = [[["refund", "money"]], [["app", "log"], ["open"]]]
    with_topics, without = describe(TEXTS, LABELS, topics=topics), describe(TEXTS, LABELS)
    assert [c.topics for c in with_topics] == topics
    assert with_topics[0].to_dict()["topics"] == topics[0]
    assert "topics" not in without[0].to_dict()
