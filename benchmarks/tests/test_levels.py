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


def test_cuts_by_hand() -> None:
    """Two classes, cut into them and into halves of them: 1 bit shared of 1 and 2 bits."""
    truth = [0, 0, 1, 1]
    found = levels.score_cuts(truth, lambda n: np.arange(4) // (4 // n), 4, {"fine": 4})
    assert found["best"] == found["true"] == {"n": 2, "nmi": 1.0, "ami": 1.0}
    assert found["fine"]["nmi"] == pytest.approx(2 / 3, abs=1e-5)
    more = levels.score_cuts(range(4), lambda n: np.minimum(truth, n - 1), 2, {"fine": 2})
    assert more["k"] == 4 and more["true"]["n"] == 2  # more classes than leaves


def test_nesting_is_as_in_a_loop() -> None:
    rng = np.random.default_rng(0)
    fine = rng.integers(0, 12, 200)
    coarse, broad = fine // 3, (fine // 2 + (rng.random(200) < 0.3)) % 4

    def most(values: np.ndarray) -> int:
        return max(set(values.tolist()), key=values.tolist().count)

    found = levels.nesting(coarse, fine, broad)
    pure = [coarse[i] == most(coarse[broad == broad[i]]) for i in range(200)]
    whole = [broad[i] == most(broad[fine == fine[i]]) for i in range(200)]
    assert found["purity"] == pytest.approx(np.mean(pure), abs=1e-5)
    assert found["inverse"] == pytest.approx(np.mean(whole), abs=1e-5)


def test_the_nearest_level_counts() -> None:
    assert levels.factor(20, [4, 10, 80]) == 2 and levels.factor(20, [2, 30]) == 1.5


def line(dataset: str, seed: int, cut: float, told: float, n: int, **more) -> dict:
    at = {"n": n, "nmi": cut, "ami": cut / 2}
    every = dict.fromkeys(levels.SHOWN, at)
    return {
        "dataset": dataset, "seed": seed, "levels": {"broad": 5, "medium": n, "fine": 90},
        "classes": {"k": 20, **every}, "direct": {"n": 20, "nmi": told, "ami": told},
        "date": "2026-11-18", "commit": "abc", "hardware": {"cores": 2},
        **{key: value | every if key == "coarse" else value for key, value in more.items()},
    }  # fmt: skip


def test_the_tables_by_hand() -> None:
    nested = {"coarse": {"k": 4}, "nesting": {"purity": 0.9, "inverse": 0.7}}
    rows = [
        line("tariff", 0, 0.5, 0.6, 10, **nested),
        line("tariff", 1, 0.7, 0.6, 40, **nested),
        line("insurance", 0, 0.8, 0.9, 20),
    ]
    cells = " | ".join(["60.0 / 30.0 (10 to 40)"] * 5)
    shown = levels.two_levels(rows)
    assert f"| tariff | 4 coarse | {cells} | 90.0 / 70.0 |\n| tariff | 20 | {cells} |  |" in shown
    assert "insurance" not in shown
    assert levels.sets(rows).splitlines()[2:7] == [
        "| insurance | 20 | 5 | 20 | 90 | 1.0 | 80.0 | 90.0 | -10.0 |",
        "| tariff | 20 | 5 | 10 to 40 | 90 | 2.0 | 60.0 | 60.0 | +0.0 |",
        "| mean of 1 earlier sets |  |  |  |  | 1.0 | 80.0 | 90.0 | -10.0 |",
        "| mean of 1 sets with two levels |  |  |  |  | 2.0 | 60.0 | 60.0 | +0.0 |",
        "| mean of 1 later sets |  |  |  |  | 2.0 | 60.0 | 60.0 | +0.0 |",
    ]
    assert "| mean of all 2 sets |  |  |  |  | 1.4 | 70.0 | 75.0 | -5.0 |" in levels.sets(rows)
    assert "makes them" in levels.two_levels(rows[2:]) and "makes them" in levels.sets([])


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


def test_sets_are_named_by_group() -> None:
    keys = levels.cases(levels.main.parse(["--sets", "levels,tweet", "--seeds", "0,1"]))
    assert len(keys) == 12 and keys[-1] == {"dataset": "tweet", "seed": 1}
    assert len(levels.cases(levels.main.parse([]))) == 24 * 3
