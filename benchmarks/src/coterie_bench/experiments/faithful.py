"""How faithful the five papers are followed: tables of faithful.md, checked where they can be.

Values of presets are compared with the numbers that the papers print, code that an equation names
has to exist, and verdicts on claims are made from result lines. ``coterie-bench fill`` puts
the tables into the page.
"""

from __future__ import annotations

import importlib
import json
import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from scipy.stats import mannwhitneyu, ttest_1samp, ttest_ind_from_stats

from coterie.methods import METHODS
from coterie_bench import ROOT
from coterie_bench.beside import load_reported
from coterie_bench.datasets import BENCHMARKS
from coterie_bench.experiments import lines
from coterie_bench.ledger import Row, key_of, read_results
from coterie_bench.suites import SUITES, SWEEPS, own_data, plan
from coterie_bench.tables import SAME, Measured, cell, fuller, measured, order_of, shown

RESULTS, PICTURES = ROOT / "results", ROOT / "results" / "pictures"
PRINTED, CORRECTED, DEVIATES, ABSENT = "as printed", "corrected", "deviates", "not there"


@dataclass(frozen=True)
class Setting:
    """A number that a paper prints, and the parameter of the preset that has to have it."""

    what: str
    printed: Any
    parameter: str
    why: str = ""  # where the preset deviates
    preset: str = "paper"


@dataclass(frozen=True)
class Part:
    """An equation or a step: how it is followed, and where in the code."""

    what: str
    status: str
    code: str = ""  # module:name
    note: str = ""


@dataclass(frozen=True)
class Shown:
    """A table or a figure of a paper, and the entries whose lines reproduce it.

    ``sets`` are the data sets that it has in the paper; of a table with printed numbers they are
    those of the numbers. ``file`` names result lines outside of the suites, ``figure`` a figure
    made by a run.
    """

    what: str
    labels: tuple[str, ...] = ()
    file: str = ""
    figure: str = ""
    note: str = ""
    sets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Curve:
    """Lines of a figure: the end of ``first`` against ``second``, or against its own beginning.

    ``rule`` says what the claim wants: "below" a number, "falls", "rises", "never falls", "above"
    the second line by more than ``least``, or as "close" to all lines of the panel as ``least``.
    """

    figure: str
    panel: int
    first: str
    rule: str
    second: str = ""
    least: float = 0.0


@dataclass(frozen=True)
class Step:
    """How an index of the lines of ``label`` changes between two stages of training.

    A mean change above ``least`` counts as a rise, one below its negative as a fall.
    """

    label: str
    index: str
    before: str
    after: str
    least: float


@dataclass(frozen=True)
class Look:
    """A claim about a figure that is no curve: ``read`` says if it holds, and by what."""

    figure: str
    read: str  # name of a function of this module


@dataclass(frozen=True)
class Claim:
    """A claim of a paper: ``better`` has a higher NMI than each of ``worse``.

    ``worse`` may be "start", the clusters before training of the same runs. With ``same`` the
    claim is that it makes no difference: at most two points. ``curve`` reads the numbers of a
    figure instead, ``step`` an index after two stages, which the claim says to rise, ``look`` what
    else a figure holds. Without any of them it is not tested, and ``note`` says why; else what to
    mind. ``better`` may begin with "start of ": the clusters before training of those runs.
    """

    what: str
    where: str
    better: str = ""
    worse: tuple[str, ...] = ()
    same: bool = False
    datasets: tuple[str, ...] = ()
    file: str = ""
    note: str = ""
    curve: Curve | None = None
    step: Step | None = None
    look: Look | None = None

    @classmethod
    def read(cls, given: dict[str, Any]) -> Claim:
        """The claim of a table in ``faithful.toml``."""
        kinds = {"curve": Curve, "step": Step, "look": Look}
        return cls(**{k: kinds[k](**v) if k in kinds else v for k, v in _tuples(given).items()})


@dataclass(frozen=True)
class Paper:
    """All there is to say about one paper."""

    name: str
    method: str
    settings: tuple[Setting, ...]
    parts: tuple[Part, ...]
    shown: tuple[Shown, ...]
    claims: tuple[Claim, ...]
    presets: tuple[str, ...] = field(default=("paper",))


def farther_than_sccl(picture: Any) -> tuple[bool, str]:
    """Silhouette of the true classes, from the subtitle of the map."""
    values = re.findall(r"\b(SCCL|DECCRL) (-?[\d.]+\d)", picture["subtitle"])
    found = {name: float(value) for name, value in values}
    told = f"silhouette of the classes {found['DECCRL']}, of SCCL {found['SCCL']}"
    return found["DECCRL"] > found["SCCL"], told


def names_are_words(picture: Any) -> tuple[bool, str]:
    """The three names of classes that the paper shows, among the words of topics."""
    table = " ".join(" ".join(row[1:]) for row in picture["panels"][0]["rows"])
    words = set(re.findall(r"[^\s,]+", table))
    names = ("osx", "excel", "oracle")
    found = [name for name in names if name in words]
    return len(found) == len(names), f"{', '.join(found) or 'none'} of {', '.join(names)}"


def pairs_move(picture: Any) -> tuple[bool, str]:
    """Mean cosine of pairs before and after training, of one class and of two."""
    rows = {row[0]: row for row in picture["panels"][0]["rows"]}
    one, two = ([float(x) for x in rows[name][2:4]] for name in ("one class", "two classes"))
    told = f"mean cosine of one class from {one[0]} to {one[1]}, of two from {two[0]} to {two[1]}"
    return one[1] > one[0] and two[1] < two[0], told


def cosines_fall(picture: Any) -> tuple[bool, str]:
    """Mean cosine of StackOverflow's texts and their wordings, from the first histogram."""
    panel = next(p for p in picture["panels"] if p["kind"] == "histogram")
    middles = [(a + b) / 2 for a, b in pairwise(panel["edges"])]
    means = {}
    for label, counts in panel["series"].items():
        means[label] = sum(x * n for x, n in zip(middles, counts, strict=True)) / sum(counts)
    plain, both = (means[label] for label in ("contextual", "contextual + CharSwap"))
    return both < plain, f"mean cosine {both:.2f}, with substitution alone {plain:.2f}"


START = "start of "  # before a label: its clusters before training
LITTLE = 2.0  # points of NMI that count as no difference, with few seeds or if that is the claim


def _tuples(given: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(v) if isinstance(v, list) else v for key, v in given.items()}


def _paper(given: dict[str, Any]) -> Paper:
    kinds = {"settings": Setting, "parts": Part, "shown": Shown}
    plain = {key: [_tuples(one) for one in given.pop(key)] for key in kinds}
    lists = {key: tuple(kind(**one) for one in plain[key]) for key, kind in kinds.items()}
    claims = tuple(Claim.read(one) for one in given.pop("claims"))
    return Paper(**given, **lists, claims=claims)


PAPERS = {one["method"]: _paper(one) for one in own_data("faithful.toml")["papers"]}
SWEPT = {label for values in SWEEPS["aecl"].values() for label in values}
MANY = 3  # more entries than this are counted, not named
FEW = 3  # fewer seeds than this say little about the spread: no test


def settings_table(paper: Paper) -> str:
    """What the paper prints beside what the preset has."""
    body = []
    for s in paper.settings:
        model = METHODS[paper.method].make(2, s.preset)
        ours = model.get_params(deep=False)[s.parameter]
        same = ours == s.printed or (isinstance(ours, (list, tuple)) and [*ours] == [*s.printed])
        status = PRINTED if same else DEVIATES
        body.append(
            [
                s.what,
                str(s.printed),
                f"`{s.parameter}={ours}`, preset `{s.preset}`",
                f"{status}: {s.why}" if s.why else status,
            ]
        )
    return lines.table(["printed", "value", "here", ""], body)


def parts_table(paper: Paper) -> str:
    """Equations and steps."""
    body = []
    for part in paper.parts:
        where = f"`{part.code.removeprefix('coterie.').replace(':', '.')}`" if part.code else ""
        body.append([part.what, part.status, part.note, where])
    return lines.table(["equation or step", "", "why, or what else", "in the code"], body)


def find(code: str) -> Any:
    """The object that ``module:name`` names."""
    module, _, name = code.partition(":")
    return getattr(importlib.import_module(module), name)


def shown_table(paper: Paper, rows: Sequence[Row]) -> str:
    """Tables and figures, with the data sets and seeds of their lines."""
    body = []
    for item in paper.shown:
        found = lines_of(item.labels, paper, rows, item.file)
        if item.figure:
            file = PICTURES / f"{item.figure}.json"
            made = json.loads(file.read_text("utf-8")) if file.exists() else None
            status = f"run: [`{item.figure}`](figures.md), {where_of(made)}" if made else "not run"
        elif found:
            seeds = {d: [len(m.rows) for m in found if m.dataset == d] for d in sets_of(found)}
            status = "run: " + ", ".join(
                f"{d} ({min(n)}{f' to {max(n)}' * (max(n) > min(n))} seeds)"
                for d, n in seeds.items()
            )
            status = status.replace("(1 seeds)", "(1 seed)") + lacking(item, paper, found)
        else:
            status = "" if item.note.startswith(("not run", "nothing")) else "not run"
        body.append([item.what, "; ".join(part for part in (status, item.note) if part)])
    return lines.table(["table or figure", ""], body)


def where_of(picture: Any) -> str:
    """On what a figure was made: by its title, or where it is made from lines, by its curves."""
    _, told, where = picture["title"].rpartition(" \u2013 ")
    if told:
        return str(where)
    return f"{', '.join(picture['panels'][0]['series'])}; {picture['subtitle']}"


def lacking(item: Shown, paper: Paper, found: Sequence[Measured]) -> str:
    """What the paper's table or figure has and the lines have not: entries, data sets, both."""
    there = {(m.shown, m.dataset) for m in found}
    never = [n for n in item.labels if not any(n == label for label, _ in there)]
    kept = [n for n in item.labels if n not in never]
    wanted = item.sets or tuple(
        dict.fromkeys(
            r.dataset
            for r in load_reported()
            if (r.paper, r.table) == (paper.name, item.what.split(",")[0])
        )
    )
    told = [f"not run: {', '.join(never)}"] if never else []
    none, some = [], []
    for dataset in wanted:
        lost = [n for n in kept if (n, dataset) not in there]
        if len(lost) == len(kept):
            none.append(dataset)
        elif len(lost) > MANY:
            some.append(f"{dataset} without {len(lost)} of {len(kept)} entries")
        elif lost:
            some.append(f"{dataset} without {', '.join(lost)}")
    told += [f"not run on {', '.join(none)}"] if none else []
    return "".join(f"; {part}" for part in (*told, *some))


def lines_of(
    labels: Sequence[str], paper: Paper, rows: Sequence[Row], file: str = ""
) -> list[Measured]:
    """What was measured under these labels; lines outside of the suites from their own file."""
    if file:
        path = RESULTS / f"{file}.jsonl"
        own = read_results([path]) if path.exists() else []
        rows = list({key_of(row): row for row in own}.values())
    return measured(row for row in rows if shown(row) in labels)


def sets_of(found: Sequence[Measured]) -> list[str]:
    """Data sets, benchmarks first."""
    names = {m.dataset for m in found}
    return [*(d for d in BENCHMARKS if d in names), *sorted(names - set(BENCHMARKS))]


def claims_table(paper: Paper, rows: Sequence[Row]) -> str:
    """Claims with a verdict and the differences that it comes from."""
    body = []
    for claim in paper.claims:
        verdict, evidence = judge(claim, paper, rows)
        body.append([f"{claim.what} ({claim.where})", verdict, evidence])
    return lines.table(["claim", "verdict", "points of NMI (seeds)"], body)


def judge(claim: Claim, paper: Paper, rows: Sequence[Row]) -> tuple[str, str]:
    """Verdict on a claim, and the differences in words."""
    if claim.curve is not None:
        return read_curve(claim.curve)
    if claim.look is not None:
        return read_look(claim.look)
    if claim.step is not None:
        verdict, told = read_stages(claim.step, rows, same=claim.same)
        return verdict, f"{told}; {claim.note}" if claim.note else told
    if not claim.better:
        return "not tested", claim.note
    return compare(claim, paper, rows)


def differences(
    claim: Claim, paper: Paper, rows: Sequence[Row]
) -> list[tuple[str, str, Difference]]:
    """What a claim compares: data set, the other entry, difference; benchmarks first."""
    found = {(m.shown, m.dataset): m for m in lines_of_claim(claim, paper, rows)}
    better, before = claim.better.removeprefix(START), claim.better.startswith(START)
    seen: list[tuple[str, str, Difference]] = []
    for dataset in sets_of(list(found.values())):
        first = of_label(found, better, dataset)
        if first is None or (claim.datasets and dataset not in claim.datasets):
            continue
        first = at_start(first) if before else first
        for worse in claim.worse:
            if worse == "start":
                seen.append((dataset, worse, from_start(first)))
            elif (second := of_label(found, worse, dataset)) is not None:
                seen.append((dataset, worse, between(first, second)))
    return seen


def compare(claim: Claim, paper: Paper, rows: Sequence[Row]) -> tuple[str, str]:
    """Verdict by the lines of the entries that a claim names."""
    seen = differences(claim, paper, rows)
    if not seen:
        return "not tested", "no lines"
    several = len(claim.worse) > 1
    told = [f"{dataset}{f' over {worse}' * several} {d}" for dataset, worse, d in seen]
    if claim.same:
        verdict = little([d for _, _, d in seen])
    else:
        signs = [d.sign for _, _, d in seen]
        verdict = in_words(signs.count(1), signs.count(-1), len(signs))
    lost = [name for name in claim.worse if name not in {worse for _, worse, _ in seen}]
    told += [f"not tested over {', '.join(lost)}"] if lost else []
    told += [claim.note] if claim.note else []
    return verdict + (" where tested" if lost else ""), "; ".join(told)


def in_words(held: int, opposite: int, cases: int) -> str:
    """A verdict; what is no difference is told from what is the opposite."""
    if held == cases:
        return "holds"
    if held:
        verdict = f"holds in {held} of {cases} cases"
        return verdict + (f", the opposite in {opposite}" if opposite else "")
    if not opposite:
        return "does not hold: no clear difference"
    return "does not hold: the opposite" + (
        f" in {opposite} of {cases} cases" if opposite < cases else ""
    )


def little(differences: Sequence[Difference]) -> str:
    """The verdict on the claim that something matters little, which noise cannot support."""
    if all(abs(d.value) <= LITTLE for d in differences):
        return "holds"
    large = sum(d.clear and abs(d.value) > LITTLE for d in differences)
    if not large:
        return "not tested: too much noise"
    cases = f" in {large} of {len(differences)} cases" if large < len(differences) else ""
    return f"does not hold{cases}"


def read_curve(curve: Curve, folder: Path = PICTURES) -> tuple[str, str]:
    """Verdict by the numbers of a figure, which is of one run unless its title says otherwise."""
    file = folder / f"{curve.figure}.json"
    if not file.exists():
        return "not tested", "no figure"
    picture = json.loads(file.read_text("utf-8"))
    if len(picture["panels"]) <= curve.panel:
        return "not tested", "no panel in the figure"
    series = picture["panels"][curve.panel]["series"]
    points = series[curve.first]
    values = [point[1] for point in points]
    begin, end = values[0], values[-1]
    told = f"from {with_deviation(points[0])} to {with_deviation(points[-1])}"
    sides = (points[-1], points[0])
    if curve.rule == "below":
        held = end < curve.least
    elif curve.rule in ("falls", "rises"):
        held = end < begin if curve.rule == "falls" else end > begin
    elif curve.rule == "never falls":
        held = all(a <= b for a, b in pairwise(values))
    elif curve.rule == "above":
        sides = (points[-1], series[curve.second][-1])
        held = end > sides[1][1] + curve.least
        told = f"{with_deviation(points[-1])} at the end, {with_deviation(sides[1])} "
        told += curve.second if curve.second.startswith("without") else f"with {curve.second}"
    else:
        ends = [own[-1] for own in series.values()]
        held = max(e[1] for e in ends) - min(e[1] for e in ends) <= curve.least
        told = f"at the end {', '.join(map(with_deviation, ends))}"
    compares = curve.rule in ("falls", "rises", "above")
    noisy = compares and not differ(*sides, seeds=seeds_of(picture))
    told += ", within the noise" if noisy else ""
    held = held and not noisy
    where = picture["title"].split(" \u2013 ")[-1]
    sets = where.split("; ")  # of a figure with a panel for each data set
    where = sets[curve.panel] if len(sets) > 1 else where
    return ("holds" if held else "does not hold"), f"{told}; [figure](figures.md), {where}"


def differ(one: Sequence[float], other: Sequence[float], *, seeds: int) -> bool:
    """Whether two points differ by more than the noise, where they have a deviation over seeds."""
    if len(one) < 3 or one[2] + other[2] == 0:
        return True
    n = max(2, seeds)
    test = ttest_ind_from_stats(one[1], one[2], n, other[1], other[2], n, equal_var=False)
    return float(test.pvalue) < 0.05


def seeds_of(picture: Any) -> int:
    """How many seeds the title of a figure names."""
    return len(re.findall(r"\d+", picture["title"].rpartition("seed")[2]))


def read_look(look: Look, folder: Path = PICTURES) -> tuple[str, str]:
    """Verdict by what a table or the subtitle of a figure holds."""
    file = folder / f"{look.figure}.json"
    if not file.exists():
        return "not tested", "no figure"
    picture = json.loads(file.read_text("utf-8"))
    held, told = globals()[look.read](picture)
    where = picture["title"].split(" \u2013 ")[-1]
    return ("holds" if held else "does not hold"), f"{told}; [figure](figures.md), {where}"


def read_stages(step: Step, rows: Sequence[Row], *, same: bool) -> tuple[str, str]:
    """Verdict by the indices after each stage that lines hold.

    From three seeds on a change of a set counts where the paired t-test says so.
    """
    seen = [row for row in rows if row.get("stages") and row["label"] == step.label and usual(row)]
    unit = 100 if step.index in ("nmi", "acc") else 1
    changes: dict[str, list[float]] = {}
    for row in seen:
        index = {stage["stage"]: stage[step.index] for stage in row["stages"]}
        if index.get(step.before) is not None and index.get(step.after) is not None:
            change = unit * (index[step.after] - index[step.before])
            changes.setdefault(row["dataset"], []).append(change)
    if not changes:
        return "not tested", "no lines"
    told, signs = [], []
    for dataset in sorted(changes, key=order_of):
        values = changes[dataset]
        mean, n = statistics.fmean(values), len(values)
        clear = n < FEW or float(ttest_1samp(values, 0.0).pvalue) < 0.05
        signs.append((mean > step.least) - (mean < -step.least) if clear else 0)
        told.append(f"{dataset} {mean:+.2g} ({n}{'' if clear else ', within the noise'})")
    up, down, cases = signs.count(1), signs.count(-1), len(signs)
    if same:
        moved = up + down
        verdict = "holds" if not moved else f"does not hold in {moved} of {cases} cases"
    else:
        verdict = in_words(up, down, cases)
    return verdict, "; ".join(told)


def with_deviation(point: Sequence[float]) -> str:
    """The value of a point, and its deviation over seeds where there is one."""
    return f"{point[1]:.3g}" + (f" \u00b1 {point[2]:.2g}" if len(point) > 2 else "")


def of_label(found: dict[tuple[str, str], Measured], label: str, dataset: str) -> Measured | None:
    """Lines of a label; for a whole system those of its own suite may stand in.

    Each sweep of AECL has the setting of the paper under a label of its own; these are runs of one
    thing.
    """
    one, other = found.get((label, dataset)), found.get((SAME.get(label, ""), dataset))
    one = fuller(one, other) if other is not None else one
    if one is None or label not in SWEPT:
        return one
    equal = [
        m for m in found.values() if m.dataset == dataset and settings_of(m) == settings_of(one)
    ]
    return replace(one, rows=tuple(row for m in equal for row in m.rows))


def at_start(found: Measured) -> Measured:
    """The runs with the scores of their clusters before training."""
    rows = ({**row, "trained_scores": row["start_scores"]} for row in found.rows)
    return replace(found, rows=tuple(rows))


def settings_of(found: Measured) -> str:
    """What two entries with the same settings have in common."""
    return key_of({**found.rows[0], "label": "", "seed": None})


def lines_of_claim(claim: Claim, paper: Paper, rows: Sequence[Row]) -> list[Measured]:
    labels = [claim.better.removeprefix(START), *claim.worse]
    labels += [SAME[name] for name in labels if name in SAME]
    labels += SWEPT if claim.better in SWEPT else []
    return lines_of(labels, paper, rows, claim.file)


@dataclass(frozen=True)
class Difference:
    """Points of NMI; ``clear`` says whether it is more than chance."""

    value: float
    clear: bool
    seeds: tuple[int, ...]

    @property
    def sign(self) -> int:
        return (1 if self.value > 0 else -1) if self.clear else 0

    def __str__(self) -> str:
        counts = "/".join(map(str, dict.fromkeys(self.seeds)))
        mark = "" if self.clear else ", within the noise"
        return f"{self.value:+.1f} ({counts}{mark})"


def between(first: Measured, second: Measured) -> Difference:
    """Difference of two means, as training left them.

    Welch's t-test, or the rank-sum test, which no single run that failed can blur.
    """
    a, b = trained_scores(first), trained_scores(second)
    value = statistics.fmean(a) - statistics.fmean(b)
    if min(len(a), len(b)) < FEW:
        # A single run is taken to spread as the runs of the other do.
        known = [statistics.variance(x) for x in (a, b) if len(x) > 1] or [0.0]
        error = math.sqrt(statistics.fmean(known) * (1 / len(a) + 1 / len(b)))
        clear = abs(value) > max(LITTLE, 2 * error)
    else:
        facts = [f(x) for x in (a, b) for f in (statistics.fmean, statistics.stdev, len)]
        ranks = mannwhitneyu(a, b, method="exact")
        equal = facts[1] + facts[4] == 0  # no spread: Welch's test divides by it
        means = ranks if equal else ttest_ind_from_stats(*facts, equal_var=False)
        clear = min(float(means.pvalue), float(ranks.pvalue)) < 0.05
    return Difference(value, clear, (len(a), len(b)))


def from_start(trained: Measured) -> Difference:
    """Mean difference to the clusters before training of the same runs; a paired t-test."""
    starts = [100 * row["start_scores"]["nmi"] for row in trained.rows]
    values = [end - start for end, start in zip(trained_scores(trained), starts, strict=True)]
    value, n = statistics.fmean(values), len(values)
    if n < FEW:
        error = statistics.stdev(values) / math.sqrt(n) if n > 1 else 0.0
        clear = abs(value) > max(LITTLE, 2 * error)
    elif statistics.stdev(values) < 1e-9:
        clear = value != 0
    else:
        clear = float(ttest_1samp(values, 0.0).pvalue) < 0.05
    return Difference(value, clear, (n,))


def trained_scores(found: Measured) -> list[float]:
    """NMI of each run in points, before the start guard."""
    return [100 * (row.get("trained_scores") or row["scores"])["nmi"] for row in found.rows]


def paper_part(method: str, rows: Sequence[Row]) -> str:
    """All tables of a paper."""
    paper = PAPERS[method]
    return "\n\n".join(
        f"### {head}\n\n{table.strip()}"
        for head, table in (
            (f"{paper.name}: numbers", settings_table(paper)),
            (f"{paper.name}: equations and steps", parts_table(paper)),
            (f"{paper.name}: tables and figures", shown_table(paper, rows)),
            (f"{paper.name}: claims", claims_table(paper, rows)),
        )
    )


KINDS_OF_VERDICTS = ("hold", "hold in part", "do not hold", "not tested")


def kind_of_verdict(verdict: str) -> str:
    """Which column of the summary a verdict counts in.

    Examples
    --------
    >>> kind_of_verdict("holds where tested"), kind_of_verdict("holds in 2 of 3 cases")
    ('hold', 'hold in part')
    """
    if verdict.startswith("not tested"):
        return "not tested"
    if " of " in verdict and not verdict.startswith("does not hold: the opposite"):
        return "hold in part"
    return "hold" if verdict.startswith("holds") else "do not hold"


def summary_part(rows: Sequence[Row]) -> str:
    """How many claims of each paper hold, and how many comparisons the verdicts rest on."""
    body, tests = [], []
    for paper in PAPERS.values():
        kinds = [kind_of_verdict(judge(claim, paper, rows)[0]) for claim in paper.claims]
        counts = [str(kinds.count(kind)) for kind in KINDS_OF_VERDICTS]
        body.append([paper.name, str(len(kinds)), *counts])
        compared = [claim for claim in paper.claims if claim.better]
        tests += [d for claim in compared for _, _, d in differences(claim, paper, rows)]
    many = [d for d in tests if min(d.seeds) >= FEW]
    clear = sum(d.clear for d in many)
    told = (
        f"The verdicts rest on {len(tests)} comparisons of NMI, {len(many)} of them with three "
        f"seeds or more on both sides; {clear} of these are clear at 5%. Chance alone would make "
        f"about {0.05 * len(many):.0f} so, or a few more, since either of two tests counts."
    )
    head = ["paper", "claims", *KINDS_OF_VERDICTS]
    return f"{lines.table(head, body)}\n\n{told}"


BESIDE = {
    "SCCL": (
        "SCCL, official rates, 1,000 steps",
        "SCCL, official-code preset",
        "SCCL, paper preset",
    ),
    "AECL": (
        "AECL, official-code preset",
        "AECL, paper preset",
    ),
    "RSTC": ("RSTC, paper preset",),
}


def authors_part(rows: Sequence[Row], folder: Path = RESULTS) -> str:
    """The authors' own code and the presets on the same texts with the same encoder."""
    file = folder / "authors.jsonl"
    theirs = read_results([file]) if file.exists() else []
    found = {(m.label, m.dataset): m for m in measured(rows) if m.usual}
    body = []
    for row in theirs:
        ours = []
        for label in BESIDE[row["method"]]:
            m = found.get((label, row["dataset"]))
            if m is not None:
                scores = f"{m.trained('acc')} / {m.trained('nmi')} ({len(m.rows)})"
                ours.append(f"{label.split(', ', 1)[1]}: {scores}")
        score = f"{row['acc']} / {row['nmi']} (1)"
        start = [m for m in found.values() if m.dataset == row["dataset"]
                 and m.label == "encoder + k-means"]  # fmt: skip
        bare = f"{cell(start[0].rows, 'acc')} / {cell(start[0].rows, 'nmi')}" if start else ""
        body.append([row["method"], row["dataset"], bare, f"{score}, {row['note']}",
                     "<br>".join(ours) or "not run"])  # fmt: skip
    head = [
        "",
        "data set",
        "encoder + k-means",
        "authors' code, ACC / NMI",
        "here, at the end of training",
    ]
    return lines.table(head, body)


def weights_part(rows: Sequence[Row]) -> str:
    """DECCRL by the weight of the reconstruction, with the measured ratio of gradients."""
    labels = {"without CRL": "0", "DECCRL": "0.001"}
    labels |= {f"topic_weight={w}": w for w in ("0.01", "0.1", "1")}
    found = {(m.label, m.dataset): m for m in measured(rows) if m.usual and m.label in labels}
    datasets = sets_of(list(found.values()))
    body = []
    for label, weight in labels.items():
        row = [weight]
        for dataset in datasets:
            m = found.get((label, dataset))
            if m is None:
                row += ["", ""]
                continue
            ratios = [
                terms["~ratio"]
                for r in m.rows
                for terms in (r.get("terms") or {}).values()
                if "~ratio" in terms
            ]
            row.append(f"{m.trained('acc')} / {m.trained('nmi')} ({len(m.rows)})")
            row.append(f"{statistics.median(ratios):.2g}" if ratios else "")
        if any(row[1:]):
            body.append(row)
    head = ["weight", *(part for d in datasets for part in (d, "ratio"))]
    return lines.table(head, body)


# Suites of the papers, and which of their entries; None is all.
SUITES_OF_PAPERS: dict[str, str | None] = {
    "presets": None,
    "sccl": None,
    "sccl-ablations": None,
    "aecl": "AECL, default",  # its presets are in the suite of presets
    "aecl-ablations": None,
    "aecl-printed": None,
    "aecl-released": None,
    "deccrl": None,
    "deccrl-ablations": None,
    "cluster-bert": None,
    "cluster-bert-ablations": None,
    "second-steps": None,
    "adsl": None,
    "sensitivity": None,
    "papers": "NN+ADSL",
}
# Runs of the suite sccl-views with the settings of entries of `sccl-ablations`.
STRENGTHS = {
    **{f"pairs: contextual{rate}": f"SCCL, contextual {rate}%" for rate in (10, 20, 30)},
    "pairs: charswap20": "SCCL, CharSwap 20%",
}


def missing_part(rows: Sequence[Row], folder: Path = RESULTS) -> str:
    """Runs of the papers' suites that have no line yet, by data set, and why."""
    file = folder / "sccl-views.jsonl"
    views = read_results([file]) if file.exists() else []
    there = {(row["label"], row["dataset"], row["seed"]) for row in [*rows, *views] if usual(row)}
    there |= {
        (label, dataset, seed)
        for label, own in (SAME | STRENGTHS).items()
        for name, dataset, seed in there
        if name == own
    }
    body = []
    for suite, only in SUITES_OF_PAPERS.items():
        planned: dict[str, list[bool]] = {}
        for job in (job for job in plan(SUITES[suite]) if only in (None, job.entry.label)):
            run = (job.entry.label, job.dataset, job.seed)
            planned.setdefault(job.dataset, []).append(run in there)
        lost = [
            f"{dataset} {len(runs) - sum(runs)} of {len(runs)}"
            for dataset, runs in planned.items()
            if not all(runs)
        ]
        if lost:
            name = f"`coterie-bench {suite}`"
            name += f" (`--only {only}`)" if suite == "papers" else ""
            body.append([name, ", ".join(lost), WHY_NOT.get(suite, NO_TIME)])
    return lines.table(["suite", "runs without a line", "why"], body)


NO_TIME = "time on the GPU"
WHY_NOT = {
    "adsl": "R8 is not a set of the paper; time",
    "sensitivity": "28 settings of AECL on each further set, 30 to 100 s each",
    "second-steps": "time; UMAP of 20,000 texts on one core takes minutes",
}


def usual(row: Row) -> bool:
    """Whether all texts were fitted and scored, with the number of clusters given."""
    return shown(row) == row["label"]
