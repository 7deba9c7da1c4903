"""The scripts in benchmarks/: their formulas, what they keep, and the tables they print."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from coterie import Auto
from coterie_bench import ROOT
from coterie_bench.experiments import lines
from coterie_bench.ledger import Ledger

RESULTS, DOCS = ROOT / "results", ROOT / "docs"


def beside(label: str, dataset: str, ami: float, **more) -> dict:
    return {
        "label": label, "k": "found", "dataset": dataset, "group": "dev", "seed": 0,
        "n_texts": 900, "n_clusters_true": 20, "n_clusters": 10, "outliers": 0.25,
        "scores": dict.fromkeys(("acc", "nmi", "ari"), 0.5) | {"ami": ami},
        "seconds": {"fit": 1.0, "words": 2.0}, "hardware": {"cores": 2}, "commit": "abc",
        "date": "2026-11-17", **more,
    }  # fmt: skip


def test_bertopic_beside_coterie_by_hand(load) -> None:
    script = load("bertopic")
    ours = [beside("coterie", name, 0.5) for name in "ab"]
    theirs = [beside("BERTopic", "a", 0.7), beside("BERTopic", "b", 0.496)]
    means = script.summary([*ours, *theirs])
    line = "50.0 | 50.0 | {} | 50.0 | 2.0 | 25% | 3 |"
    assert f"| 2 development sets | found | coterie | {line.format('50.0')}  |" in means
    assert f"| BERTopic | {line.format('59.8')} 1 above, 1 level, 0 below |" in means
    sets = script.sets([*ours, *theirs, beside("coterie", "a", 0.9, seed=1, n_clusters=12)])
    assert "| a | 900 | 20 | 50.0 / 70.0 (10 to 12) | 50.0 / 70.0 (10) |" in sets
    assert script.summary([]) == script.sets([]) == script.NONE


def test_what_has_a_line_is_not_measured_again(tmp_path: Path, capsys) -> None:
    experiment = lines.Experiment(
        "x",
        "What it is.\n\nMore.",
        lambda options: [{"n": n} for n in options.sizes],
        lambda key, options: {"square": key["n"] ** 2, "slow": options.slow} if key["n"] else None,
        lambda rows: str([row["square"] for row in rows]),
        {"--sizes": (1, 2), "--slow": False},
    )
    out = tmp_path / "x.jsonl"
    experiment(["--out", str(out), "--sizes", "0,2,3", "--slow"])
    experiment(["--out", str(out)])
    rows = lines.read(out)
    assert [(r["n"], r["square"], r["slow"]) for r in rows] == [
        (2, 4, True), (3, 9, True), (1, 1, False),
    ]  # fmt: skip
    assert {"hardware", "versions", "commit", "date"} <= rows[0].keys()
    assert capsys.readouterr().out.endswith("[4, 9, 1]\n")
    with Ledger(out).claim(str({"n": 4})) as ours:  # another command is at it
        experiment(["--out", str(out), "--sizes", "4,5"])
    assert ours and [r["n"] for r in lines.read(out)] == [2, 3, 1, 5]


def test_the_confidence_of_auto_is_a_logistic_regression(load) -> None:
    settings = load("settings")
    x = np.linspace(0.3, 0.9, 7)
    shares = 1 / (1 + np.exp(-(-4.0 + 7.0 * x)))
    assert settings.logistic(x, shares) == pytest.approx((-4.0, 7.0), abs=0.01)
    rows = [
        {"setting": "default", "dataset": str(i), "choice": {"plain": a}, "scores": {"acc": b}}
        for i, (a, b) in enumerate(zip(x, shares, strict=True))
    ]
    said = settings.confidence(rows)
    assert "slope 7.0" in said and "left out 0 points" in said


def test_the_parts_that_are_timed_exist(load) -> None:
    from operator import attrgetter

    for name in load("command").PARTS:
        module, _, attribute = name.partition(":")
        assert callable(attrgetter(attribute)(importlib.import_module(module))), name


def test_the_fit_of_the_number_of_clusters(load) -> None:
    """Without noise the coefficients come back; a set that is left out is predicted."""
    script = load("fit_number")
    rng = np.random.default_rng(0)
    rows = []
    for dataset in "abcdef":
        for share, most in script.PARTS:
            dimension, n = rng.uniform(3, 30), int(rng.integers(100, 3_000))
            classes = np.exp(1.5 + 2.0 * np.log(dimension) - 0.5 * np.log(n))
            rows.append(
                {"dataset": dataset, "share": share, "most": most, "dimension": dimension}
                | {"n": n, "classes": classes}
            )
    x = np.log([[row["dimension"], row["n"]] for row in rows])
    y = np.log([row["classes"] for row in rows])
    intercept, slopes = script.fit(x, y, np.ones(len(rows)))
    np.testing.assert_allclose([intercept, *slopes], [1.5, 2.0, -0.5], atol=0.05)
    said = script.report(rows)
    assert said.startswith("COEFFICIENTS = 1.") and "holds the number on 100%" in said
    assert "nearest of three levels: factor 1.0" in said
    # Three times too many: broad is right. Half: medium and fine are off by two.
    np.testing.assert_allclose(
        np.exp(script.min_over_levels(np.log([3.0, 0.5, 1.5]))), [1.0, 2.0, 1.5]
    )


def test_coefficients_in_use_are_those_of_the_committed_lines(load) -> None:
    from coterie.models import choose

    script = load("fit_number")
    rows = [json.loads(line) for line in (RESULTS / "dimension.jsonl").read_text().splitlines()]
    for encoder, used in (
        ("all-MiniLM-L6-v2", choose.COEFFICIENTS),
        ("tfidf-svd", choose.LEXICAL_COEFFICIENTS),
    ):
        said = script.report([row for row in rows if row["encoder"] == encoder])
        assert f"COEFFICIENTS = {', '.join(f'{value:.3f}' for value in used)}\n" in said


def test_second_steps_go_behind_one_training(
    load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = load("trained_encoders")
    short = steps.Entry("SCCL", "sccl", {"guard": False, "steps": 2, "batch_size": 50})
    monkeypatch.setitem(steps.TRAINED, "SCCL", short)
    monkeypatch.setattr(steps, "STEPS", {"k-means": {}, "Ward": {"cluster": "ward"}})
    asked = ["--methods", "SCCL", "--sets", "sample", "--seeds", "1", "--encoder", "tfidf-svd"]
    monkeypatch.setattr(
        sys, "argv", ["second_steps", *asked, "--device", "cpu", "--out", str(tmp_path)]
    )
    steps.main()
    file = tmp_path / "second-steps.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [row["label"] for row in rows] == ["SCCL + k-means", "SCCL + Ward"]
    assert {row["seed"] for row in rows} == {1}
    assert rows[0]["parameters"]["encoder"] == "precomputed" and rows[0]["scores"]["nmi"] > 0.1
    steps.main()
    assert len(file.read_text().splitlines()) == 2  # nothing was run again


def test_auto_runs_with_every_setting(topics, tiny_encoder: Path) -> None:
    settings = importlib.import_module("coterie_bench.experiments.settings")
    for changed in settings.SETTINGS.values():
        with settings.setting(changed):  # refuses a name that auto does not have
            model = Auto(3, random_state=0, encoder=str(tiny_encoder)).fit(topics[0])
        assert len(set(model.labels_)) == 3


def test_cuts_of_the_skew_are_between_the_kinds_of_sets(load) -> None:
    evenness = load("evenness")

    def row(skew: float, ratio: float) -> dict:
        return {
            "skews": [skew, skew],
            "classes": {"ratio": ratio, "skew": 0.0},
            "dataset": "tariff",
        }

    rows = [row(0.1, 1), row(0.2, 2), row(0.5, 7), row(0.6, 9), row(1.0, 50), row(1.4, 143)]
    assert evenness.cuts(rows) == pytest.approx((0.35, 0.8))
    # A set of another kind among them is wrong wherever the cut is: the others decide.
    assert evenness.cuts([*rows, row(0.55, 1)]) == pytest.approx((0.35, 0.8))
    assert "cuts 0.35 and 0.80: 6 of 6 sets right" in evenness.table(rows)
