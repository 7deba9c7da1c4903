"""Benchmarks: labels never steer, runs are not repeated, lines are complete."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from coterie.models.registry import METHODS
from coterie_bench import run as module
from coterie_bench.data import Data
from coterie_bench.run import Options, run_suite
from coterie_bench.score import expected_calibration_error
from coterie_bench.suites import SUITES, Entry, Suite

SAMPLE = Suite("tiny", "", (Entry("TF-IDF", "tfidf-kmeans"),), ("sample",), 2)
KEYS = {
    "method", "parameters", "dataset", "dataset_sha256", "seed", "scores", "start_scores", "signs",
    "guard", "seconds", "peak_memory", "hardware", "versions", "commit", "word_vectors",
    "balance", "pooling",
}  # fmt: skip
SCORES = {
    "acc", "nmi", "nmi_geometric", "ari", "ami", "v_measure", "purity", "silhouette",
    "n_clusters_used",
}  # fmt: skip


@pytest.fixture(scope="module")
def rows(small: Suite, tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    return run_suite(small, tmp_path_factory.mktemp("bench") / "small.jsonl", Options())


def test_a_line_says_everything(rows: list[dict]) -> None:
    assert len(rows) == 4
    for row in rows:
        assert row.keys() >= KEYS
        assert row["scores"].keys() == SCORES
    assert rows[0]["guard"] is None and rows[2]["guard"]["fired"] in (True, False)


def test_what_is_done_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "r.jsonl"
    run_suite(SAMPLE, file, Options(), seeds=[0])
    ran = []
    original = module.run_one
    monkeypatch.setattr(module, "run_one", lambda *a: (ran.append(1), original(*a))[1])
    assert len(run_suite(SAMPLE, file, Options(), seeds=[0, 1])) == 2
    assert len(ran) == 1


def test_labels_cannot_reach_a_method(small: Suite, labelled: Data) -> None:
    labels = list(np.random.default_rng(0).permutation(labelled.labels))
    found = []
    for given in (labelled, replace(labelled, labels=labels)):
        model = module.make(small.entries[1], given, 0, Options())
        module.run_one(model, given, Options())
        found.append(model.labels_)
    np.testing.assert_array_equal(*found)


def loop_ece(right: list, confidence: list, bins: int) -> float:
    total = 0.0
    for i in range(bins):
        low, high = i / bins, (i + 1) / bins
        inside = [
            (r, p)
            for r, p in zip(right, confidence, strict=True)
            if low <= p < high or (i == bins - 1 and p == 1.0)
        ]
        if inside:
            share = sum(r for r, _ in inside) / len(inside)
            sure = sum(p for _, p in inside) / len(inside)
            total += len(inside) / len(right) * abs(share - sure)
    return total


@pytest.mark.parametrize("bins", [1, 8, 10])
def test_the_calibration_error_equals_the_loop(bins: int) -> None:
    rng = np.random.default_rng(0)
    right = (rng.random(200) < 0.6).tolist()
    sure = np.append(rng.integers(0, 40, size=198) / 41, [0.0, 1.0]).tolist()  # with ties
    assert expected_calibration_error(right, sure, bins) == pytest.approx(
        loop_ece(right, sure, bins)
    )
    assert expected_calibration_error([True, False], [1.0, 0.0]) == 0.0
    assert expected_calibration_error([False, True], [1.0, 0.0]) == 1.0


@pytest.mark.parametrize("suite", SUITES.values(), ids=lambda suite: suite.name)
def test_every_entry_of_a_suite_has_settings_that_its_method_takes(suite: Suite) -> None:
    for entry in suite.entries:
        for more in ({}, *entry.by_dataset.values()):
            parameters = {"n_clusters": 2, **entry.parameters, **more}
            METHODS[entry.method].make(preset=entry.preset, **parameters)._check_parameters()
