"""Recompute numbers of the generated pages from the lines in results/, with code of its own.

    python benchmarks/recompute.py                    # 30 numbers, drawn by seed 0
    python benchmarks/recompute.py --seed 7 --count 100
    python benchmarks/recompute.py --all

Nothing of coterie_bench is imported: which lines belong to a number is decided here anew, from
the labels. Pages: the table of the README, the tables of methods, that of the main systems and the
gains on benchmarks.md. The exit code is 1 where a number differs by more than its last digit.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Lines about something else than a method on all texts of a set.
OTHER_FILES = {
    "speed", "same-labels", "smoke", "guard", "former", "sccl-views", "pass", "dev", "dev-systems",
    "lang", "stability", "steering",
}  # fmt: skip
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


def agrees(printed: str, value: float) -> bool:
    """Whether a printed number is the value, to its last digit."""
    unit = 10.0 ** -len(printed.partition(".")[2])
    return abs(float(printed) - value) <= 0.5 * unit + 1e-7


def numbers(root: Path = ROOT, pages: Path | None = None):
    """Every number of the pages that this script can recompute: place, as printed, value."""
    lines = Lines(root / "results")
    pages = pages or root
    for file in [pages / "README.md", *sorted((pages / "results" / "pages").glob("*.md"))]:
        text, page = file.read_text("utf-8"), file.name
        yield from of_scores(page, text, lines)
        yield from of_means(page, text, lines)
        yield from of_gains(page, text, lines)


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
            print(f"{'ok   ' if same else 'WRONG'} {printed:>8} {value:>12.6g}  {place}")
    print(f"{len(drawn) - wrong} of {len(drawn)} drawn from {len(found):,} numbers agree.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
