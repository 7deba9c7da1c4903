"""Telling words: weights by hand, against loops, and what is shown."""

import math

import numpy as np
import pytest

from coterie.describe.terms import Terms, stem
from coterie.describe.words import FLOOR, ClusterTerms, grow, top_words

TEXTS = [
    "The refund for my chair never came",
    "Still waiting for a refund",
    "Refunded twice, please check",
    "I cannot log in to the app",
    "The app crashes at log in",
    "app will not open",
    "",
]
LABELS = np.array([0, 0, 0, 1, 1, 1, -1])


def words_of(texts: list[str], labels: list[int], n_words: int = 10) -> list[dict[str, float]]:
    codes = np.array(labels)
    k = int(codes.max()) + 1
    clusters = ClusterTerms(Terms(texts), codes, k)
    return [dict(top_words(cluster, n_words)) for cluster in clusters]


def test_telling_words_come_first_and_stop_words_never() -> None:
    first, second = words_of(TEXTS, LABELS.tolist())
    assert next(iter(first)) == "refund" and next(iter(second)) == "app"
    shown = {word for term in [*first, *second] for word in term.split()}
    assert not shown & {"the", "for", "my", "i", "to", "please", "still"}


def test_weights_by_hand() -> None:
    # "app" is in 3 of 3 texts of the cluster and in 3 of 6 of all, in three forms "refund", too.
    first, second = words_of(TEXTS, LABELS.tolist())
    assert second["app"] == first["refund"] == pytest.approx(math.log(2), abs=1e-4)


def test_counts_equal_a_loop_over_texts() -> None:
    terms = Terms(TEXTS)
    clusters = ClusterTerms(terms, LABELS, 2)
    for cluster in (0, 1):
        members = [t for t, c in zip(TEXTS, LABELS, strict=True) if c == cluster]
        for length in (1, 2):
            for term in clusters[cluster].best(length):
                stems = [stem(terms.words[i]) for i in term.form]
                found = 0
                for text in members:
                    cut = [stem(w) for w in text.lower().replace(",", " | ").split()]
                    runs = [cut[i : i + length] for i in range(len(cut) - length + 1)]
                    found += stems in runs
                assert term.count == found, term.text


def test_a_word_of_greetings_alone_is_held_by_no_text() -> None:
    terms = Terms(["Hello, card lost", "Hello, lost zoo card"])
    of = {word: int(terms.stem[i]) for i, word in enumerate(terms.words)}
    held = ClusterTerms(terms, np.zeros(2, dtype=np.int64), 1)[0].held(
        [[of["hello"]], [of["card"]], [of["zoo"], of["card"]]]
    )
    assert held[0].T.tolist() == [[False, False], [True, True], [False, True]]
    assert held[1].T.tolist() == [[False, False], [True, True], [True, True]]


def test_a_word_that_every_cluster_has_weighs_less() -> None:
    first, _ = words_of(["order late", "order late", "order broken", "order broken"], [0, 0, 1, 1])
    # Both texts have "order late" as a pair, which stands for both words.
    assert list(first) == ["order late"]
    first, _ = words_of(
        ["order very late", "late is my order", "order broken", "broken order"], [0, 0, 1, 1]
    )
    assert first["late"] > first["order"] == pytest.approx(FLOOR)


def test_a_pair_stands_for_its_words_only_if_they_go_together() -> None:
    (words,) = words_of(["gift card lost", "my gift card", "no gift card"], [0, 0, 0])
    assert "gift card" in words and not {"gift", "card"} & words.keys()
    (words,) = words_of(["gift card", "the card", "a card", "card", "for card"], [0] * 5)
    assert "card" in words and "gift card" not in words


def test_no_phrase_over_punctuation() -> None:
    (words,) = words_of(["late, parcel", "late. parcel", "late; parcel"], [0, 0, 0])
    assert set(words) == {"late", "parcel"}


def test_inflected_forms_and_parts_of_pairs_are_shown_once() -> None:
    for words in words_of(TEXTS, LABELS.tolist()):
        stems = [stem(word) for term in words for word in term.split()]
        assert len(stems) == len(set(stems))


def test_characters_of_scripts_without_blanks_grow_to_words() -> None:
    chinese, thai, japanese = words_of(
        ["我要退款申请", "退款申请还没到", "什么时候退款申请", "ขอคืนเงิน", "คืนเงินช้า", "ไม่คืนเงิน",
         "返金してください", "返金はまだですか", "すぐに返金を"],
        [0, 0, 0, 1, 1, 1, 2, 2, 2],
    )  # fmt: skip
    assert next(iter(chinese)) == "退款申请"
    assert "คืนเงิน" in thai
    assert next(iter(japanese)) == "返金"


def test_pieces_of_words_are_not_shown() -> None:
    (words,) = words_of(["สินค้าชำรุด", "ได้รับสินค้าชำรุดครับ", "สินค้าชำรุดต้องทำอย่างไร"], [0, 0, 0])
    assert list(words) == ["สินค้าชำรุด"]  # and no lone sign, part or chance neighbour
    (words,) = words_of(["账户无法登录", "登录账户失败", "我的账户登录不了"], [0, 0, 0])
    assert set(words) == {"账户", "登录"}


def test_growing_stops_where_texts_differ_and_leaves_words_alone() -> None:
    assert grow("退款", ["我退款了", "退款好", "要退款"]) == "退款"
    assert grow("refund", ["refunds", "refunds"]) == "refund"
    assert grow("退款", []) == "退款"
    assert grow("退款", ["退款申请"]) == "退款"  # one text is no evidence
    assert grow("画面", ["画面が暗い", "画面が割れた"]) == "画面"  # a particle is no part of a word
    assert grow("领收", ["领收书的", "领收书了"]) == "领收书"


def test_names_of_things_keep_their_capitals_unless_all_shout() -> None:
    texts = ["my PIN is wrong", "PIN lost", "the iPhone works", "new iPhone", "nothing else here"]
    terms = Terms(texts)
    assert {"PIN", "iPhone"} <= set(terms.written)
    assert "PIN" not in Terms([text.upper() for text in texts]).written
