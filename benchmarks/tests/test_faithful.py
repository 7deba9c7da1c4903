"""The page "How faithful is it": values of presets, code of equations, verdicts from lines."""

import json
from pathlib import Path

import pytest
from scipy.stats import mannwhitneyu, ttest_ind, ttest_ind_from_stats
from typer.testing import CliRunner

from coterie.cli import app
from coterie.methods import METHODS
from coterie_bench.beside import load_reported
from coterie_bench.data import load_data
from coterie_bench.experiments import faithful
from coterie_bench.run import Options, make
from coterie_bench.suites import SUITES, Entry

PAPERS = list(faithful.PAPERS.values())
DISTILBERT = "distilbert-base-nli-stsb-mean-tokens"


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_presets_have_the_printed_values(paper: faithful.Paper) -> None:
    for setting in paper.settings:
        model = METHODS[paper.method].make(2, setting.preset)
        assert model.get_params()[setting.parameter] == setting.printed, setting.what
    assert faithful.DEVIATES not in faithful.settings_table(paper)


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_code_of_equations_exists_and_deviations_have_a_reason(paper: faithful.Paper) -> None:
    for part in paper.parts:
        assert part.status == faithful.PRINTED or part.note, part.what
        assert not part.code or faithful.find(part.code) is not None
    for claim in paper.claims:
        tested = claim.better or claim.curve or claim.step or claim.look
        assert tested or claim.note, claim.what


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


def verdict(claim: faithful.Claim, rows: list[dict]) -> tuple[str, str]:
    return faithful.judge(claim, faithful.PAPERS["sccl"], rows)


def test_a_claim_holds_where_the_t_test_says_so() -> None:
    claim = faithful.Claim("a beats b", "", "a", ("b",))
    clear = lines("a", 0.70, 0.71, 0.72) + lines("b", 0.60, 0.61, 0.62)
    assert verdict(claim, clear) == ("holds", "tweet +10.0 (3)")
    # Deviations of 10 points: the standard error of the difference is sqrt(2 * 100 / 3), 8.2.
    noisy = lines("a", 0.60, 0.70, 0.80) + lines("b", 0.50, 0.60, 0.70)
    said = ("does not hold: no clear difference", "tweet +10.0 (3, within the noise)")
    assert verdict(claim, noisy) == said
    two = clear + [r | {"dataset": "agnews"} for r in noisy]
    assert verdict(claim, two)[0] == "holds in 1 of 2 cases"
    assert verdict(claim, lines("a", 0.7)) == ("not tested", "no lines")


A, B = [0.600, 0.630, 0.640, 0.650], [0.590, 0.600, 0.605, 0.610]


@pytest.mark.parametrize(("shift", "clear"), [(0.000, False), (0.006, True)])
def test_welchs_test_decides(shift: float, clear: bool) -> None:
    moved = [x + shift for x in A]
    assert (ttest_ind(moved, B, equal_var=False).pvalue < 0.05) == clear
    assert mannwhitneyu(moved, B, method="exact").pvalue > 0.05  # the ranks overlap
    claim = faithful.Claim("a beats b", "", "a", ("b",))
    assert (verdict(claim, lines("a", *moved) + lines("b", *B))[0] == "holds") == clear


def test_a_failed_run_does_not_hide_that_all_runs_are_below() -> None:
    """Five good runs and three that failed in different degrees: p is 2 / 56 by ranks."""
    good, failed = [0.88, 0.89, 0.89, 0.90, 0.885], [0.10, 0.75, 0.45]
    assert ttest_ind(good, failed, equal_var=False).pvalue > 0.05
    claim = faithful.Claim("a beats b", "", "a", ("b",))
    assert verdict(claim, lines("a", *good) + lines("b", *failed))[0] == "holds"


def test_the_opposite_is_told_from_no_difference() -> None:
    claim = faithful.Claim("a beats b", "", "a", ("b",))
    worse = lines("a", 0.60, 0.61, 0.62) + lines("b", 0.70, 0.71, 0.72)
    assert verdict(claim, worse)[0] == "does not hold: the opposite"
    equal = [r | {"dataset": "agnews"} for r in lines("a", 0.5, 0.6, 0.7)]
    equal += [r | {"label": "b"} for r in equal]
    assert verdict(claim, worse + equal)[0] == "does not hold: the opposite in 1 of 2 cases"
    better = [r | {"dataset": "biomedical"} for r in lines("a", 0.9) + lines("b", 0.5)]
    said = verdict(claim, worse + equal + better)[0]
    assert said == "holds in 1 of 3 cases, the opposite in 1"


@pytest.mark.parametrize("seeds", [1, 2])
def test_one_or_two_seeds_need_two_points(seeds: int) -> None:
    claim = faithful.Claim("a beats b", "", "a", ("b",))
    few = lines("b", *[0.50, 0.501][:seeds])
    small = verdict(claim, lines("a", *[0.515, 0.516][:seeds]) + few)
    assert small[0] == "does not hold: no clear difference"
    assert verdict(claim, lines("a", *[0.525, 0.526][:seeds]) + few)[0] == "holds"
    wide = lines("a", 0.50, 0.60) + few  # 2 standard errors are 10 points
    assert verdict(claim, wide)[0] == "does not hold: no clear difference"


def test_sets_beside_the_benchmarks_count_too() -> None:
    claim = faithful.Claim("a beats b", "", "a", ("b",))
    rows = [*lines("a", 0.7, dataset="bbc-sentences"), *lines("b", 0.5, dataset="bbc-sentences")]
    assert verdict(claim, rows) == ("holds", "bbc-sentences +20.0 (1)")


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("holds", "hold"), ("holds where tested", "hold"),
        ("holds in 1 of 3 cases, the opposite in 1", "hold in part"),
        ("does not hold in 1 of 3 cases", "hold in part"),  # the claim of no difference
        ("does not hold", "do not hold"), ("does not hold: no clear difference", "do not hold"),
        ("does not hold: the opposite in 2 of 3 cases", "do not hold"),
        ("not tested", "not tested"), ("not tested: too much noise", "not tested"),
    ],
)  # fmt: skip
def test_verdicts_are_counted_by_kind(said: str, kind: str) -> None:
    assert faithful.kind_of_verdict(said) == kind


def test_the_summary_counts_claims_and_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = (
        faithful.Claim("clear", "", "a", ("b",)),
        faithful.Claim("noise", "", "a", ("c",)),
        faithful.Claim("one seed", "", "a", ("d",)),
        faithful.Claim("no lines", "", "a", ("e",)),
    )
    paper = faithful.replace(faithful.PAPERS["sccl"], claims=claims)
    monkeypatch.setattr(faithful, "PAPERS", {"sccl": paper})
    rows = lines("a", 0.70, 0.71, 0.72) + lines("b", 0.60, 0.61, 0.62)
    rows += lines("c", 0.68, 0.71, 0.73) + lines("d", 0.60)
    table, _, told = faithful.summary_part(rows).partition("\n\n")
    assert table.splitlines()[-1] == "| SCCL | 4 | 2 | 0 | 1 | 1 |"
    assert "3 comparisons of NMI, 2 of them" in told and "1 of these are clear" in told


def test_what_was_not_compared_is_said() -> None:
    claim = faithful.Claim("a beats b and c", "", "a", ("b", "c"))
    said = verdict(claim, lines("a", 0.7) + lines("b", 0.5))
    assert said == ("holds where tested", "tweet over b +20.0 (1); not tested over c")


def test_no_difference_is_at_most_two_points() -> None:
    claim = faithful.Claim("a is like b", "", "a", ("b",), same=True)
    assert verdict(claim, lines("a", 0.51) + lines("b", 0.50))[0] == "holds"
    assert verdict(claim, lines("a", 0.50) + lines("b", 0.53))[0] == "does not hold"


def test_noise_does_not_show_that_something_matters_little() -> None:
    claim = faithful.Claim("a is like b", "", "a", ("b",), same=True)
    wide = lines("a", 0.4, 0.6) + lines("b", 0.55)
    assert verdict(claim, wide)[0] == "not tested: too much noise"
    both = wide + [r | {"dataset": "agnews"} for r in lines("a", 0.9) + lines("b", 0.5)]
    assert verdict(claim, both)[0] == "does not hold in 1 of 2 cases"


def test_a_single_run_spreads_as_the_runs_beside_it_do() -> None:
    """Deviation 7.07, so two standard errors of a single run less a mean of two are 17.3."""
    claim = faithful.Claim("a beats b", "", "a", ("b",))
    two = lines("a", 0.65, 0.75)
    assert verdict(claim, two + lines("b", 0.53))[0] == "does not hold: no clear difference"
    assert verdict(claim, two + lines("b", 0.52))[0] == "holds"


def test_equal_settings_of_the_sweeps_of_aecl_are_runs_of_one_thing() -> None:
    weights = {
        "contrast_weight=10": {},
        "label_weight=5": {},
        "contrast_weight=0": {"contrast_weight": 0.0},
    }
    rows = [
        row | {"method": "aecl", "parameters": parameters}
        for nmi, (label, parameters) in zip((0.7, 0.8, 0.9), weights.items(), strict=True)
        for row in lines(label, nmi)
    ]
    claim = faithful.Claim("", "", "contrast_weight=10", ("contrast_weight=0",))
    assert verdict(claim, rows)[1] == "tweet -15.0 (2/1, within the noise)"


def test_the_start_is_that_of_the_same_runs() -> None:
    claim = faithful.Claim("training helps", "", "a", ("start",))
    assert verdict(claim, lines("a", 0.60, 0.61)) == ("holds", "tweet +10.5 (2)")


def test_what_a_table_of_the_paper_has_and_no_line_shows() -> None:
    paper = faithful.PAPERS["aecl"]
    table = faithful.Shown("Table 4", ("no stage 1", "no stage 2"))
    tweet = lines("no stage 1", 0.5) + lines("no stage 2", 0.5)
    told = faithful.lacking(table, paper, faithful.measured(tweet))
    assert told == "; not run on searchsnippets, stackoverflow"
    both = tweet + lines("no stage 1", 0.5, dataset="stackoverflow")
    told = faithful.lacking(table, paper, faithful.measured(both))
    assert told == "; not run on searchsnippets; stackoverflow without no stage 2"
    one = lines("no stage 1", 0.5, dataset="stackoverflow")
    told = faithful.lacking(table, paper, faithful.measured(one))
    assert told == "; not run: no stage 2; not run on searchsnippets"


@pytest.mark.parametrize(
    ("rule", "values", "least", "held"),
    [
        ("below", [0.9, 0.05], 0.1, True), ("below", [0.9, 0.2], 0.1, False),
        ("falls", [2, 3, 1], 0, True), ("rises", [2, 3, 1], 0, False),
        ("never falls", [1, 2, 2], 0, True), ("never falls", [1, 3, 2], 0, False),
        ("above", [1, 6], 0.5, True), ("above", [1, 5.2], 0.5, False),
        ("close", [1, 5.2], 0.5, True), ("close", [1, 6], 0.5, False),
    ],
)  # fmt: skip
def test_curves_are_read_from_the_numbers_of_a_figure(
    rule: str, values: list[float], least: float, held: bool, tmp_path: Path
) -> None:
    series = {"a": [[i, v] for i, v in enumerate(values)], "b": [[0, 1.0], [1, 5.0]]}
    picture = {"title": "A \u2013 tweet, seed 0", "panels": [{"series": series}]}
    (tmp_path / "f.json").write_text(json.dumps(picture), "utf-8")
    verdict, told = faithful.read_curve(faithful.Curve("f", 0, "a", rule, "b", least), tmp_path)
    assert verdict == ("holds" if held else "does not hold") and told.endswith("tweet, seed 0")
    assert faithful.read_curve(faithful.Curve("g", 0, "a", rule), tmp_path)[0] == "not tested"


@pytest.mark.parametrize(("deviation", "held"), [(0.05, True), (0.5, False)])
def test_curves_of_several_seeds_differ_where_the_t_test_says_so(
    deviation: float, held: bool, tmp_path: Path
) -> None:
    """Means 6 and 5: with deviations of 0.5 and three seeds p is 0.07."""
    assert (ttest_ind_from_stats(6, deviation, 3, 5, deviation, 3).pvalue < 0.05) == held
    series = {"a": [[0, 1.0, 0.1], [1, 6.0, deviation]], "b": [[0, 1.0, 0.1], [1, 5.0, deviation]]}
    picture = {
        "title": "A \u2013 tweet, 2,472 texts, seeds 0, 1, 2",
        "panels": [{"series": series}],
    }
    (tmp_path / "f.json").write_text(json.dumps(picture), "utf-8")
    said, told = faithful.read_curve(faithful.Curve("f", 0, "a", "above", "b"), tmp_path)
    assert said == ("holds" if held else "does not hold")
    assert ("within the noise" in told) != held


def test_the_start_of_some_runs_can_be_compared_with_others() -> None:
    rows = [*lines("a", 0.9, 0.9, 0.9), *lines("b", 0.39, 0.4, 0.41)]  # all runs start at 0.5
    claim = faithful.Claim("", "", "start of a", ("b",))
    assert verdict(claim, rows) == ("holds", "tweet +10.0 (3)")


def test_claims_about_tables_and_maps_are_read_from_the_figure(tmp_path: Path) -> None:
    def said(name: str, picture: dict) -> tuple[str, str]:
        (tmp_path / f"{name}.json").write_text(json.dumps(picture), "utf-8")
        (look,) = [c.look for p in PAPERS for c in p.claims if c.look and c.look.figure == name]
        return faithful.read_look(look, tmp_path)

    for ours, held in ((0.13, "holds"), (0.11, "does not hold")):
        subtitle = f"before training 0.062, SCCL 0.122, DECCRL {ours}"
        assert said("deccrl-map", {"title": "M \u2013 so", "subtitle": subtitle})[0] == held
    table = {"title": "T", "panels": [{"rows": [["0", "osx, mac", "excel, cell"]]}]}
    assert said("deccrl-words", table)[0] == "does not hold"
    table["panels"][0]["rows"].append(["1", "sql, oracle"])
    assert said("deccrl-words", table)[0] == "holds"
    moved = [["one class", "9", "0.1", "0.4"], ["two classes", "9", "0.0", "0.1"]]
    assert said("cluster-bert-pairs", {"title": "P", "panels": [{"rows": moved}]})[0] != "holds"
    moved[1][3] = "-0.1"
    assert said("cluster-bert-pairs", {"title": "P", "panels": [{"rows": moved}]})[0] == "holds"
    counts = {"contextual": [0, 1], "contextual + CharSwap": [1, 1]}
    panel = {"kind": "histogram", "edges": [0.0, 0.5, 1.0], "series": counts}
    found = said("sccl-views", {"title": "V", "panels": [panel]})
    assert found[0] == "holds" and "0.50, with substitution alone 0.75" in found[1]
    assert faithful.read_look(faithful.Look("none", dict), tmp_path)[0] == "not tested"


def test_curves_of_several_seeds_tell_their_deviation(tmp_path: Path) -> None:
    panel = {"series": {"a": [[0, 2.0, 0.05], [1, 1.0, 0.02]]}}
    picture = {"title": "A \u2013 tweet, seeds 0, 1", "panels": [panel]}
    (tmp_path / "f.json").write_text(json.dumps(picture), "utf-8")
    found = faithful.read_curve(faithful.Curve("f", 0, "a", "falls"), tmp_path)
    where = "[figure](figures.md), tweet, seeds 0, 1"
    assert found == ("holds", f"from 2 \u00b1 0.05 to 1 \u00b1 0.02; {where}")
    assert faithful.read_curve(faithful.Curve("f", 1, "a", "falls"), tmp_path)[0] == "not tested"


@pytest.mark.parametrize(("own", "told"), [(2, "-10.0 (5/3)"), (3, "-20.0 (3)")])
def test_few_lines_under_the_label_of_an_ablation_do_not_replace_the_system(
    own: int, told: str
) -> None:
    rows = lines("SCCL", *[0.50, 0.51, 0.52][:own]) + lines("clusters only", 0.70, 0.71, 0.72)
    rows += lines("SCCL, default", 0.59, 0.60, 0.61, 0.62, 0.63)
    claim = faithful.Claim("", "", "SCCL", ("clusters only",))
    assert verdict(claim, rows)[1] == f"tweet {told}"


def staged(dataset: str, seed: int, *values: float) -> dict:
    stages = [{"stage": n, "nmi": v} for n, v in zip(("start", "adapt"), values, strict=True)]
    return line("ClusterBERT", seed, 0.5, dataset) | {"stages": stages}


def test_stages_are_compared_by_the_mean_over_seeds() -> None:
    rows = [staged("tweet", 0, 0.50, 0.53), staged("tweet", 1, 0.50, 0.51),
            staged("agnews", 0, 0.50, 0.48)]  # fmt: skip
    claim = faithful.Claim("", "", step=faithful.Step("ClusterBERT", "nmi", "start", "adapt", 1.0))
    told = "agnews -2 (1); tweet +2 (2)"
    assert verdict(claim, rows) == ("holds in 1 of 2 cases, the opposite in 1", told)
    assert verdict(claim, rows[:2])[0] == "holds"
    assert verdict(faithful.replace(claim, note="mind"), rows)[1] == f"{told}; mind"
    still = faithful.replace(claim, same=True)
    assert verdict(still, rows)[0] == "does not hold in 2 of 2 cases"
    assert verdict(still, [staged("tweet", 0, 0.50, 0.505)])[0] == "holds"
    assert verdict(claim, lines("ClusterBERT", 0.5)) == ("not tested", "no lines")


def test_stages_that_differ_from_seed_to_seed_are_noise() -> None:
    claim = faithful.Claim("", "", step=faithful.Step("ClusterBERT", "nmi", "start", "adapt", 1.0))
    wide = [staged("tweet", seed, 0.50, end) for seed, end in enumerate((0.49, 0.52, 0.60))]
    said = ("does not hold: no clear difference", "tweet +3.7 (3, within the noise)")
    assert verdict(claim, wide) == said
    close = [staged("tweet", seed, 0.50, end) for seed, end in enumerate((0.53, 0.54, 0.55))]
    assert verdict(claim, close) == ("holds", "tweet +4 (3)")


def test_what_to_mind_about_the_lines_of_a_claim_is_said() -> None:
    claim = faithful.Claim("a beats b", "", "a", ("b",), note="mind this")
    assert verdict(claim, lines("a", 0.7) + lines("b", 0.5))[1] == "tweet +20.0 (1); mind this"


def test_presets_of_papers_name_encoder_and_views() -> None:
    for method in ("sccl", "aecl", "deccrl", "rstc"):
        model = METHODS[method].make(2, "paper")
        assert model.encoder == DISTILBERT and model.views != "virtual"
    assert METHODS["cluster-bert"].make(2, "paper").encoder == "roberta-base"


def test_the_command_says_which_encoder_to_fetch(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    file = tmp_path / "t.csv"
    file.write_text("text\nred apple\ngreen apple\nfast car\nslow car\n")
    asked = ["cluster", str(file), "-k", "2", "-m", "sccl", "--preset", "paper"]
    result = CliRunner().invoke(app, [*asked, "--out", str(tmp_path / "out")])
    assert result.exit_code != 0 and f"--encoder hub:{DISTILBERT}" in result.output


def test_suites_use_one_encoder_where_presets_name_that_of_a_paper() -> None:
    data = load_data("sample", None)
    for encoder, wanted in ((None, "all-MiniLM-L6-v2"), ("tfidf", "tfidf")):
        entry = Entry("ClusterBERT", "cluster-bert", preset="paper")
        model = make(entry, data, 0, Options(encoder=encoder))
        assert (model.encoder, model.pooling, model.batch_size) == (wanted, "auto", 8)


def test_a_preset_s_pooling_is_for_encoders_that_have_none_of_their_own(tmp_path: Path) -> None:
    data = load_data("sample", None)
    (tmp_path / "roberta-base").mkdir()
    (tmp_path / "roberta-base" / "config.json").write_text("{}")
    entry = Entry("ClusterBERT", "cluster-bert", preset="paper")
    alone = make(entry, data, 0, Options(encoder=str(tmp_path / "roberta-base")))
    assert alone.pooling == "cls"
    (tmp_path / "roberta-base" / "modules.json").write_text("[]")
    whole = make(entry, data, 0, Options(encoder=str(tmp_path / "roberta-base")))
    assert whole.pooling == "auto"
    asked = make(entry, data, 0, Options(parameters={"pooling": "mean"}))
    assert asked.pooling == "mean"
    printed = SUITES["cluster-bert-printed"].entries[0]
    model = make(printed, data, 0, Options())
    assert (model.encoder, model.pooling, model.batch_size) == ("roberta-base", "cls", 8)


def test_runs_without_a_line_are_counted_by_data_set() -> None:
    table = faithful.missing_part(lines("SCCL, paper preset", 0.5, 0.5), Path("nowhere"))
    # On Tweet: SCCL and RSTC in three settings, AECL in two, ClusterBERT in one; three seeds each.
    assert "`coterie-bench presets`" in table and "tweet 16 of 18" in table
    whole = faithful.missing_part(lines("SCCL, default", *[0.5] * 3), Path("nowhere"))
    assert "tweet 9 of 12" in whole  # the whole system stands in for its entry


def test_runs_on_other_wordings_count_for_the_suite_that_has_them(tmp_path: Path) -> None:
    before = faithful.missing_part([], tmp_path)
    assert "stackoverflow 24 of 24" in before  # four terms, three strengths, swapped letters
    row = line("SCCL, contextual 20%", 1, 0.5, "stackoverflow")
    (tmp_path / "sccl-views.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    assert "stackoverflow 23 of 24" in faithful.missing_part([], tmp_path)


def test_what_was_not_run_has_a_reason() -> None:
    for row in faithful.missing_part([]).splitlines()[2:]:
        assert row.split(" | ")[-1].strip(" |"), row


def test_suites_of_cluster_bert_have_the_sets_of_its_tables() -> None:
    printed = {
        r.dataset for r in load_reported() if (r.paper, r.table) == ("ClusterBERT", "Table 2")
    }
    for name in ("cluster-bert", "cluster-bert-printed", "cluster-bert-ablations", "second-steps"):
        assert set(SUITES[name].datasets) == printed, name


def test_idec_as_a_second_step_has_no_guard() -> None:
    """Lines of a second step hold one score: that of what IDEC made, not of its start."""
    steps = [entry for entry in SUITES["second-steps"].entries if "IDEC" in entry.label]
    assert len(steps) == 4
    for entry in steps:
        assert not make(entry, load_data("sample", None), 0, Options(encoder="tfidf")).guard


def test_the_suite_of_presets_runs_them_as_they_are() -> None:
    for entry in SUITES["presets"].entries:
        assert entry.preset in METHODS[entry.method].cls.presets
        assert not entry.parameters


def test_one_choice_of_the_code_at_a_time_leads_from_the_print_to_the_code() -> None:
    first, *changed, last = SUITES["aecl-printed"].entries
    printed, official = (METHODS["aecl"].make(2, e.preset).get_params() for e in (first, last))
    differs = {k: v for k, v in official.items() if printed[k] != v}
    told: dict = {}
    for entry in changed:
        assert not told.keys() & entry.parameters.keys()
        told |= entry.parameters
    assert told == differs and (first.preset, last.preset) == ("paper", "official-code")


def test_lines_of_the_authors_code_are_scores_in_percent() -> None:
    file = Path(__file__).parents[2] / "results" / "authors.jsonl"
    rows = [json.loads(text) for text in file.read_text("utf-8").splitlines()]
    assert {row["method"] for row in rows} == set(faithful.BESIDE)
    assert all(1 < row["acc"] < 100 and 1 < row["nmi"] < 100 for row in rows)
    table = faithful.authors_part([])
    assert table.count("\n| ") == len(rows) + 1 and "not run" in table


def test_the_ratio_of_gradients_is_shown_beside_the_weight() -> None:
    rows = lines("without CRL", 0.5) + lines("topic_weight=0.1", 0.6)
    rows = [row | {"method": "deccrl"} for row in rows]
    rows[1]["terms"] = {"joint": {"words": 3.0, "~ratio": 0.25}}
    assert faithful.weights_part(rows).splitlines()[-2:] == [
        "| 0 | 50.0 / 50.0 (1) |  |",
        "| 0.1 | 60.0 / 60.0 (1) | 0.25 |",
    ]
