"""What labels and names bring: every case measured on texts with plain topics."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.encoders import load_encoder
from coterie_bench.experiments import steering
from coterie_bench.experiments.steering import (
    Bench,
    different_texts,
    draw_labels,
    summarize_steering,
)

WORDS = {
    "apple": "red green ripe sour sweet old fresh small big ten".split(),
    "car": "fast slow old new blue small big loud cheap ten".split(),
    "sky": "blue clear dark grey high wide cold warm open night".split(),
    "fish": "raw fried fresh cold salt big small dead two deep".split(),
}
TEXTS = [f"{word} {topic}" for topic, words in WORDS.items() for word in words]
TRUTH = np.repeat(np.arange(4), 10)


@pytest.fixture(scope="module")
def cases():
    encoder = load_encoder("tfidf")
    encoder.learn(TEXTS)
    options = steering.main.parse(["--encoder", "tfidf"])
    key = {"seed": 0, "method": "kmeans"}
    return list(Bench(key, options, TEXTS, TRUTH, list(WORDS), encoder).cases())


def test_at_most_half_of_a_class_is_labelled() -> None:
    labels = draw_labels(TRUTH, 20, 0)
    assert np.bincount(labels[labels >= 0]).tolist() == [5] * 4
    assert (labels[labels >= 0] == TRUTH[labels >= 0]).all()
    assert (draw_labels(TRUTH, 1, 0) >= 0).sum() == 4


def test_a_text_is_measured_once() -> None:
    texts = ["Red apple", "", "red  apple", "fast car", "red apple"]
    encoder = load_encoder("tfidf")
    encoder.learn(texts)
    assert different_texts(texts, encoder) == [0, 3]


def test_every_case_is_measured(cases) -> None:
    given = [(case["case"], case.get("count")) for case, _ in cases]
    assert given == [
        *(("labels", count) for count in steering.COUNTS),
        ("half", 5),
        ("names", None),
    ]
    scores = {place: found for place, (_, found) in zip(given, cases, strict=True)}
    assert scores["labels", 5]["steered"].keys() == {"acc", "nmi", "ami", "right"}
    assert scores["labels", 20]["steered"]["right"] > 0.9
    assert {"logistic", "spreading", "plain"} < scores["labels", 1].keys()
    assert scores["half", 5]["recall"] > 0.9
    classes = scores["half", 5]["classes"]
    assert classes["known"]["steered"] == classes["known"]["all"] == 2
    assert classes["new"]["all"] == 2 and classes["new"]["plain"] in (0, 1, 2)
    assert scores["names", None]["steered"]["right"] > 0.9


def test_means_count_every_set_once() -> None:
    def row(dataset: str, seed: int, acc: float) -> dict:
        both = {"acc": acc, "nmi": acc / 2}
        scores = {"steered": both, "plain": {"acc": 0.3, "nmi": 0.1}}
        head = {"dataset": dataset, "seed": seed, "method": "auto", "case": "labels", "count": 5}
        return {**head, "scores": scores}

    rows = [row("a", 0, 0.4), row("b", 0, 0.6), row("b", 1, 1.0)]
    _, body = summarize_steering(rows)
    assert body == [["auto", "labels 5", "60.0 / 30.0", "30.0 / 10.0", "", "", "", "+10.0 (a)"]]


@pytest.mark.gpu
def test_lines_name_the_device() -> None:
    options = steering.main.parse(["--encoder", "tfidf", "--device", "cuda"])
    key = {"dataset": "sample", "seed": 0, "method": "kmeans"}
    row = steering.measure(key, options)[0]
    assert row["hardware"]["device"] == "cuda" and "gpu" in row["hardware"]
