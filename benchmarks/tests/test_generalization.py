"""The page on other texts: tables by hand from a few lines."""

import pytest

from coterie_bench.experiments.generalization import (
    compare,
    development_part,
    guard_sentence,
)


def line(dataset: str, label: str, nmi: float, seed: int = 0, **more) -> dict:
    return {
        "label": label, "method": {"encoder + k-means": "kmeans"}.get(label, "auto"),
        "preset": None, "parameters": {"n_clusters": 4}, "dataset": dataset,
        "dataset_sha256": "0", "seed": seed, "scores": {"acc": nmi / 2, "nmi": nmi},
        "start_scores": {"acc": 0.5, "nmi": 0.5}, "guard": None, "date": "2026-11-16",
        "commit": "abc", "hardware": {"cores": 2}, **more,
    }  # fmt: skip


def sure(ece: float, auc: float | None) -> dict:
    return {"confidence": {"ece": ece, "auc": auc, "mean": 0.9, "right": 0.5}}


def numbers(k: int, low: int, high: int) -> dict:
    return {"k": "found", "found": {"low": low, "high": high}, "parameters": {"n_clusters": k}}


ROWS = [
    line("insurance", "encoder + k-means", 0.80),
    line("insurance", "auto", 0.85, 0, **sure(0.10, 0.8)),
    line("insurance", "auto", 0.87, 1, **sure(0.30, 0.6)),
    line("insurance", "auto", 0.70, 0, **numbers(44, 20, 50)),
    line("text_kinds", "encoder + k-means", 0.50),
    line("text_kinds", "auto", 0.48, 0, **sure(0.2, None)),
    line("text_kinds", "auto", 0.40, 0, **numbers(8, 5, 9)),
    line("tweet", "encoder + k-means", 0.80),
    line("tweet", "auto", 0.81),
    line("tweet", "auto", 0.81, 0, **numbers(89, 80, 90)),
]


def test_the_development_table_by_hand() -> None:
    shown = development_part(ROWS).splitlines()
    assert shown[2] == (
        "| insurance | 22 | 80.0 | 43.0 ± 0.7 / 86.0 ± 1.4 | +6.0 | 44 (20 to 50) | 0.20 | 0.70 |"
    )
    assert shown[3] == "| text_kinds | 4 | 50.0 | 24.0 / 48.0 | -2.0 | 8 (5 to 9) | 0.20 |  |"
    means = "|  | 65.0 | 33.5 / 67.0 | +2.0 | off by 2.0 | 0.20 | 0.70 |"
    assert shown[4:6] == [f"| mean of {n} {means}" for n in ("2 earlier sets", "all 2 sets")]
    assert shown[7] == (
        "More than 0.5 NMI below k-means: 1 of 2 sets; the largest loss is 2.0, on text_kinds. "
        "The number found is off by a factor of 2.0 (geometric mean of 2 sets), at most 2.0 "
        "(text_kinds). The range holds the number of classes in 50% of the runs."
    )
    assert "tweet" not in "\n".join(shown)


def test_a_factor_counts_too_few_as_too_many() -> None:
    rows = [line("text_kinds", "auto", 0.4, s, **numbers(k, 1, 9)) for s, k in ((0, 2), (1, 8))]
    (found,) = compare(rows, ["text_kinds"])
    assert found.factor == pytest.approx(2.0) and found.held == 1.0
    assert found.difference is None


def test_the_guard_is_counted() -> None:
    fired, kept = {"fired": True, "reason": ""}, {"fired": False, "reason": ""}
    rows = [
        line("insurance", "SCCL, default", 0.5, 0, guard=fired, trained_scores={"nmi": 0.6}),
        line("text_kinds", "SCCL, default", 0.45, 0, guard=kept, trained_scores={"nmi": 0.45}),
        line("text_kinds", "SCCL, default", 0.495, 1, guard=kept, trained_scores={"nmi": 0.495}),
        line("job_titles", "SCCL, default", 0.5, 0, guard=fired, trained_scores=None),
    ]
    assert guard_sentence(rows) == (
        "Of 4 runs on the development sets the guard returned 1 more than 1 NMI below their start, "
        "and discarded 1 gains of more than 1 NMI."
    )
