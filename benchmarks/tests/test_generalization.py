"""The page on other texts: tables by hand from a few lines."""

import pytest

from coterie_bench.experiments.generalization import (
    benchmark_part,
    both_part,
    compare,
    development_part,
    languages_part,
    stability_part,
    systems_part,
    tails_part,
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


def test_the_table_of_languages_has_its_sets_alone() -> None:
    shown = languages_part([*ROWS, line("ru_leads", "auto", 0.45, **sure(0.1, 0.7))])
    assert "| ru_leads | 8 |  | 22.5 / 45.0 |" in shown and "insurance" not in shown
    assert "coterie-bench lang" in languages_part(ROWS)


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


def test_means_of_earlier_and_later_sets_are_kept_apart() -> None:
    later = {"citations": 0.2, "news_stories": 0.3, "tariff": 0.7}
    rows = [*ROWS, *(line(name, "auto", nmi) for name, nmi in later.items())]
    shown = [row for row in development_part(rows).splitlines() if row.startswith("| mean of")]
    assert [row.split("|")[1:5:3] for row in shown] == [
        [" mean of 2 earlier sets ", " 33.5 / 67.0 "],
        [" mean of 2 sets with long tails ", " 12.5 / 25.0 "],
        [" mean of 1 sets with two levels ", " 35.0 / 70.0 "],
        [" mean of 3 later sets ", " 20.0 / 40.0 "],
        [" mean of all 5 sets ", " 25.4 / 50.8 "],
    ]


def test_the_table_of_long_tails_by_hand() -> None:
    def scored(name: str, label: str, ami: float, seed: int = 0) -> dict:
        return line(name, label, 0.5, seed, scores={"nmi": 0.5, "acc": 0.4, "ami": ami, "ari": 0.1})

    rows = [scored("citations", "encoder + k-means", 0.2), scored("citations", "auto", 0.3)]
    rows += [scored("news_stories", "encoder + k-means", 0.6), scored("news_stories", "auto", 0.7)]
    rows += [scored("news_stories", "auto", 0.9, 1), scored("bot_messages", "auto", 0.9)]
    shown = tails_part([*ROWS, *rows]).splitlines()
    assert shown[2:5] == [
        "| citations | 40.0 / 20.0 / 10.0 | 40.0 / 30.0 / 10.0 |",
        "| news_stories | 40.0 / 60.0 / 10.0 | 40.0 ± 0.0 / 80.0 ± 14.1 / 10.0 ± 0.0 |",
        "| mean | 40.0 / 40.0 / 10.0 | 40.0 / 55.0 / 10.0 |",
    ]


def test_benchmarks_are_reported_apart_and_counted_together() -> None:
    shown = benchmark_part(ROWS).splitlines()
    assert shown[2] == "| tweet | 89 | 80.0 | 40.5 / 81.0 | +1.0 | 89 (80 to 90) |  |  |"
    assert "0 of 1 sets. " in shown[5]
    assert "off by a factor of 1.6 (geometric mean of 3 sets)" in both_part(ROWS)
    assert "in 67% of the runs" in both_part(ROWS)


def test_a_factor_counts_too_few_as_too_many() -> None:
    rows = [line("text_kinds", "auto", 0.4, s, **numbers(k, 1, 9)) for s, k in ((0, 2), (1, 8))]
    (found,) = compare(rows, ["text_kinds"])
    assert found.factor == pytest.approx(2.0) and found.held == 1.0
    assert found.difference is None


def test_without_lines_the_command_is_named() -> None:
    assert "`coterie-bench dev --find-k --data DIR` makes them" in development_part([])
    assert "`coterie-bench dev --datasets tails --data DIR` makes them" in tails_part(ROWS)
    assert "`coterie-bench stability --data DIR` makes them" in stability_part([])
    assert "`coterie-bench dev-systems --data DIR` makes them" in systems_part([])
    assert both_part([]) == "There are no result lines yet."


def test_spreads_stand_in_the_table() -> None:
    rows = [line("tweet", "auto", nmi, seed) for seed, nmi in enumerate((0.8, 0.82))]
    rows += [line("tweet", "auto", 0.8, noise={"size": 1e-3, "draw": d}) for d in range(2)]
    assert "| tweet | 1.41 / 0.00 |" in stability_part(rows)


def test_trained_systems_by_hand() -> None:
    fired, kept = {"fired": True, "reason": ""}, {"fired": False, "reason": ""}
    rows = [
        line("insurance", "SCCL, default", 0.5, 0, guard=fired, trained_scores={"nmi": 0.6}),
        line("text_kinds", "SCCL, default", 0.45, 0, guard=kept, trained_scores={"nmi": 0.45}),
        line("text_kinds", "SCCL, default", 0.495, 1, guard=kept, trained_scores={"nmi": 0.495}),
        line("job_titles", "SCCL, default", 0.5, 0, guard=fired, trained_scores=None),
    ]
    shown = systems_part(rows)
    assert "| insurance | 50.0 → 60.0 → 50.0* |" in shown
    assert "| text_kinds | 50.0 → 47.2 → 47.2 |" in shown
    assert "| job_titles | 50.0 → 50.0 → 50.0* |" in shown
    assert "Of 4 runs on the development sets the guard returned 1 more than 1 NMI below" in shown
    assert "discarded 1 gains of more than 1 NMI" in shown
