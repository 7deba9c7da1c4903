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
    steering_page,
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


def test_table_has_means_and_the_worst_set(cases) -> None:
    head = {"dataset": "topics", "seed": 0, "method": "kmeans"}
    rows = [{**head, **case, "scores": scores} for case, scores in cases]
    header, body = summarize_steering(rows)
    assert header[:3] == ["method", "given", "steered"]
    assert [line[1] for line in body][:2] == ["labels 1", "labels 5"]
    assert body[0][-1].endswith("(topics)")
    page = steering_page(rows)
    assert "kmeans is measured on these sets (seeds): topics (1). Not measured yet: " in page
    assert "| kmeans | topics |" in page
    assert "(AMI)" in page
    assert "A cluster with an F1 of a half or more: 2 of 2 known classes" in page
    for row in rows:
        row["scores"] = {k: v for k, v in row["scores"].items() if k != "classes"}  # older lines
        row["scores"] = {k: _without_ami(v) for k, v in row["scores"].items()}
    page = steering_page(rows)
    assert "F1" not in page and "AMI" not in page


def _without_ami(scores):
    return {k: v for k, v in scores.items() if k != "ami"} if isinstance(scores, dict) else scores


def test_page_has_what_chance_does_not_give() -> None:
    def row(dataset: str, steered: float, plain: float) -> dict:
        scores = {
            "steered": {"acc": 0.5, "nmi": 0.5, "ami": steered},
            "plain": {"acc": 0.5, "nmi": 0.5, "ami": plain},
        }
        head = {"dataset": dataset, "seed": 0, "method": "auto", "case": "labels", "count": 20}
        return {**head, "scores": scores}

    (line,) = steering._adjusted("auto", steering._frame([row("a", 0.4, 0.1), row("b", 0.6, 0.5)]))
    assert "20: 50.0 (without labels 30.0, smallest gain of a set +10.0 (b))" in line


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
