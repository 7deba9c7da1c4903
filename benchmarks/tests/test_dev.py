"""The suites of the development sets, and how much scores move with seed and noise."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from coterie import Auto, TwoStep
from coterie.arrays.metrics import accuracy, correct, nmi
from coterie.models.registry import METHODS
from coterie_bench.cli import app
from coterie_bench.data import load_data
from coterie_bench.datasets import CARDS
from coterie_bench.ledger import NOISE, key_of
from coterie_bench.noise import add_noise, spreads, summarize_stability, with_noise
from coterie_bench.run import Options, run_suite
from coterie_bench.score import expected_calibration_error
from coterie_bench.suites import SUITES, Entry, Suite, plan


def test_the_suites_have_their_sets() -> None:
    groups = ["dev"] * 13 + ["tails"] * 6 + ["levels"] * 5
    assert [CARDS[name].group for name in SUITES["dev"].datasets] == groups
    assert SUITES["dev-systems"].datasets == SUITES["dev"].datasets[:13]
    assert [CARDS[name].group for name in SUITES["lang"].datasets] == ["lang"] * 6
    assert len(set(SUITES["stability"].datasets)) == 21
    assert {entry.label for entry in SUITES["dev"].entries} == {"encoder + k-means", "auto"}


def test_a_long_tail_is_clustered_better_than_by_kmeans(benchmarks: Path) -> None:
    """Citations of 64 papers, 3 to 107 of each; the test of sizes is near its limit there."""
    data = load_data("citations", benchmarks)
    models = [Auto(data.n_clusters, random_state=seed).fit(data.texts) for seed in range(3)]
    unequal = [model.labels_ for model in models if model.choice_["sizes"] == "unequal"]
    assert unequal
    plain = TwoStep(data.n_clusters, random_state=0).fit(data.texts).labels_
    assert min(nmi(data.labels, labels) for labels in unequal) > nmi(data.labels, plain)


def test_a_set_runs_from_the_command_line(benchmarks: Path, tmp_path: Path) -> None:
    words = ["dev", "--datasets", "insurance", "--methods", "kmeans", "--seeds", "1",
             "--encoder", "tfidf-svd", "--find-k", "--data", str(benchmarks)]  # fmt: skip
    done = CliRunner().invoke(app, [*words, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    given, found = map(json.loads, (tmp_path / "dev.jsonl").read_text().splitlines())
    assert given["label"] == found["label"] == "encoder + k-means"
    assert given["parameters"]["n_clusters"] == 22 and "found" not in given
    told = found["found"]
    assert told["low"] <= told["n_clusters"] <= told["high"]
    assert told["n_clusters"] == found["parameters"]["n_clusters"]
    assert given["dataset_sha256"] == CARDS["insurance"].sha256
    assert given["confidence"]["right"] == pytest.approx(given["scores"]["acc"], abs=1e-5)
    assert 0 < given["confidence"]["ece"] < 1 and 0.5 < given["confidence"]["auc"] < 1


def test_lines_hold_confidence(small: Suite, tmp_path: Path) -> None:
    from coterie_bench.data import load_data
    from coterie_bench.run import make

    (row,) = run_suite(
        replace(small, entries=small.entries[:1]), tmp_path / "r.jsonl", Options(), seeds=[0]
    )
    data = load_data("topics", None, small.files)
    model = make(small.entries[0], data, 0, Options()).fit(data.texts)
    right = correct(data.labels, model.labels_)
    sure = model.probabilities_.max(axis=1)
    assert row["confidence"]["ece"] == pytest.approx(
        expected_calibration_error(right, sure), abs=1e-5
    )
    area = roc_auc_score(right, sure) if 0 < right.mean() < 1 else None
    assert row["confidence"]["auc"] == (None if area is None else pytest.approx(area, abs=1e-5))
    assert row["confidence"]["mean"] == pytest.approx(sure.mean(), abs=1e-5)
    assert row["confidence"]["right"] == pytest.approx(accuracy(data.labels, model.labels_))


def test_texts_without_a_cluster_have_no_confidence() -> None:
    from coterie_bench.score import _confidence

    truth, labels = np.array(["a", "a", "b", "b"]), np.array([0, -1, 1, -1])
    p = np.array([[0.9, 0.1], [0, 0], [0.3, 0.7], [0, 0]])
    found = _confidence(truth, labels, p)
    assert found["mean"] == pytest.approx(0.8) and found["right"] == 1.0
    assert found["auc"] is None
    assert _confidence(truth, np.full(4, -1), p) is None


def test_noise_has_its_size_and_depends_on_vector_and_draw_alone() -> None:
    vectors = np.random.default_rng(0).standard_normal((50, 384)).astype(np.float32) * 3
    noisy = add_noise(vectors, 1e-3, 0)
    moved = np.linalg.norm(noisy - vectors, axis=1) / np.linalg.norm(vectors, axis=1)
    assert moved.mean() == pytest.approx(1e-3, rel=0.02) and moved.max() < 1.3e-3
    np.testing.assert_array_equal(add_noise(vectors[::-1], 1e-3, 0)[::-1], noisy)
    assert not np.array_equal(add_noise(vectors, 1e-3, 1), noisy)
    directions = (noisy - vectors)[0] @ (noisy - vectors)[1]
    assert abs(directions) < 0.3 * np.linalg.norm((noisy - vectors)[0]) ** 2


def test_an_encoder_with_noise_is_otherwise_the_same(topics) -> None:
    texts = topics[0]
    model = METHODS["auto"].make(3, None, encoder="tfidf-svd", random_state=0)
    plain = model.fit(texts).vectors_
    model.encoder = with_noise(model, 1e-3, 0)
    noisy = model.fit(texts).vectors_
    size = np.linalg.norm(noisy - plain) / np.linalg.norm(plain)
    assert 0 < size < 2e-3
    np.testing.assert_array_equal(model.predict(texts), model.labels_)


def test_a_stability_suite_runs_seeds_and_draws(small: Suite, tmp_path: Path) -> None:
    entry = Entry("k-means", "kmeans", {"encoder": "tfidf-svd", "n_init": 1})
    suite = replace(small, entries=(entry,), seeds=3, draws=2)
    jobs = plan(suite)
    assert [(job.seed, job.draw) for job in jobs] == [
        (0, None), (1, None), (2, None), (0, 0), (0, 1)
    ]  # fmt: skip
    file = tmp_path / "stability.jsonl"
    told: list[str] = []
    rows = run_suite(suite, file, Options(), tell=told.append)
    assert len(rows) == 5 and len({key_of(row) for row in rows}) == 5
    assert [row.get("noise") for row in rows[3:]] == [{"size": NOISE, "draw": d} for d in (0, 1)]
    assert "noise 1" in told[-1]
    assert len(run_suite(suite, file, Options())) == 5  # nothing is run again
    ((place, (seeds, draws)),) = spreads(rows).items()
    assert place == ("topics", "k-means")
    nmi = [100 * row["scores"]["nmi"] for row in rows]
    assert seeds == pytest.approx(np.std(nmi[:3], ddof=1))
    assert draws == pytest.approx(np.std(nmi[3:], ddof=1))
    header, body = summarize_stability(rows)
    assert header == ["", "k-means"]
    assert body[0][1] == f"{seeds:.2f} / {draws:.2f}"
    assert body[-1] == ["mean of 1 sets", body[0][1]]
    elsewhere = [{**row, "dataset": "other"} for row in rows[:3]]  # no draws: not in the mean
    assert summarize_stability([*rows, *elsewhere])[1][-1] == body[-1]
