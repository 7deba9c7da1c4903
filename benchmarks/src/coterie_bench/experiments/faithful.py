"""Do the claims of the five papers hold? The tables of faithful.md.

Verdicts on claims are made from result lines by the rule of ``verdicts``. ``coterie-bench fill``
puts the tables into the page, and every comparison into ``results/verdicts.csv``.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from coterie_bench import ROOT
from coterie_bench.experiments import lines
from coterie_bench.ledger import Row, key_of, read_results
from coterie_bench.suites import SUITES, SWEEPS, own_data, plan
from coterie_bench.tables import METRICS, SAME, Measured, fuller, measured, order_of, shown
from coterie_bench.verdicts import (
    FAILS,
    HOLDS,
    LITTLE,
    OPEN,
    SEEDS,
    UNTESTED,
    Effect,
    Side,
    corrected,
    effect,
    in_words,
    on_sets,
    weakest,
)

RESULTS, PICTURES = ROOT / "results", ROOT / "results" / "pictures"


@dataclass(frozen=True)
class Curve:
    """Lines of a figure: the end of ``first`` less that of ``second``, or less its own beginning.

    With ``falls`` the claim is that it falls. Without ``panel`` there is a panel for each data set,
    and all are read.
    """

    figure: str
    first: str
    panel: int | None = None
    second: str = ""
    falls: bool = False


@dataclass(frozen=True)
class Step:
    """How an index of the lines of ``label`` changes between two stages of training."""

    label: str
    index: str
    before: str
    after: str


@dataclass(frozen=True)
class Claim:
    """A claim of a paper: ``better`` scores higher than each of ``worse``.

    ``worse`` may be "start", the clusters before training of the same runs. With ``same`` the
    claim is that the difference is small. ``curve`` reads the numbers of a figure instead,
    ``step`` an index after two stages, which the claim says to rise, ``cosine`` how far two kinds
    of augmentation move a text: the first less. Without any of them nothing is tested, and
    ``note`` says why. ``void`` says why the runs there are cannot decide. ``better`` may begin with
    "start of ": the clusters before training of those runs.
    """

    what: str
    where: str
    better: str = ""
    worse: tuple[str, ...] = ()
    same: bool = False
    score: str = "nmi"
    datasets: tuple[str, ...] = ()
    file: str = ""
    note: str = ""
    void: str = ""
    curve: Curve | None = None
    step: Step | None = None
    cosine: tuple[str, str] | None = None

    @classmethod
    def read(cls, given: dict[str, Any]) -> Claim:
        """The claim of a table in ``faithful.toml``."""
        kinds = {"curve": Curve, "step": Step}
        return cls(**{k: kinds[k](**v) if k in kinds else v for k, v in _tuples(given).items()})

    @property
    def margin(self) -> float:
        """How large a difference counts as none, where that is the claim."""
        return LITTLE if self.same else 0.0


@dataclass(frozen=True)
class Paper:
    """A paper and its claims."""

    name: str
    claims: tuple[Claim, ...]


START = "start of "  # before a label: its clusters before training


def _tuples(given: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(v) if isinstance(v, list) else v for key, v in given.items()}


def _paper(given: dict[str, Any]) -> Paper:
    return Paper(given["name"], tuple(map(Claim.read, given["claims"])))


PAPERS = {one["method"]: _paper(one) for one in own_data("faithful.toml")["papers"]}
SWEPT = {label for values in SWEEPS["aecl"].values() for label in values}


def lines_of(labels: Sequence[str], rows: Sequence[Row], file: str = "") -> list[Measured]:
    """What was measured under these labels; lines outside of the suites from their own file."""
    if file:
        own = read_results([RESULTS / f"{file}.jsonl"])
        rows = list({key_of(row): row for row in own}.values())
    return measured(row for row in rows if shown(row) in labels)


def sets_of(names: Sequence[str]) -> list[str]:
    """Data sets, each once, benchmarks first."""
    return sorted(dict.fromkeys(names), key=order_of)


@dataclass(frozen=True)
class Judged:
    """A claim with its comparisons, and what it names that has no lines: (data set, entry)."""

    claim: Claim
    effects: tuple[Effect, ...] = ()
    lost: tuple[tuple[str, str], ...] = ()
    void: str = ""

    @property
    def kinds(self) -> dict[str, str]:
        """Verdict of each data set; it cannot hold where an entry has no lines."""
        found = on_sets(self.effects)
        if self.void:
            return dict.fromkeys(found, UNTESTED)
        lost = {name for name, _ in self.lost if found.get(name, HOLDS) == HOLDS}
        return found | dict.fromkeys(sets_of(list(lost)), UNTESTED)

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        few = [min(e.n) for e in self.effects if e.verdict == UNTESTED]
        why = f"{min(few)} seed{'s' * (min(few) > 1)}" if few else self.claim.note or "no lines"
        open_after = {e.dataset for e in self.effects if e.verdict == HOLDS and not e.after_holm}
        kept = sum(k == HOLDS and d not in open_after for d, k in self.kinds.items())
        return in_words(self.kinds, self.void or why, kept)

    @property
    def summary(self) -> str:
        """Which column of the summary it counts in."""
        tested = [kind for kind in self.kinds.values() if kind != UNTESTED]
        if not tested:
            return UNTESTED
        if HOLDS in tested:
            return HOLDS if set(tested) == {HOLDS} else PART
        return FAILS if FAILS in tested else OPEN

    @property
    def after_holm(self) -> bool:
        """Whether it holds on every tested set, also with the corrected p."""
        known = [e for e in self.effects if e.verdict != UNTESTED]
        return self.summary == HOLDS and all(e.after_holm for e in known)

    @property
    def evidence(self) -> str:
        """The comparison that speaks most against it, or least for it, and what has no lines."""
        if not self.effects:
            return ""
        tested = [e for e in self.effects if e.verdict != UNTESTED]
        told = [say(weakest(tested or self.effects), named=len(self.claim.worse) > 1)]
        missing: dict[str, str] = {}  # sets of each label
        for name, label in self.lost:
            missing[label] = f"{missing[label]}, {name}" if label in missing else name
        for names in dict.fromkeys(missing.values()):
            lacking = [label for label, own in missing.items() if own == names]
            what = "; ".join(lacking) if len(lacking) < SEEDS else f"{len(lacking)} entries"
            told.append(f"no lines of {what} on {names}")
        return "; ".join([*told, self.claim.note] if self.claim.note else told)


PART = "hold in part"


def say(e: Effect, *, named: bool = False) -> str:
    """An effect in words: interval, replicates, p and Holm's p."""
    digits = ".1f" if e.measure in METRICS else ".2g"
    n = "/".join(map(str, dict.fromkeys(e.n))) + f" {e.unit}s" * (e.unit != "seed")
    said = f"{e.dataset}{f' over {e.second}' * named} {e.value:+{digits}}"
    if e.verdict == UNTESTED:
        return f"{said} ({n})"
    tested = "" if math.isnan(e.holm) else f" {_p(e.p)}/{_p(e.holm)}"
    return f"{said} [{e.low:{digits}}, {e.high:{digits}}] ({n}){tested}"


def _p(value: float) -> str:
    return "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def judge(paper: Paper, rows: Sequence[Row]) -> list[Judged]:
    """All claims of a paper; Holm's correction is over all its comparisons that test something."""
    found = [judge_one(claim, rows) for claim in paper.claims]
    counted = iter(corrected([j.effects for j in found if not j.void]))
    return [j if j.void else replace(j, effects=tuple(next(counted))) for j in found]


def judge_one(claim: Claim, rows: Sequence[Row]) -> Judged:
    """A claim with its comparisons, before Holm's correction."""
    if claim.curve is not None:
        return Judged(claim, tuple(of_curve(claim.curve, claim.margin / 100)), void=claim.void)
    if claim.step is not None:
        return Judged(claim, tuple(of_stages(claim, rows)), void=claim.void)
    if claim.cosine is not None:
        return Judged(claim, tuple(of_cosines(*claim.cosine, claim.datasets)), void=claim.void)
    if not claim.better:
        return Judged(claim, lost=())
    found = {(m.shown, m.dataset): m for m in lines_of_claim(claim, rows)}
    better, before = claim.better.removeprefix(START), claim.better.startswith(START)
    effects: list[Effect] = []
    lost: list[tuple[str, str]] = []
    wanted = {d for label, d in planned() if label == better
              and any(w == "start" or (w, d) in planned() for w in claim.worse)}  # fmt: skip
    for dataset in claim.datasets or sets_of([*(d for _, d in found), *wanted]):
        first = of_label(found, better, dataset)
        if first is None:
            lost += [(dataset, better)] * (bool(claim.datasets) or dataset in wanted)
            continue
        first = at_start(first) if before else first
        for worse in claim.worse:
            second = first if worse == "start" else of_label(found, worse, dataset)
            if second is None:
                if claim.datasets or (worse, dataset) in planned():
                    lost.append((dataset, worse))
            else:
                effects.append(compare(claim, first, second, worse))
    return Judged(claim, tuple(effects), tuple(lost), claim.void)


def compare(claim: Claim, first: Measured, second: Measured, worse: str) -> Effect:
    """The effect of one entry over another, or over the clusters that its runs started from."""
    ends = by_seed(first, claim.score)
    if worse == "start":
        starts = by_seed(at_start(first), claim.score)
        sides: tuple[Side, ...] = (Side.of([ends[s] - starts[s] for s in ends]),)
    else:
        sides = (Side.of([*ends.values()]), Side.of([*by_seed(second, claim.score).values()]))
    return effect(
        first.dataset, claim.better, worse, sides, measure=claim.score, margin=claim.margin
    )


def by_seed(found: Measured, score: str = "nmi") -> dict[int, float]:
    """Points of each seed at the end of training, before the guard; its repeats are averaged."""
    values: dict[int, list[float]] = {}
    for row in found.rows:
        scores = row.get("trained_scores") or row["scores"]
        values.setdefault(row["seed"], []).append(100 * scores[score])
    return {seed: statistics.fmean(own) for seed, own in values.items()}


def of_curve(curve: Curve, margin: float = 0.0, folder: Path = PICTURES) -> Iterator[Effect]:
    """What the ends of lines in a figure say; with one seed there is no deviation, and no test."""
    file = folder / f"{curve.figure}.json"
    picture = json.loads(file.read_text("utf-8")) if file.exists() else None
    panels, sets = (picture["panels"], made_on(picture)) if picture else ([], [])
    chosen = range(len(panels)) if curve.panel is None else [curve.panel]
    for number in (n for n in chosen if n < len(panels)):
        series = panels[number]["series"]
        end = series[curve.first][-1]
        other = series[curve.second][-1] if curve.second else series[curve.first][0]
        name, seeds = sets[number if len(sets) > 1 else 0]
        one, two = (Side(p[1], p[2] if len(p) > 2 else 0.0, seeds) for p in (end, other))
        sides = (two, one) if curve.falls else (one, two)
        more: dict[str, Any] = {"measure": curve.figure, "margin": margin}
        yield effect(name, curve.first, curve.second or "its beginning", sides, **more)


def made_on(picture: Any) -> list[tuple[str, int]]:
    """The data sets that the title of a figure names, and how many seeds of each."""
    where = picture["title"].rpartition(" \u2013 ")[2]
    parts = where.split("; ")
    return [
        (part.split(",")[0], len(re.findall(r"\d+", part.rpartition("seed")[2]))) for part in parts
    ]


def of_stages(claim: Claim, rows: Sequence[Row]) -> Iterator[Effect]:
    """Changes of an index between two stages, paired by seed; NMI and ACC in points."""
    step = claim.step
    assert step is not None  # the caller has looked
    unit = 100 if step.index in ("nmi", "acc") else 1
    changes: dict[str, list[float]] = {}
    for row in rows:
        if not row.get("stages") or row["label"] != step.label or not usual(row):
            continue
        index = {stage["stage"]: stage[step.index] for stage in row["stages"]}
        if index.get(step.before) is not None and index.get(step.after) is not None:
            change = unit * (index[step.after] - index[step.before])
            changes.setdefault(row["dataset"], []).append(change)
    for name in sets_of(list(changes)):
        sides = (Side.of(changes[name]),)
        more: dict[str, Any] = {"measure": step.index, "margin": claim.margin}
        yield effect(name, step.label, f"{step.before} to {step.after}", sides, **more)


def of_cosines(nearer: str, farther: str, datasets: Sequence[str]) -> Iterator[Effect]:
    """How much nearer one augmentation is to its texts than another; a text is a replicate."""
    rows = read_results([RESULTS / "view-cosines.jsonl"])
    for name in datasets:
        kinds = {row["label"]: row["cosine"] for row in rows if row["dataset"] == name}
        if nearer in kinds and farther in kinds:
            one, two = (
                Side(c["mean"], c["deviation"], sum(c["histogram"]) // 2)  # two views of each
                for c in (kinds[nearer], kinds[farther])
            )
            yield effect(name, nearer, farther, (one, two), measure="cosine", unit="text")


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


def lines_of_claim(claim: Claim, rows: Sequence[Row]) -> list[Measured]:
    """What was measured of the entries that a claim names."""
    labels = [claim.better.removeprefix(START), *claim.worse]
    labels += [SAME[name] for name in labels if name in SAME]
    labels += SWEPT if claim.better in SWEPT else []
    return lines_of(labels, rows, claim.file)


def claims_table(judged: Sequence[Judged]) -> str:
    """Claims with a verdict and what it comes from."""
    body = []
    for j in judged:
        claim = f"{j.claim.what} ({j.claim.where}{', ACC' * (j.claim.score == 'acc')})"
        body.append([claim, j.verdict, j.evidence])
    return lines.table(["claim", "verdict", "weakest effect [95% interval] (n) p/Holm"], body)


def claims_part(method: str, rows: Sequence[Row]) -> str:
    """The claims of a paper."""
    return claims_table(judge(PAPERS[method], rows))


HEADLINES = ("k-means of the encoder", "autoencoder with linkage", "beats SCCL")


def headlines_part(rows: Sequence[Row]) -> str:
    """The main claims of the papers: on which sets they hold, do not, and are open."""
    order, body = (HOLDS, FAILS, OPEN, UNTESTED), []
    for paper in PAPERS.values():
        for j in judge(paper, rows):
            if any(words in j.claim.what for words in HEADLINES):
                sets = [[d for d in sets_of(list(j.kinds)) if j.kinds[d] == k] for k in order]
                body.append([paper.name, j.claim.what, *map(", ".join, sets)])
    return lines.table(["paper", "claim", *order], body)


def verdicts_file(rows: Sequence[Row]) -> str:
    """Every comparison behind a verdict, as CSV."""
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    names = "paper claim where measure dataset first second n unit effect low high p holm verdict"
    write(names.split())
    for paper in PAPERS.values():
        for j in judge(paper, rows):
            for e in j.effects:
                numbers = (e.value, e.low, e.high, e.p, e.holm)
                write([paper.name, j.claim.what, j.claim.where, e.measure, e.dataset, e.first,
                       e.second, "/".join(map(str, e.n)), e.unit,
                       *("" if math.isnan(x) else f"{x:.4g}" for x in numbers),
                       UNTESTED if j.void else e.verdict])  # fmt: skip
    return out.getvalue()


SUMMARY = {HOLDS: "hold", PART: PART, FAILS: "do not hold", OPEN: OPEN, UNTESTED: UNTESTED}


def summary_part(rows: Sequence[Row]) -> str:
    """How many claims of each paper hold, ours aside, and how many comparisons that rests on."""
    body: list[list[str]] = []
    tests: list[Effect] = []
    for paper in PAPERS.values():
        judged = judge(paper, rows)
        own = [j for j in judged if "ours" not in j.claim.where]
        kinds = [j.summary for j in own]
        counts = [str(kinds.count(kind)) for kind in SUMMARY]
        counts.insert(1, str(sum(j.after_holm for j in own)))
        body.append([paper.name, str(len(own)), *counts])
        tests += [e for j in judged if not j.void for e in j.effects if e.verdict != UNTESTED]
    first, *others = SUMMARY.values()
    head = ["paper", "claims", first, "also after Holm", *others]
    decided = [e for e in tests if e.verdict != OPEN]
    after = sum(e.holm <= 0.05 for e in decided)
    told = (
        f"The verdicts rest on {len(tests)} comparisons ([all of them](../verdicts.csv)). "
        f"{len(decided)} are decided, {after} also after Holm's correction; of as many comparisons "
        f"without any effect about {0.05 * len(tests):.0f} would be decided by chance."
    )
    return f"{lines.table(head, body)}\n\n{told}"


# Suites whose entries the tables and figures of the papers need.
SUITES_OF_PAPERS = (
    "papers",
    "presets",
    "sccl-released",
    "sccl-losses",
    "sccl-ablations",
    "sccl-views",
    "aecl-ablations",
    "aecl-sweeps",
    "aecl-printed",
    "aecl-released",
    "deccrl-ablations",
    "cluster-bert",
    "cluster-bert-printed",
    "cluster-bert-grid",
    "cluster-bert-ablations",
    "second-steps",
    "baselines",
    "earlier",
    "adsl",
    "sensitivity",
)


@cache
def planned() -> dict[tuple[str, str], int]:
    """Seeds of each entry and data set that the suites plan."""
    runs: dict[tuple[str, str], set[int]] = {}
    for suite in SUITES_OF_PAPERS:
        for job in plan(SUITES[suite]):
            runs.setdefault((job.entry.label, job.dataset), set()).add(job.seed)
    return {key: len(seeds) for key, seeds in runs.items()}


def usual(row: Row) -> bool:
    """Whether all texts were fitted and scored, with the number of clusters given."""
    return shown(row) == row["label"]
