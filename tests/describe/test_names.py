"""Names: unique, short, without repeats, the same in any order of rows."""

import re

import numpy as np
import pytest

from coterie import describe_clusters
from coterie._util.types import Ints
from coterie.describe import describe_nodes
from coterie.describe.names import (
    CLOSE,
    COVERED,
    EVEN,
    LONGEST_NAME,
    REPEATED,
    Proposal,
    choose_names,
    find_candidates,
    make_names,
)
from coterie.describe.terms import Terms
from coterie.describe.words import ClusterTerms
from coterie.texts.words import cutting


def names(texts: list[str], labels: list[int]) -> list[str]:
    return [cluster.name for cluster in describe_clusters(texts, labels)]


def test_a_name_is_a_phrase_of_the_texts() -> None:
    """Read from the texts, without articles and pronouns; no list of keywords."""
    texts = [
        "I want to report a billing issue", "report a billing issue with my account",
        "please report a billing issue", "how do I report billing issues",
        "file a life insurance claim", "I need to file a life insurance claim",
        "life insurance claim for my uncle", "claim on a life insurance",
        "the agent is rude", "find an agent near me", "find an agent", "is there an agent near me",
    ]  # fmt: skip
    billing, claim, agent = names(texts, [0] * 4 + [1] * 4 + [2] * 4)
    assert billing == "Report billing issue"
    assert claim == "File life insurance claim"
    assert "agent" in agent.lower()


def test_a_phrase_in_one_text_only_is_no_name() -> None:
    texts = ["grey swap green", "green door", "grey wall", "swap it"] * 1 + ["parcel late"] * 4
    found = names(texts, [0] * 4 + [1] * 4)[0]
    assert "grey swap" not in found.lower() and "swap green" not in found.lower()


@pytest.mark.parametrize(("times", "expected"), [(2, False), (3, True)])
def test_a_phrase_is_in_three_of_a_hundred_texts(times: int, expected: bool) -> None:
    """However often its words are there."""
    own = [*["cancel order"] * times, *["cancel it"] * 50, *["order it"] * (50 - times)]
    own = [f"{text} x{i % 10} y{i // 10}" for i, text in enumerate(own)]  # none repeats another
    texts = [*own, *["late parcel"] * 100]
    found = ClusterTerms(Terms(texts), np.repeat([0, 1], 100), 2)[0].phrases(5)
    assert ("cancel order" in [term.text for term in found]) == expected


@pytest.mark.parametrize(("copies", "expected"), [(3, False), (4, True), (40, True)])
def test_near_copies_count_as_the_root_of_their_number(copies: int, expected: bool) -> None:
    """Three of one text are no phrase of a mixed cluster; a template that fills it is."""
    copy = ["ARRIVED SMASHED AGAIN. Order LM-{}", "Arrived smashed, again! order lm-{}"]
    mixed = ["lovely lamp", "wrong colour sent", "where is the manual", "box was empty"]
    own = [*(copy[i % 2].format(1000 + i) for i in range(copies)), *mixed]
    texts = [*own, *(f"{text}, {i}" for i in range(60) for text in OTHERS)]
    clusters = ClusterTerms(Terms(texts), np.array([0] * len(own) + [1] * 240), 2)
    assert ("arrived smashed" in {term.text for term in clusters[0].phrases(5)}) == expected
    alone = ClusterTerms(Terms(own[:copies]), np.zeros(copies, dtype=int), 1)
    assert "arrived smashed" in {term.text for term in alone[0].phrases(5)}, "a template"


def test_a_word_that_others_lack_is_in_the_name() -> None:
    """The phrase is in all texts of the cluster, but in as many others, too."""
    texts = [*["separable lean and fat, beef"] * 10, *["separable lean and fat, pork"] * 5,
             *["separable lean and fat, lamb"] * 5, *["blue cheese"] * 20]  # fmt: skip
    labels = np.repeat([0, 1, 2, 3], [10, 5, 5, 20])
    clusters = ClusterTerms(Terms(texts), labels, 4)
    assert "beef" in make_names(clusters)[0].lower()


def test_a_word_that_repeats_another_adds_little() -> None:
    """By hand: two words in the same texts count as one and a quarter, in others as two."""
    texts = [*["red fox"] * 4, *["red"] * 2, *["fox"] * 2, *["separable lean"] * 8]
    clusters = ClusterTerms(Terms([*texts, *["parcel"] * 16]), np.repeat([0, 1], 16), 2)
    score = {c.text: c.score for c in find_candidates(clusters[0])}
    weight = {term.text: term.weight for term in clusters[0].characteristic()}
    for phrase, same, share in (("separable lean", 1.0, 8 / 16), ("red fox", 4 / 8, 4 / 16)):
        first, second = (weight[word] for word in phrase.split())
        expected = (first + second * (1 - REPEATED * same)) * share**COVERED
        assert score[phrase] == pytest.approx(expected)


@pytest.mark.parametrize(("times", "expected"), [(6, "red sox"), (5, "red")])
def test_a_word_is_completed_by_what_stands_beside_it(times: int, expected: str) -> None:
    own = [*["the Red Sox"] * times, *["red"] * (10 - times)]
    clusters = ClusterTerms(Terms([*own, *["parcel"] * 10]), np.repeat([0, 1], 10), 2)
    terms = clusters.terms
    form = clusters[0].complete((terms.words.index("red"),), 5)
    assert terms.text(np.array(form)) == expected


def test_candidates_close_to_the_mean_come_first() -> None:
    """Two words in as many texts each; those of one point away from the rest of the cluster."""
    texts = [*["apple"] * 10, *["zebra"] * 10, *["lemon"] * 20, *["other"] * 40]
    clusters = ClusterTerms(Terms(texts), np.repeat([0, 1], 40), 2)
    for far, first, last in ((range(10), "zebra", "apple"), (range(10, 20), "apple", "zebra")):
        x = np.zeros((80, 2))
        x[:40] = 1, 0
        x[list(far)] = -0.2, 1
        score = {c.text: c.score for c in find_candidates(clusters[0], x)}
        mean = np.array([0.7, 0.25])  # of the cluster, by hand
        near, away = (v @ mean / np.linalg.norm(v) for v in (np.array([1, 0]), np.array([-0.2, 1])))
        assert near > 2 * away
        assert score[first] / score[last] == pytest.approx((near / away) ** CLOSE, rel=1e-3)


def test_names_that_are_alike_are_avoided_where_there_are_others() -> None:
    first = Proposal("Train Derailment, York", frozenset({1, 2}), frozenset({1, 2, 3}))
    same = Proposal("Train Derailed, Metro", frozenset({1, 2}), frozenset({1, 2, 4}))
    inside = Proposal("York Trains", frozenset({1, 3}), frozenset({1, 3}))
    other = Proposal("Metro North", frozenset({4, 5}), frozenset({4, 5}))
    sizes = np.array([9, 5])
    for alike in (same, inside):
        assert choose_names(sizes, [[first], [alike, other]])[1] == "Metro North"
        assert choose_names(sizes, [[first], [alike]])[1] == alike.text
    assert choose_names(sizes, [[first], [first]])[1] == "Train Derailment, York (2)"


@pytest.mark.parametrize(("loud", "expected"), [(10, "CLINTON"), (6, "Clinton")])
def test_a_long_word_in_capitals_needs_most_texts(loud: int, expected: str) -> None:
    own = [*["CLINTON speaks"] * loud, *["Clinton speaks"] * (10 - loud)]
    name = names([*own, *["my parcel was late again"] * 30], [0] * 10 + [1] * 30)[0]
    assert expected in name


def test_a_parent_is_not_named_as_one_of_its_parts() -> None:
    texts = [*["fridge freezer"] * 20, *["larder fridge"] * 4, *["wine fridge"] * 4,
             *["credit card"] * 20]  # fmt: skip
    parts = np.repeat([0, 1, 2, 3], [20, 4, 4, 20])
    labels = np.repeat([0, 1], [28, 20])
    alone, card = names(texts, labels.tolist())
    fine = {0: alone, 1: "Larder Fridge", 2: "Wine Fridge", 3: card}
    group, same = describe_clusters(texts, labels, parts=(parts, fine))
    assert group.name == "Fridge"
    assert same.name == card, "one part alone"


def test_what_all_parts_share_comes_first_in_a_group() -> None:
    """The large part's own word is more frequent, but the other parts have none of it."""
    texts = [*["quote, insurance"] * 12, *["insurance, claim", "claim"] * 2,
             *["insurance, agent", "agent"] * 2, *["parcel"] * 30]  # fmt: skip
    parts = np.repeat([0, 1, 2, 3], [12, 4, 4, 30])
    clusters = ClusterTerms(Terms(texts), np.repeat([0, 1], [20, 30]), 2)

    def lead(inside: Ints | None) -> float:
        found = find_candidates(clusters[0], inside=inside)
        score = {candidate.text: candidate.score for candidate in found}
        return score["insurance"] / score["quote"]

    # By hand: shares of "insurance" in the parts 1, 1/2, 1/2; those of "quote" 1, 0, 0.
    assert lead(parts[:20]) / lead(None) == pytest.approx(((2 / 3) / (1 / 3)) ** EVEN)


def test_other_languages_have_phrases() -> None:
    texts = [
        "Perte de bagages à Lyon", "déclarer une perte de bagages", "perte de bagages",
        "remboursement du billet", "un remboursement du billet svp", "remboursement du billet",
    ]  # fmt: skip
    first, second = names(texts, [0] * 3 + [1] * 3)
    assert (first, second) == ("Perte de bagages", "Remboursement du billet")


def test_clusters_of_the_same_words_get_different_names() -> None:
    same = ["late parcel", "late parcel", "late parcel"]
    found = names(same * 3, [0] * 3 + [1] * 3 + [2] * 3)
    assert len({name.casefold() for name in found}) == 3
    assert found[0] == "Late parcel"


def test_names_are_not_inside_each_other_where_words_allow() -> None:
    texts = ["app"] * 5 + ["app crash", "app crash freeze", "crash freeze"]
    first, second = names(texts, [0] * 5 + [1] * 3)
    assert first == "App" and "app" not in second.casefold()


def test_names_are_short_even_if_words_are_not() -> None:
    long = "Donaudampfschifffahrtsgesellschaftskapitän"
    texts = [f"{long} überweisungsrückläufer", f"{long} überweisungsrückläufer", "x" * 300]
    assert all(0 < len(name) <= LONGEST_NAME for name in names(texts, [0, 0, 1]))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [(["12 34"], "Cluster 0"), (["the of"], "Cluster 0"), ([""], "Cluster 0")],
)
def test_without_words_the_number_is_the_name(texts: list[str], expected: str) -> None:
    assert names(texts, [0]) == [expected]


OTHERS = ["my parcel is late", "the parcel came late", "late parcel", "where is the late parcel"]


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (["my contactless is not working", "contactless isn't working", "contactless doesn't work",
          "contactless has not worked", "my contactless payments are not working"],
         "Contactless not working"),
        (["I can't log in", "cannot log in to my account", "can't log in", "I can't log in today"],
         "Can't log in"),
        (["Die Karte geht nicht", "Karte geht nicht", "meine Karte geht nicht"],
         "Karte geht nicht"),
    ],
)  # fmt: skip
def test_a_negation_stays_in_the_name(texts: list[str], name: str) -> None:
    assert names([*texts, *OTHERS], [0] * len(texts) + [1] * 4)[0].startswith(name)


def test_a_negation_of_few_texts_does_not() -> None:
    texts = ["contactless works", "contactless is working", "contactless not working", *OTHERS]
    assert "not" not in names(texts, [0] * 3 + [1] * 4)[0]


def test_compounds_are_one_word_however_they_are_written() -> None:
    texts = ["top-up failed", "my top up failed", "topup failed", "the top-up has failed", *OTHERS]
    first = describe_clusters(texts, [0] * 4 + [1] * 4)[0]
    assert first.name == "Top-up failed" and [word for word, _ in first.words] == ["top-up failed"]


def test_filler_is_neither_in_a_name_nor_in_a_list() -> None:
    said = ["unfortunately the glass is broken", "glass unfortunately broken", "the glass was "
            "literally broken", "unfortunately glass broken, this company sucks"]  # fmt: skip
    first = describe_clusters([*said, *OTHERS], [0] * 4 + [1] * 4)[0]
    assert first.name == "Glass broken"
    assert not {"unfortunately", "literally", "sucks"} & {
        word for text, _ in first.words for word in text.split()
    }


def test_thanks_that_are_the_largest_part_are_in_the_name() -> None:
    broken = ["arrived smashed", "it arrived smashed again", "lamp broken", "mirror is broken"]
    texts = [*["Thank you so much!", "Thanks!", "many thanks"] * 4, *broken * 2, *OTHERS * 6]
    name = names(texts, [0] * 20 + [1] * 24)[0]
    assert name.startswith("Thanks") and "smashed" in name


@pytest.mark.parametrize("filled", ["test", "Test.", "N/A", "none", "-"])
def test_placeholders_are_no_names_words_or_examples(filled: str) -> None:
    own = ["cancel button", "the cancel button is gone", "cancel button missing"]
    rng = np.random.default_rng(0)
    texts = [*[filled] * 9, *own, *OTHERS]
    vectors = rng.normal(size=(len(texts), 3))
    labels = [0] * 12 + [1] * 4
    for first in (
        describe_clusters(texts, labels, vectors, probabilities=rng.dirichlet([1, 1], len(texts)))[
            0
        ],
        describe_nodes(texts, labels, {}, vectors)[0],
    ):
        assert first.name == "Cancel button" and first.size == 12
        assert filled not in [*first.examples, *first.diverse, *first.borderline]
        assert filled.lower().strip(".") not in dict(first.words)
    assert names([filled] * 3, [0] * 3)[0] in ("Placeholders", "Cluster 0")


def test_a_name_holds_no_pieces_of_words(monkeypatch) -> None:
    """Where nothing cuts a script without blanks into words, a short typical text is the name."""
    monkeypatch.setattr(cutting, "segmenter", lambda language: None)
    own = [
        "アプリケーションのバージョン",
        "新しいバージョンのインストール",
        "バージョンアップ",
        "インストール",
    ]
    first, _ = names([*own, *["返金してください", "返金はまだですか"] * 2], [0] * 4 + [1] * 4)
    assert first in own
    monkeypatch.setattr(
        cutting, "segmenter", lambda language: re.compile("[ァ-ー]+|[^ァ-ー]").findall
    )
    first, _ = names([*own, *["返金してください", "返金はまだですか"] * 2], [0] * 4 + [1] * 4)
    assert set(first.split(", ")) <= {"インストール", "バージョン"}


@pytest.mark.parametrize(
    ("words", "mark"),
    [
        (["退款", "已经", "可以", "会员", "时候", "经常"], ""),
        (["คืนเงิน", "แล้ว", "ได้ไหม", "บัญชี", "ครับ", "ยังไม่"], ""),
        (["画面", "割れて", "しまい", "在庫", "助かり", "なくて"], cutting.ASIDE),
    ],
    ids=["Chinese", "Thai", "Japanese"],
)
def test_no_function_word_is_in_a_name(monkeypatch, words: list[str], mark: str) -> None:
    found = re.compile("|".join(words)).findall

    def cut(text: str) -> list[str]:
        return [word + mark * (word not in (words[0], words[3])) for word in found(text)]

    monkeypatch.setattr(cutting, "segmenter", lambda language: cut)
    texts = [a + b for a, *more in (words[:3], words[3:]) for b in more * 3]
    assert names(texts, [0] * 6 + [1] * 6) == [words[0], words[3]]


@pytest.mark.parametrize("seed", range(5))
def test_the_words_of_a_name_are_in_the_texts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = [
        "card",
        "lost",
        "not",
        "working",
        "parcel",
        "late",
        "of",
        "the",
        "my",
        "refund",
        "top",
        "up",
    ]
    texts = [" ".join(rng.choice(words, rng.integers(1, 7))) for _ in range(80)]
    labels = rng.integers(6, size=80)
    found = names(texts, labels.tolist())
    assert len({name.casefold() for name in found}) == len(found)
    for i, name in enumerate(found):
        said = {
            word
            for text, label in zip(texts, labels, strict=True)
            if label == i
            for word in text.split()
        }
        assert set(re.sub(r" \(\d+\)", "", name.lower()).replace(",", "").split()) <= said


def test_few_new_texts_do_not_change_a_name() -> None:
    texts = ["change my delivery address", "change the delivery address", "new delivery address",
             "change delivery address please"] * 5  # fmt: skip
    more = [*texts, "address wrong", "delivery late"]
    before = names([*texts, *OTHERS * 5], [0] * 20 + [1] * 20)
    assert names([*more, *OTHERS * 5], [0] * 22 + [1] * 20) == before
    assert before[0] == "Change delivery address"
