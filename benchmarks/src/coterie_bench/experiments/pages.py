"""The measured part of a method's page, made from result lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coterie.encoders import DEFAULT
from coterie_bench.beside import (
    PARTIAL,
    Reported,
    best_printed,
    counterpart,
    load_reported,
    with_marks,
)
from coterie_bench.datasets import BENCHMARKS
from coterie_bench.ledger import Row
from coterie_bench.suites import Suite
from coterie_bench.tables import (
    GUARDED,
    METRICS,
    SAME,
    Cell,
    Measured,
    about,
    cell,
    entries_of,
    markdown,
    measured,
    order_of,
)


def method_part(rows: Sequence[Row], methods: Sequence[str], suite: str) -> str:
    """Table of the data sets and entries of a method, with what its start and its papers have.

    Parameters
    ----------
    rows : sequence of dict
        All result lines.
    methods : sequence of str
        Registry names.
    suite : str
        What makes more lines.
    """
    found = [m for m in measured(rows) if m.method in methods and m.usual]
    found = [m for m in found if m.label not in PARTIAL and m.label not in SAME]
    if not found:
        return f"There are no result lines yet: `coterie-bench {suite} --data DIR` makes them.\n"
    labels = list(dict.fromkeys(m.label for m in found))
    datasets = sorted({m.dataset for m in found}, key=order_of)
    by = {(m.dataset, m.label): m for m in found}
    starts = {d: _start([by[d, n] for n in labels if (d, n) in by]) for d in datasets}
    trains = any(starts.values())
    header = ["data set", *["start"] * trains, *labels, "in papers, ACC / NMI"]
    body = [
        _line(d, [by.get((d, label)) for label in labels], starts[d] if trains else None, trains)
        for d in datasets
    ]
    if len(methods) > 1 or not any(line[-1] for line in body):  # whose would the number be?
        header, body = header[:-1], [line[:-1] for line in body]
    used = [row for m in found for row in m.rows]
    return f"{markdown(header, body)}\n{_notes(found)}{about(used)}\n"


def _line(
    dataset: str, entries: Sequence[Measured | None], start: tuple[Cell, ...] | None, trains: bool
) -> list[str]:
    known = [e for e in entries if e is not None]
    scores = [tuple(e.trained(m) for m in METRICS) for e in known] + ([start] if start else [])
    best = [max(s[i].mean for s in scores) for i in range(len(METRICS))]
    alone = len(scores) < 2

    def show(cells: tuple[Cell, ...], seeds: str = "") -> str:
        texts = [
            str(c) if alone or c.mean < top else f"**{c}**"
            for c, top in zip(cells, best, strict=True)
        ]
        return " / ".join(texts) + (f" ({seeds})" if seeds else "")

    line = [dataset] + ([show(start) if start else ""] if trains else [])
    for e in entries:
        line.append("" if e is None else show(tuple(e.trained(m) for m in METRICS), e.seeds))
    printed = [_printed([r for e in known[:1] for r in counterpart(e, m)]) for m in METRICS]
    return [*line, " / ".join(printed) if all(printed) else ""]


def _printed(numbers: Sequence[Reported]) -> str:
    """The first: of the method's own paper, where there is one."""
    return with_marks(numbers[0]) if numbers else ""


def _start(entries: Sequence[Measured]) -> tuple[Cell, ...] | None:
    """Mean scores of the clusters before training, of the first entry that trains."""
    for entry in entries:
        rows = [r for r in entry.rows if r["guard"] is not None and r["start_scores"] is not None]
        if rows:
            means = [cell(rows, m, "start_scores") for m in METRICS]
            return tuple(Cell(c.mean, 0.0, 1) for c in means)
    return None


def _notes(found: Sequence[Measured]) -> str:
    """What the reader should know about the runs, as sentences."""
    out = ["ACC / NMI in %, mean ± sample deviation over the seeds in brackets, K given."]
    if any(m.returned for m in found):
        out.append(GUARDED)
    encoders = {r["parameters"].get("encoder") for m in found for r in m.rows}
    if DEFAULT in encoders and any(m.dataset == "stackoverflow" for m in found):
        out.append(EASY)
    own = sorted({m.dataset for m in found if m.rows[0].get("views_source") == "own"})
    if own:
        out.append(f"Augmented texts are our own on {', '.join(own)}.")
    doubts = {d for m in found for s in METRICS for r in counterpart(m, s)[:1] for d in r.doubts}
    meanings = {
        "suspect": "? is in doubt: a slip, or another score under that name.",
        "other data": "* is from another sample of the source.",
        "chosen with labels": "† was chosen with labels.",
    }
    out += [meanings[d] for d in meanings if d in doubts]
    return " ".join(out) + " "


def ablation_part(rows: Sequence[Row], suite: Suite) -> str:
    """Table of a suite's entries beside what the paper prints, on sets where a part was changed.

    What training made is shown, not what the guard put in its place: a part that is missed shows.
    """
    labels = [entry.label for entry in suite.entries]
    methods = {entry.method for entry in suite.entries}
    found = entries_of(rows, methods, labels)
    datasets = sorted({m.dataset for m in found if m.label in PARTIAL}, key=order_of)
    if not datasets:
        return (
            f"There are no result lines yet: `coterie-bench {suite.name} --data DIR` makes them.\n"
        )
    found = [m for m in found if m.dataset in datasets]
    by = {(m.label, m.dataset): m for m in found}
    header = ["", *(h for d in datasets for h in (d, "in the paper"))]
    body = []
    for label in labels:
        line = [label]
        for d in datasets:
            m = by.get((label, d))
            ours = "" if m is None else f"{m.trained('acc')} / {m.trained('nmi')} ({len(m.rows)})"
            line += [ours, _paper(label, suite, d)]
        if any(line[1:]):
            body.append(line)
    kept = [i for i in range(len(header)) if i == 0 or any(line[i] for line in body)]
    body = [[line[i] for i in kept] for line in body]
    used = [row for m in found for row in m.rows]
    how = (
        "ACC / NMI in % as training left it, before the guard; mean ± sample deviation over the "
        "seeds in brackets. "
    )
    return f"{markdown([header[i] for i in kept], body)}\n{how}{about(used)}\n"


def _paper(label: str, suite: Suite, dataset: str) -> str:
    method = next(e.method for e in suite.entries if e.label == label)
    fits = [r for r in load_reported() if r.dataset == dataset and r.source == "own"]
    if label in PARTIAL:
        fits = [r for r in fits if r.variant == label]
    else:
        own = method.replace("-", "")
        fits = [r for r in fits if r.method == method and not r.variant]
        fits = [r for r in fits if r.paper.lower().replace("-", "") == own]
    numbers = [next((with_marks(r) for r in fits if r.metric == m), "") for m in METRICS]
    return " / ".join(numbers) if all(numbers) else ""


EASY = (
    "StackOverflow is easy for the default encoder, which was trained on titles of Stack Exchange."
)
MAIN = {
    "encoder + k-means": "encoder + k-means",
    "SCCL, official-code preset": "SCCL, released settings",
    "SCCL, default": "SCCL, 1,000 steps",
    "AECL, default": "AECL",
    "DECCRL, default": "DECCRL",
    "ClusterBERT, fast preset": "ClusterBERT",
    "RSTC, default": "RSTC",
    "NN+ADSL": "ADSL, no encoder",
    "auto": "`auto`, no training",
}
FOUND = "`auto`, K found"
LONG = ("SCCL, default",)  # not in the README: under-trained


def _found(m: Measured, metrics: Sequence[str] = METRICS) -> str:
    """Scores with the number of clusters found, and that number."""
    numbers = sorted({int(row["scores"]["n_clusters_used"]) for row in m.rows})
    said = " to ".join(map(str, dict.fromkeys([numbers[0], numbers[-1]])))
    if len(metrics) == 1:
        return f"{m.score(metrics[0]).mean:.1f} ({said})"
    return f"{' / '.join(str(m.score(metric)) for metric in metrics)} ({said})"


def _means(by: dict[tuple[str, str], Measured], bare: dict[str, Measured]) -> str:
    """What ``auto`` has more than k-means, on average over the sets, and where it leads."""
    sets = [d for d in bare if (d, "auto") in by and (d, "encoder + k-means") in by]
    if not sets:
        return ""
    plain, given = (
        [by[d, label].score("nmi").mean for d in sets] for label in ("encoder + k-means", "auto")
    )
    found = [bare[d].score("nmi").mean for d in sets]
    tops = [best_printed(d, "nmi").value for d in sets]
    mean, above = sum(plain) / len(sets), sum(map(float.__gt__, given, tops))
    return (
        "`auto` needs no training and no GPU. On average over "
        f"{len(sets)} sets its NMI differs from that of k-means by "
        f"{sum(given) / len(sets) - mean:+.1f} points if both are given the number of clusters, "
        f"and by {sum(found) / len(sets) - mean:+.1f} points if `auto` has to find the number. "
        f"Given the number, it is above every printed NMI on {above} of these sets."
    )


def _doubtful() -> str:
    """Printed numbers in doubt that are above the best one without doubt, as a sentence."""
    told = []
    for name in BENCHMARKS:
        for metric in METRICS:
            here = [r for r in load_reported() if (r.dataset, r.metric) == (name, metric)]
            top = max(here, key=lambda r: r.value)
            if top.value > best_printed(name, metric).value:
                said = top.note.split(";")[0] or ", ".join(top.doubts)
                told.append(f"{name} {metric.upper()} {top.text} ({top.printed}: {said})")
    return f"Left out as doubtful, though higher: {', '.join(told)}. " if told else ""


@dataclass(frozen=True)
class _Main:
    """Results of the main systems on the benchmarks.

    Attributes
    ----------
    by : dict
        By data set and label, with the number of clusters given.
    bare : dict
        Of ``auto`` by data set, with a number that it found.
    labels : list of str
        Systems that have results.
    """

    by: dict[tuple[str, str], Measured]
    bare: dict[str, Measured]
    labels: list[str]

    @property
    def rows(self) -> list[Row]:
        return [row for m in [*self.by.values(), *self.bare.values()] for row in m.rows]


def _main(rows: Sequence[Row]) -> _Main:
    known = [m for m in measured(rows) if m.label in MAIN and m.dataset in BENCHMARKS]
    by = {(m.dataset, m.label): m for m in known if m.usual}
    bare = {m.dataset: m for m in known if m.found and m.label == "auto"}
    return _Main(by, bare, [label for label in MAIN if any(label == other for _, other in by)])


def systems_part(rows: Sequence[Row]) -> str:
    """Table of the main systems on the benchmarks; bold is above every printed number."""
    main = _main(rows)
    body = []
    for name in BENCHMARKS:
        line = [name]
        tops = [best_printed(name, metric) for metric in METRICS]
        for label in main.labels:
            m = main.by.get((name, label))
            cells = [] if m is None else [m.trained(metric) for metric in METRICS]
            texts = [
                f"**{c}**" if c.mean > top.value else str(c)
                for c, top in zip(cells, tops[: len(cells)], strict=True)
            ]
            line.append(" / ".join(texts) + (f" ({m.seeds})" if m is not None else ""))
        line += [_found(main.bare[name]) if name in main.bare else ""] * bool(main.bare)
        body.append([*line, " / ".join(f"{with_marks(top)} ({top.printed})" for top in tops)])
    header = ["", *(MAIN[label] for label in main.labels), *[FOUND] * bool(main.bare)]
    how = (
        "ACC / NMI in % at the end of training, K given, mean ± sample deviation over the seeds in "
        "brackets; 5, 2‡: in two of the five runs the guard returned the clusters from before "
        "training instead; *K found*: the number of clusters that was found instead of given is in "
        "brackets. Bold, K given: above everything that the five papers print without doubt. "
        f"{_doubtful()}"
        f"† was chosen with labels. {EASY} SCCL has 3,000 steps at rates of 1e-5 and 1e-3 with the "
        "released settings, which other systems are to be compared with; the column of 1,000 steps "
        "at half these rates is under-trained on these sets. "
    )
    return f"{markdown([*header, 'best printed'], body)}\n{how}{about(main.rows)}\n"


def short_part(rows: Sequence[Row]) -> str:
    """The same for the README: means of NMI alone, and SCCL with its released settings alone."""
    main = _main(rows)
    labels = [label for label in main.labels if label not in LONG]
    body = []
    for name in BENCHMARKS:
        top, line = best_printed(name, "nmi"), [name]
        for label in labels:
            m = main.by.get((name, label))
            if m is None:
                line.append("")
                continue
            mean = m.trained("nmi").mean
            shown = f"**{mean:.1f}**" if mean > top.value else f"{mean:.1f}"
            line.append(shown + "‡" * (2 * m.returned >= len(m.rows)))
        if main.bare:
            line.append(_found(main.bare[name], ("nmi",)) if name in main.bare else "")
        body.append([*line, f"{with_marks(top)} ({top.printed})"])
    header = ["", *(MAIN[label] for label in labels), *[FOUND] * bool(main.bare), "best printed"]
    seeds = sorted({len(m.rows) for m in main.by.values() if m.label in labels} or {0})
    how = (
        f"NMI in % at the end of training, means over {seeds[0]} to {seeds[-1]} seeds. Bold, K "
        "given: above the best number that the five papers print without doubt. ‡: in half of the "
        "runs or more the start guard returned the clusters from before training instead. † was "
        f"chosen with labels. {EASY}\n"
    )
    return f"{markdown(header, body)}\n{how}\n{_means(main.by, main.bare)}\n"
