"""Cuts of a merge tree against classes of two levels."""

import numpy as np
import pytest

from coterie.arrays.metrics import ami, nmi
from coterie_bench.data import Data
from coterie_bench.experiments import levels

LEVELS = {"broad": 2, "medium": 3, "fine": 5}


def cut(n: int) -> np.ndarray:
    """Five leaves of three texts each; the last two clusters are joined until ``n`` are left."""
    return np.minimum(np.repeat(np.arange(5), 3), n - 1)


def test_cuts_are_scored_as_in_a_loop() -> None:
    truth = list("aaabbbcccccbbbb")
    found = levels.score_cuts(truth, cut, 5, LEVELS)
    for name, score in (("nmi", nmi), ("ami", ami)):
        each = [score(truth, cut(n)) for n in range(1, 6)]
        assert found["best"][name] == pytest.approx(max(each), abs=1e-5)
        assert found["true"][name] == pytest.approx(each[2], abs=1e-5)
        for level, n in LEVELS.items():
            assert found[level] | {"n": n} == found[level]
            assert found[level][name] == pytest.approx(each[n - 1], abs=1e-5)
    each = [ami(truth, cut(n)) for n in range(1, 6)]
    assert found["k"] == 3 and found["best"]["n"] == 1 + int(np.argmax(each))


def test_a_set_is_measured(topics, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, truth = topics
    coarse = ["a" if label == "fruit" else "b" for label in truth]
    data = Data("topics", "0", texts, truth, 3, None, coarse=coarse)
    monkeypatch.setattr(levels, "load_data", lambda name, folder: data)
    options = levels.main.parse(["--encoder", "tfidf-svd", "--device", "cpu"])
    found = levels.measure({"dataset": "topics", "seed": 0}, options)
    assert found["leaves"] >= found["levels"]["medium"] >= 2
    assert found["classes"]["true"]["n"] == min(3, found["leaves"])
    assert found["classes"]["best"]["nmi"] >= found["classes"]["true"]["nmi"] > 0
    assert found["coarse"]["k"] == 2 and found["direct"]["n"] == 3
    assert 0 < found["nesting"]["purity"] <= 1 and found["seconds"] > 0
