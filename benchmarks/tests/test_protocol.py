"""How runs are scored: labels reach no method, a part is held out, and K may be found."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from coterie.arrays.metrics import accuracy
from coterie.errors import CoterieError, UsageError
from coterie_bench import data as data_module
from coterie_bench import run as module
from coterie_bench.data import Data, load_data, split
from coterie_bench.run import Options, run_suite
from coterie_bench.suites import Suite
from coterie_bench.tables import summarize


@pytest.fixture
def part(small: Suite, monkeypatch: pytest.MonkeyPatch) -> Suite:
    monkeypatch.setitem(data_module.SPLITS, "topics", 60)
    return small


def test_a_part_is_fitted_and_the_other_is_scored(part: Suite, tmp_path: Path) -> None:
    rows = run_suite(part, tmp_path / "r.jsonl", Options(protocol="split"))
    data = load_data("topics", None)
    for row in rows:
        assert (row["protocol"], row["n_train"], row["n_test"]) == ("split", 60, 30)
        held = ~split(data, row["seed"]).train
        model = module.make(part.entries[row["label"] == "SCCL"], data, row["seed"], Options())
        model.fit([data.texts[i] for i in np.flatnonzero(~held)])
        found = model.predict([data.texts[i] for i in np.flatnonzero(held)])
        truth = np.asarray(data.labels)[held]
        assert row["scores"]["acc"] == pytest.approx(accuracy(truth, found), abs=1e-5)
    again = run_suite(part, tmp_path / "r.jsonl", Options())
    assert len(again) == 8  # the usual protocol is another run
    assert summarize(again)[1][0][0] == "TF-IDF, fitted on a part"


def test_splits_have_the_printed_sizes_and_follow_the_seed() -> None:
    data = Data("agnews", "", ["x"] * 8000, ["y"] * 8000, 4, np.ones(8000, dtype=bool))
    first, same, other = split(data, 0), split(data, 0), split(data, 1)
    assert first.train.sum() == 6400
    np.testing.assert_array_equal(first.train, same.train)
    assert (first.train != other.train).any()
    with pytest.raises(UsageError, match="no sizes for 'tweet'"):
        split(replace(data, name="tweet"), 0)


def test_the_number_of_clusters_may_be_found(small: Suite, tmp_path: Path) -> None:
    suite = replace(small, entries=small.entries[:1])
    options = Options(find_k=True, encoder="tfidf")
    rows = run_suite(suite, tmp_path / "r.jsonl", options, seeds=[0])
    given, found = rows
    assert (given["k"], given["parameters"]["n_clusters"]) == ("given", 3)
    assert found["k"] == "found" and found["found"]["low"] <= found["parameters"]["n_clusters"]
    assert found["scores"]["n_clusters_used"] == found["parameters"]["n_clusters"]
    assert len(run_suite(suite, tmp_path / "r.jsonl", options, seeds=[0])) == 2
    assert [line[0] for line in summarize(rows)[1]] == ["TF-IDF", "TF-IDF, K found"]


def test_a_run_that_breaks_down_does_not_stop_the_others(
    small: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = module.run_one

    def sometimes(model, data, options):
        if model.random_state == 0:
            raise RuntimeError("no more memory")
        return original(model, data, options)

    monkeypatch.setattr(module, "run_one", sometimes)
    told: list[str] = []
    suite = replace(small, entries=small.entries[:1])
    with pytest.raises(CoterieError, match="1 of 2 runs failed"):
        run_suite(suite, tmp_path / "r.jsonl", Options(), tell=told.append)
    assert [line.split(":")[0] for line in told] == ["failed", "[1/2] TF-IDF on topics, seed 1"]
    monkeypatch.setattr(module, "run_one", original)
    assert len(run_suite(suite, tmp_path / "r.jsonl", Options())) == 2
