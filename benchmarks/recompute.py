"""Recompute numbers of the generated pages from the lines in results/, with code of its own.

    python benchmarks/recompute.py                    # 30 numbers, drawn by seed 0
    python benchmarks/recompute.py --seed 7 --count 100
    python benchmarks/recompute.py --all

Nothing of coterie_bench is imported: which lines belong to a number is decided here anew, from
the labels, and tests are those of scipy. Pages: the table of the README, the tables of methods,
that of the main systems and the gains on benchmarks.md; and every comparison in verdicts.csv with
interval, n, p and Holm's p. The exit code is 1 where a number differs by more than its last digit.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import re
import statistics
import sys
import tomllib
from pathlib import Path

from scipy import stats

ROOT = Path(__file__).resolve().parents[1]
# Lines about something else than a method on all texts of a set.
OTHER_FILES = {
    "speed", "same-labels", "smoke", "guard", "former", "sccl-views", "pass", "dev", "dev-systems",
    "lang", "stability", "steering",
}  # fmt: skip
WHOLE = {"SCCL": "SCCL, default", "AECL": "AECL, default", "DECCRL": "DECCRL, default",
         "ClusterBERT": "ClusterBERT, fast preset"}  # fmt: skip
MAIN = {
    "SCCL, 1,000 steps": "SCCL, default",
    "SCCL, released settings": "SCCL, official-code preset",
    "AECL": "AECL, default",
    "DECCRL": "DECCRL, default",
    "ClusterBERT": "ClusterBERT, fast preset",
    "RSTC": "RSTC, default",
    "ADSL, no encoder": "NN+ADSL",
    "`auto`, no training": "auto",
}


class Lines:
    """The lines of the results folder, found by label and data set."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        files = [f for f in sorted(folder.glob("*.jsonl")) if f.stem not in OTHER_FILES]
        self.rows = [row for f in files for row in self.read(f.stem)]
        self.by_label: dict[tuple[str, str], list[dict]] = {}  # file, label
        for file, rows in (("", self.rows), ("sccl-views", self.read("sccl-views"))):
            for row in rows:
                split = ", fitted on a part" * (row.get("protocol", "all") == "split")
                if row.get("k", "given") == "given" and not row.get("noise"):
                    self.by_label.setdefault((file, row["label"] + split), []).append(row)

    def read(self, name: str) -> list[dict]:
        text = (self.folder / f"{name}.jsonl").read_text("utf-8")
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        return [r for r in rows if {"label", "parameters", "scores"} <= r.keys()]

    def find(self, label: str, dataset: str, file: str = "") -> list[dict]:
        """Lines of a label on a set: the settings of its newest line, of each seed the last one."""
        rows = [r for r in self.by_label.get((file, label), []) if r["dataset"] == dataset]
        newest = max(rows, key=lambda r: r["date"], default=None)
        by_seed = {r["seed"]: r for r in rows if same_settings(r, newest)}
        return [by_seed[seed] for seed in sorted(by_seed)]

    def datasets(self, label: str, file: str = "") -> list[str]:
        return list(dict.fromkeys(r["dataset"] for r in self.by_label.get((file, label), [])))


def same_settings(one: dict, other: dict) -> bool:
    """Whether two lines agree on every parameter that both have."""
    a, b = one["parameters"], other["parameters"]
    facts = ("method", "preset", "dataset_sha256")
    return all(a[k] == b[k] for k in a.keys() & b.keys()) and all(one[k] == other[k] for k in facts)


def ends(rows: list[dict], score: str) -> list[float]:
    """Scores as training left them, in points."""
    return [100 * (r.get("trained_scores") or r["scores"])[score] for r in rows]


# Tables of scores


def marked(text: str, mark: str) -> list[str]:
    """What stands between marks of this name, of all such places."""
    return re.findall(rf"<!-- {mark}[^\n]*-->\n(.*?)<!-- end -->", text, re.S)


def cells(table: str) -> list[list[str]]:
    rows = [line.strip().strip("|").split(" | ") for line in table.splitlines() if "|" in line]
    return [[c.strip(" *") for c in row] for row in rows if not row[0].startswith(" ---")]


SCORE = re.compile(r"([\d.]+)(?: ± ([\d.]+))? / ([\d.]+)(?: ± ([\d.]+))? \((\d+)(?:, (\d+)‡)?\)")


def of_scores(page: str, text: str, lines: Lines):
    """Means, deviations, seeds and returned starts of a table: sets by labels."""
    for table in [*marked(text, "systems"), *marked(text, "measured")]:
        header, *body = cells(table) or [[]]  # a method without lines has no table
        for row in body:
            for label, shown in zip(header[1:], row[1:], strict=False):
                found = SCORE.fullmatch(shown.replace("**", ""))
                rows = lines.find(MAIN.get(label, label), row[0]) if found else []
                if not rows:
                    continue
                acc, nmi = ends(rows, "acc"), ends(rows, "nmi")
                returned = [r for r in rows if (r.get("guard") or {}).get("fired")
                            and r["parameters"].get("guard", True)]  # fmt: skip
                spread = [statistics.stdev(x) if len(x) > 1 else 0.0 for x in (acc, nmi)]
                values = (statistics.fmean(acc), spread[0], statistics.fmean(nmi), spread[1],
                          len(rows), len(returned))  # fmt: skip
                names_of = ("ACC", "deviation of ACC", "NMI", "deviation of NMI", "n", "returned")
                for what, printed, value in zip(names_of, found.groups(), values, strict=True):
                    if printed is not None:
                        yield f"{page}: {row[0]}, {label}, {what}", printed, value


def of_means(page: str, text: str, lines: Lines):
    """Means of NMI in the table of the README: sets by labels."""
    for table in marked(text, "short"):
        header, *body = cells(table)
        for row in body:
            for label, shown in zip(header[1:], row[1:], strict=True):
                found = re.fullmatch(r"([\d.]+)‡?", shown.replace("**", ""))
                rows = lines.find(MAIN.get(label, label), row[0]) if found else []
                if rows:
                    yield (f"{page}: {row[0]}, {label}, NMI", found[1],
                           statistics.fmean(ends(rows, "nmi")))  # fmt: skip


def of_gains(page: str, text: str, lines: Lines):
    """NMI of a system less that of k-means."""
    for table in marked(text, "gains"):
        header, *body = cells(table)
        for row in body:
            for dataset, shown in zip(header[1:], row[1:], strict=False):
                found = re.match(r"([+-][\d.]+)", shown)
                if found:
                    ours, bare = (ends(lines.find(label, dataset), "nmi")
                                  for label in (row[0], "encoder + k-means"))  # fmt: skip
                    value = statistics.fmean(ours) - statistics.fmean(bare)
                    yield f"{page}: {dataset}, {row[0]}, gain", found[1], value


# Claims


def replicates(lines: Lines, label: str, dataset: str, claim: dict, *, start: bool = False):
    """Score of each seed; where lines of a whole system stand under two labels, the fuller."""
    rows = lines.find(label, dataset, claim.get("file", ""))
    if label in WHOLE:
        whole = lines.find(WHOLE[label], dataset)
        if whole and len(rows) < min(3, len(whole)):
            rows = whole
    swept = re.fullmatch(r"(contrast|label|entropy|balance)_(weight|epochs)=[\d.]+", label)
    if swept and rows:  # the base of AECL's sweeps was run again in each of them
        rows = [r for r in lines.rows if r["dataset"] == dataset and r["method"] == "aecl"
                and re.fullmatch(r"[a-z]+_(weight|epochs)=[\d.]+", r["label"])
                and same_settings(r, rows[0])]  # fmt: skip
    values: dict[int, list[float]] = {}
    for r in rows:
        scores = r["start_scores"] if start else r.get("trained_scores") or r["scores"]
        values.setdefault(r["seed"], []).append(100 * scores[claim.get("score", "nmi")])
    return {seed: statistics.fmean(own) for seed, own in values.items()}


def welch(one: tuple, other: tuple, margin: float = 0) -> tuple[float, float, float, float]:
    """Difference, interval and p from mean, deviation and n of two sides."""
    (a, s, n), (b, t, m) = one, other
    v, w = s * s / n, t * t / m
    p = stats.ttest_ind_from_stats(a, s, n, b, t, m, equal_var=False).pvalue
    df = (v + w) ** 2 / (v * v / (n - 1) + w * w / (m - 1))
    if margin:
        moved = stats.t(df, loc=a - b, scale=(v + w) ** 0.5)
        p = min(1.0, 2 * max(moved.sf(margin), moved.cdf(-margin)))
    low, high = stats.t.interval(0.95, df, loc=a - b, scale=(v + w) ** 0.5)
    return a - b, low, high, p


def tested(values: list[float], other: list[float] | None, same: bool):
    """Mean, interval and p: of differences of the same runs, or of two sides.

    For the claim of at most two points p is twice the larger one of two one-sided tests.
    """

    def test(shift: float, side: str):
        if other is None:
            return stats.ttest_1samp(values, shift, alternative=side)
        moved = [x - shift for x in values]
        return stats.ttest_ind(moved, other, equal_var=False, alternative=side)

    found = test(0.0, "two-sided")
    mean = statistics.fmean(values) - (statistics.fmean(other) if other else 0.0)
    bounds = found.confidence_interval(0.95)
    ends = (test(2.0, "less").pvalue, test(-2.0, "greater").pvalue)
    return mean, *bounds, min(1.0, 2 * max(ends)) if same else found.pvalue


def compared(claim: dict, lines: Lines):
    """Every comparison of a claim: data set, the other entry, n, and the effect if it is tested."""
    if "step" in claim:
        step, changes = claim["step"], {}
        for r in lines.rows:
            if r["label"] == step["label"] and r.get("stages") and r.get("protocol") != "split":
                index = {s["stage"]: s[step["index"]] for s in r["stages"]}
                pair = index.get(step["before"]), index.get(step["after"])
                if None not in pair:
                    scale = 100 if step["index"] in ("nmi", "acc") else 1
                    changes.setdefault(r["dataset"], []).append(scale * (pair[1] - pair[0]))
        for dataset, values in changes.items():
            enough, same = len(values) > 2, claim.get("same", False)
            yield dataset, "", (len(values),), tested(values, None, same) if enough else None
    elif "cosine" in claim:
        for dataset in claim["datasets"]:
            text = (lines.folder / "view-cosines.jsonl").read_text("utf-8")
            kinds = {r["label"]: r["cosine"] for r in map(json.loads, text.splitlines())
                     if r["dataset"] == dataset}  # fmt: skip
            sides = [(c["mean"], c["deviation"], sum(c["histogram"]) // 2)
                     for c in (kinds[label] for label in claim["cosine"])]  # fmt: skip
            yield dataset, "", tuple(s[2] for s in sides), welch(*sides)
    elif "curve" in claim:
        curve = claim["curve"]
        file = lines.folder / "pictures" / f"{curve['figure']}.json"
        picture = json.loads(file.read_text("utf-8"))
        parts = picture["title"].rpartition(" \u2013 ")[2].split("; ")  # a panel for each, or one
        for number, panel in enumerate(picture["panels"]):
            if curve.get("panel", number) != number:
                continue
            part = parts[number] if len(parts) > 1 else parts[0]
            series = panel["series"]
            last, first = series[curve["first"]][-1], series[curve["first"]][0]
            other = series[curve["second"]][-1] if "second" in curve else first
            seeds = len(re.findall(r"\d+", part.rpartition("seed")[2]))
            sides = [(p[1], p[2], seeds) if len(p) > 2 else None for p in (last, other)]
            sides = sides[::-1] if curve.get("falls") else sides
            margin = 0.02 if claim.get("same") else 0
            result = welch(*sides, margin) if None not in sides else None
            yield part.split(",")[0], "", (seeds, seeds), result
    elif "better" in claim:
        better = claim["better"].removeprefix("start of ")
        names = [
            *lines.datasets(better, claim.get("file", "")),
            *lines.datasets(WHOLE.get(better, "")),
        ]
        for dataset in claim.get("datasets", list(dict.fromkeys(names))):
            before = claim["better"].startswith("start of ")
            one = replicates(lines, better, dataset, claim, start=before)
            for label in claim["worse"] if one else ():
                start = label == "start"
                two = replicates(lines, better if start else label, dataset, claim, start=start)
                a, b = list(one.values()), list(two.values())
                if not b:
                    continue
                n = (len(a),) if start else (len(a), len(b))
                if min(n) < 3:
                    found = None
                elif start:
                    found = tested([one[s] - two[s] for s in one], None, claim.get("same", False))
                else:
                    found = tested(a, b, claim.get("same", False))
                yield dataset, label, n, found


def of_claims(file: Path, lines: Lines, papers: list[dict]):
    """Effects, intervals, n, p and Holm's p of all comparisons."""
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for paper in papers:
        found: dict[tuple, tuple] = {}  # claim, where, set, other: n and effect
        family: list[tuple[float, tuple]] = []
        for claim in paper["claims"]:
            for dataset, other, n, effect in compared(claim, lines):
                key = (claim["what"], claim["where"], dataset, other)
                assert key not in found, f"two claims of one name: {key}"
                found[key] = (n, effect)
                if effect and not claim.get("void"):
                    family.append((effect[3], key))
        corrected, highest = {}, 0.0
        for rank, (p, key) in enumerate(sorted(family, key=lambda one: one[0])):
            highest = max(highest, min(1.0, p * (len(family) - rank)))
            corrected[key] = highest
        own = [row for row in rows if row["paper"] == paper["name"]]
        assert len(own) == len(found), f"{file.name}: {paper['name']} has {len(own)} comparisons"
        for row in own:
            key = next(k for k in found if matches(k, row))
            n, effect = found[key]
            where = ", ".join(row[name] for name in ("paper", "claim", "dataset", "second"))
            where = f"{file.name}: {where}"
            yield f"{where}, n", row["n"], "/".join(map(str, n))
            if effect is None:
                continue
            values = (*effect, corrected.get(key))
            for what, value in zip(("effect", "low", "high", "p", "holm"), values, strict=True):
                if row[what]:
                    yield f"{where}, {what}", row[what], value


def matches(key: tuple, row: dict) -> bool:
    """Whether a comparison is that of a row; those of figures and stages name no other entry."""
    return key[:3] == (row["claim"], row["where"], row["dataset"]) and key[3] in ("", row["second"])


def agrees(printed: str, value: float | str) -> bool:
    """Whether a printed number is the value, to its last digit."""
    if isinstance(value, str):
        return printed == value
    if printed.startswith("<"):
        return value < float(printed[1:])
    digits, _, power = printed.partition("e")
    unit = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return abs(float(printed) - value) <= 0.5 * unit + 1e-7


def numbers(root: Path = ROOT, pages: Path | None = None):
    """Every number of the pages that this script can recompute: place, as printed, value."""
    lines = Lines(root / "results")
    pages = pages or root
    data = root / "benchmarks" / "src" / "coterie_bench" / "faithful.toml"
    papers = tomllib.loads(data.read_text("utf-8"))["papers"]
    for file in [pages / "README.md", *sorted((pages / "results" / "pages").glob("*.md"))]:
        text, page = file.read_text("utf-8"), file.name
        yield from of_scores(page, text, lines)
        yield from of_means(page, text, lines)
        yield from of_gains(page, text, lines)
    yield from of_claims(pages / "results" / "verdicts.csv", lines, papers)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--all", action="store_true")
    parser.add_argument(
        "--pages", type=Path, help="a folder with other pages, as a checkout has them"
    )
    options = parser.parse_args()
    found = list(numbers(pages=options.pages))
    drawn = found if options.all else random.Random(options.seed).sample(found, options.count)
    wrong = 0
    for place, printed, value in drawn:
        same = agrees(printed, value)
        wrong += not same
        if not options.all or not same:
            shown = value if isinstance(value, str) else f"{value:.6g}"
            print(f"{'ok   ' if same else 'WRONG'} {printed:>8} {shown:>12}  {place}")
    print(f"{len(drawn) - wrong} of {len(drawn)} drawn from {len(found):,} numbers agree.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
