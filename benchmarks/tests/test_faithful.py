"""Printed values in the presets, and verdicts on claims from lines."""

import json
from pathlib import Path

import pytest

from coterie.models.registry import METHODS
from coterie_bench.experiments import faithful
from coterie_bench.suites import own_data

PAPERS = own_data("faithful.toml")["papers"]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper["name"])
def test_presets_have_the_printed_values(paper: dict) -> None:
    for setting in paper["settings"]:
        model = METHODS[paper["method"]].make(2, setting.get("preset", "paper"))
        ours, printed = model.get_params()[setting["parameter"]], setting["printed"]
        assert ours == (tuple(printed) if isinstance(printed, list) else printed), setting["what"]


def line(label: str, seed: int, nmi: float, dataset: str = "tweet", start: float = 0.5) -> dict:
    scores = {"acc": nmi, "nmi": nmi}
    return {
        "label": label, "method": "sccl", "preset": None, "parameters": {}, "dataset": dataset,
        "dataset_sha256": "0", "seed": seed, "scores": scores, "trained_scores": scores,
        "start_scores": {"acc": start, "nmi": start}, "date": "2026-11-16", "commit": "abc",
        "hardware": {"cores": 2},
    }  # fmt: skip


def lines(label: str, *values: float, dataset: str = "tweet") -> list[dict]:
    return [line(label, seed, nmi, dataset) for seed, nmi in enumerate(values)]


def judged(claim: faithful.Claim, rows: list[dict]) -> faithful.Judged:
    paper = faithful.replace(faithful.PAPERS["sccl"], claims=(claim,))
    (found,) = faithful.judge(paper, rows)
    return found


A_OVER_B = faithful.Claim("a beats b", "", "a", ("b",))
CLEAR = lines("a", 0.70, 0.71, 0.72) + lines("b", 0.60, 0.61, 0.62)


def test_a_claim_is_judged_by_the_interval() -> None:
    found = judged(A_OVER_B, CLEAR)
    assert found.verdict == "holds on tweet" and found.summary == faithful.HOLDS
    # Deviations of 1: 10 points less 2.776 times sqrt(2/3); p is 0.00025.
    assert found.evidence == "tweet +10.0 [7.7, 12.3] (3) <.001/<.001"
    noisy = lines("a", 0.60, 0.70, 0.80) + lines("b", 0.50, 0.60, 0.70)
    assert judged(A_OVER_B, noisy).verdict == "undecided on tweet"
    two = CLEAR + [r | {"dataset": "agnews"} for r in noisy]
    both = judged(A_OVER_B, two)
    assert both.verdict == "holds on 1 of 2 sets; undecided on agnews"
    assert both.evidence.startswith("agnews +10.0 [-")  # the weakest of all sets
    assert both.summary == faithful.PART
    assert judged(A_OVER_B, lines("a", 0.7)).verdict == "not tested (no lines)"


@pytest.mark.parametrize("seeds", [1, 2])
def test_fewer_than_three_seeds_test_nothing(seeds: int) -> None:
    few = lines("a", *[0.9, 0.91][:seeds]) + lines("b", 0.5, 0.5, 0.5)
    found = judged(A_OVER_B, few)
    assert found.verdict == f"not tested ({seeds} seed{'s' * (seeds > 1)})"
    assert found.evidence.startswith("tweet +4") and "[" not in found.evidence


def test_runs_that_share_a_seed_count_once() -> None:
    """Six runs of each of three seeds are three replicates: their means."""
    repeats = [
        row | {"seed": seed, "date": f"2026-11-1{i}", "label": label}
        for i, label in enumerate(("contrast_weight=10", "label_weight=5"))
        for seed, nmi in enumerate((0.70, 0.80, 0.90))
        for row in lines(label, nmi + 0.02 * i)
    ]
    rows = [row | {"method": "aecl"} for row in repeats]
    rows += [
        row | {"method": "aecl", "parameters": {"contrast_weight": 0.0}}
        for row in lines("contrast_weight=0", 0.95, 0.96, 0.97)
    ]
    claim = faithful.Claim("", "", "contrast_weight=10", ("contrast_weight=0",))
    (found,) = judged(claim, rows).effects
    assert found.n == (3, 3) and found.value == pytest.approx(81 - 96)


def test_a_claim_over_several_entries_rests_on_the_weakest() -> None:
    claim = faithful.Claim("", "", "a", ("b", "c"))
    found = judged(claim, CLEAR + lines("c", 0.80, 0.81, 0.82))
    assert found.verdict == "does not hold on tweet" and "over c -10.0" in found.evidence
    claim = faithful.replace(claim, datasets=("tweet",))
    found = judged(claim, CLEAR)  # it may not hold over c
    assert found.verdict.startswith("not tested") and "no lines of c on tweet" in found.evidence


def test_sets_that_a_suite_plans_and_no_line_has_are_not_tested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = {(label, name): 3 for label in "ab" for name in ("tweet", "agnews")}
    monkeypatch.setattr(faithful, "planned", lambda: {**both, ("a", "biomedical"): 3})
    found = judged(A_OVER_B, CLEAR)
    assert found.kinds == {"tweet": "holds", "agnews": "not tested"}
    assert "no lines of a on agnews" in found.evidence


def test_the_summary_counts_claims_and_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = [faithful.Claim(name, "", "a", (name,)) for name in "bcde"]
    claims += [faithful.Claim("not counted", "ours", "a", ("e",))]
    paper = faithful.replace(faithful.PAPERS["sccl"], claims=tuple(claims))
    monkeypatch.setattr(faithful, "PAPERS", {"sccl": paper})
    rows = CLEAR + lines("c", 0.68, 0.71, 0.73) + lines("d", 0.60)  # no lines of e
    table, _, told = faithful.summary_part(rows).partition("\n\n")
    assert table.splitlines()[-1] == "| SCCL | 4 | 1 | 1 | 0 | 0 | 1 | 2 |"
    assert "2 comparisons" in told and "1 are decided, 1 also after Holm" in told
    header, *body = faithful.verdicts_file(rows).splitlines()
    assert len(body) == 3 and header.count(",") == body[0].count(",")


def test_the_start_is_that_of_the_same_runs() -> None:
    claim = faithful.Claim("training helps", "", "a", ("start",))
    (found,) = judged(claim, lines("a", 0.60, 0.61, 0.62)).effects
    assert found.n == (3,) and found.value == pytest.approx(11)
    claim = faithful.Claim("", "", "start of a", ("b",))
    rows = [*lines("a", 0.9, 0.9, 0.9), *lines("b", 0.39, 0.4, 0.41)]  # all runs start at 0.5
    assert judged(claim, rows).evidence.startswith("tweet +10.0")


def test_figures_are_judged_by_the_ends_of_their_lines(tmp_path: Path) -> None:
    def said(seeds: str, deviation: list[float], **more) -> faithful.Effect:
        series = {"a": [[0, 1.0, *deviation], [1, 6.0, *deviation]],
                  "b": [[0, 1.0, *deviation], [1, 5.0, *deviation]]}  # fmt: skip
        picture = {"title": f"A \u2013 tweet, 9 texts, {seeds}", "panels": [{"series": series}]}
        (tmp_path / "f.json").write_text(json.dumps(picture), "utf-8")
        (found,) = faithful.of_curve(faithful.Curve("f", "a", 0, **more), folder=tmp_path)
        return found

    assert said("seed 0", [], second="b").verdict == faithful.UNTESTED
    clear = said("seeds 0, 1, 2", [0.1], second="b")
    assert (clear.dataset, clear.value, clear.n) == ("tweet", 1, (3, 3))
    assert clear.verdict == faithful.HOLDS
    assert said("seeds 0, 1, 2", [1.0], second="b").verdict == faithful.OPEN
    assert said("seeds 0, 1, 2", [0.1]).value == 5  # against its own beginning
    assert said("seeds 0, 1, 2", [0.1], falls=True).verdict == faithful.FAILS
    assert not list(faithful.of_curve(faithful.Curve("f", "a", 1), folder=tmp_path))
    assert not list(faithful.of_curve(faithful.Curve("g", "a"), folder=tmp_path))


def staged(dataset: str, seed: int, *values: float) -> dict:
    stages = [{"stage": n, "nmi": v} for n, v in zip(("start", "adapt"), values, strict=True)]
    return line("ClusterBERT", seed, 0.5, dataset) | {"stages": stages}


def test_stages_are_compared_in_the_same_runs() -> None:
    claim = faithful.Claim("", "", step=faithful.Step("ClusterBERT", "nmi", "start", "adapt"))
    close = [staged("tweet", seed, 0.50, end) for seed, end in enumerate((0.53, 0.54, 0.55))]
    found = judged(claim, close)
    # Deviation 1: 4 points, and 4.303 times 1 / sqrt(3) beside it.
    assert found.verdict == "holds on tweet" and "tweet +4.0 [1.5, 6.5] (3)" in found.evidence
    wide = [staged("agnews", seed, 0.50, end) for seed, end in enumerate((0.49, 0.52, 0.60))]
    assert judged(claim, close + wide).verdict == "holds on 1 of 2 sets; undecided on agnews"
    assert judged(claim, close[:2]).verdict == "not tested (2 seeds)"
    assert judged(claim, lines("ClusterBERT", 0.5)).verdict == "not tested (no lines)"
