"""The page of the papers' figures, results/pages/figures.md, and the runs that some of them need.

    coterie-bench figures-page runs --data DIR --device cuda --out FOLDER   # minutes on a GPU
    coterie-bench figures-page page --runs FOLDER    # takes the numbers of FOLDER over
    coterie-bench figures-page page                  # from the lines in results/; or: make tables

`runs` starts a process for each figure, data set and seed. Only the files
FOLDER/NAME/DATASET-SEED/NAME.json are needed to draw the figures elsewhere.

`page` writes NAME.json and NAME.svg to results/pictures, and a section for each of them. Curves
of several seeds become mean and deviation, those of several data sets panels of one figure. What
the paper claims comes from ``figures.toml``; what one sees is written by hand, after the mark that
ends the figure, and stays when the page is made anew.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from coterie._files import write_text
from coterie_bench import ROOT
from coterie_bench.figures import FIGURES, read_picture
from coterie_bench.figures.picture import Lines, Panel, Picture, Points, Table, save
from coterie_bench.tables import markdown

RESULTS = ROOT / "results"
PAGE, PICTURES = RESULTS / "pages" / "figures.md", RESULTS / "pictures"
MARK = re.compile(r"<!-- figure: (\S+) -->\n.*?<!-- end -->\n?(.*)", re.S)


class Run(NamedTuple):
    """One run of a figure: on one data set, with one seed."""

    name: str
    dataset: str
    limit: int
    settings: dict[str, int]
    seed: int

    def folder(self, out: Path) -> Path:
        """Where its numbers are written to."""
        return out / self.name / f"{self.dataset}-{self.seed}"


def planned(name: str) -> list[Run]:
    """The runs of one figure, in the order in which it shows them."""
    return [
        Run(name, run["dataset"], run["limit"], run.get("settings", {}), seed)
        for run in FIGURES[name].runs
        for seed in range(run.get("seeds", 1))
    ]


def run_all(options: argparse.Namespace) -> None:
    """Make the runs, several at a time."""
    names = options.only.split(",") if options.only else FIGURES
    runs = [run for name in names for run in planned(name)]
    with ThreadPoolExecutor(options.jobs) as pool:
        for run, code in zip(runs, pool.map(lambda r: start(r, options), runs), strict=True):
            print(f"{run.name}, {run.dataset}, seed {run.seed}: exit code {code}", flush=True)


def start(run: Run, options: argparse.Namespace) -> int:
    """A process that makes one run of a figure and draws it; returns its exit code."""
    command = [sys.executable, "-m", "coterie_bench", "figures", "--only", run.name]
    command += ["--dataset", run.dataset, "--limit", str(options.limit or run.limit)]
    command += ["--seed", str(run.seed), "--device", options.device]
    command += ["--out", str(run.folder(options.out)), "--quiet"]
    command += ["--data", str(options.data)] if options.data else []
    command += ["--encoder", options.encoder] if options.encoder else []
    given = run.settings | dict(s.split("=") for s in options.set)
    command += [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
    threads = str(max(1, (os.cpu_count() or 1) // options.jobs))
    env = {"OMP_NUM_THREADS": threads, **os.environ}
    return subprocess.run(command, env=env, check=False).returncode


def main() -> None:
    options = _options()
    if options.do == "runs":
        run_all(options)
    else:
        make_page(options.runs)


def make_page(runs: Path | None = None) -> None:
    """Draw what is out of date, and write the page."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name in FIGURES if runs is not None else ():
        files = [run.folder(runs) / f"{name}.json" for run in planned(name)]
        made = [read_picture(file) for file in files if file.exists()]
        if made:
            write_text(PICTURES / f"{name}.json", joined(made).to_json())
    for name, text in from_lines().items():
        if text is None:
            for file in PICTURES.glob(f"{name}.*"):
                file.unlink()
        else:
            write_text(PICTURES / f"{name}.json", text)
    for name in there():
        picture = read_picture(PICTURES / f"{name}.json")
        if not isinstance(picture.panels[0], Table):
            save(picture, PICTURES, name, ["svg"])
    write_text(PAGE, arranged(PAGE.read_text("utf-8")))


def joined(pictures: Sequence[Picture]) -> Picture:
    """One figure of several runs: seeds as mean and deviation, data sets as panels."""
    groups: dict[str, list[Picture]] = {}
    for picture in pictures:
        groups.setdefault(picture.title.rpartition(", seed ")[0], []).append(picture)
    means = [mean_of(group) for group in groups.values()]
    if len(means) == 1:
        return means[0]
    panels = []
    for picture in means:
        dataset = picture.title.partition(" \u2013 ")[2].partition(",")[0]
        for panel in picture.panels:
            panels.append(replace(panel, title=f"{dataset}: {panel.title}".removesuffix(": ")))
    head = means[0].title.partition(" \u2013 ")[0]
    where = "; ".join(picture.title.partition(" \u2013 ")[2] for picture in means)
    about = " ".join(dict.fromkeys(picture.about for picture in means))
    return replace(means[0], title=f"{head} \u2013 {where}", about=about, panels=panels)


def mean_of(pictures: Sequence[Picture]) -> Picture:
    """Runs that differ in the seed: curves as mean and sample deviation, maps of the first."""
    first = pictures[0]
    if len(pictures) == 1:
        return first
    panels: list[Panel] = []
    for same in zip(*(picture.panels for picture in pictures), strict=True):
        if isinstance(same[0], Points):
            panels.append(same[0])
            continue
        curves = [panel for panel in same if isinstance(panel, Lines)]
        if len(curves) < len(same):
            raise ValueError(f"{first.title}: seeds are joined for curves and maps alone")
        series = {
            label: mean_curve([curve.series[label] for curve in curves])
            for label in curves[0].series
        }
        panels.append(replace(curves[0], series=series))
    title, _, seed = first.title.rpartition(", seed ")
    seeds = [int(seed), *(int(p.title.rpartition(", seed ")[2]) for p in pictures[1:])]
    about = " ".join(dict.fromkeys(picture.about for picture in pictures))
    title = f"{title}, seeds {', '.join(map(str, seeds))}"
    return replace(first, title=title, about=about, panels=panels)


def mean_curve(curves: Sequence[list[list[float]]]) -> list[list[float]]:
    """Points ``[x, mean, deviation]`` of several curves."""
    found = [{point[0]: point[1] for point in curve} for curve in curves]
    common = [x for x in found[0] if all(x in own for own in found)]
    values = {x: [own[x] for own in found] for x in common}
    return [[x, statistics.fmean(v), statistics.stdev(v)] for x, v in values.items()]


def from_lines() -> dict[str, str | None]:
    """The numbers of each figure that comes from result lines; None where these are missing."""
    out: dict[str, str | None] = {}
    for name, drawing in FIGURES.items():
        if drawing.lines is not None:
            picture = drawing.from_lines(RESULTS)
            out[name] = picture and picture.to_json()
    return out


def there() -> list[str]:
    """Figures whose numbers are there, in the order of the page."""
    return [name for name in FIGURES if (PICTURES / f"{name}.json").exists()]


def arranged(page: str) -> str:
    """The page with a section for each figure that is there; what was written by hand stays."""
    intro, *sections = re.split(r"^(?=## )", page, flags=re.M)
    written = {m[1]: m[2].strip() for m in map(MARK.search, sections) if m}
    parts = [intro.strip()]
    for name in there():
        parts.append(f"## {FIGURES[name].about}: {FIGURES[name].heading}")
        parts.append(f"<!-- figure: {name} -->\n\n{block(name)}\n\n<!-- end -->")
        parts += [written[name]] if written.get(name) else []
    return "\n\n".join(parts) + "\n"


def block(name: str) -> str:
    """A figure, what the paper claims, and where the numbers are from."""
    picture = read_picture(PICTURES / f"{name}.json")
    panel = picture.panels[0]
    if isinstance(panel, Table):
        shown = f"{picture.title}:\n\n{markdown(panel.header, panel.rows).strip()}"
    else:
        caption = "; ".join(filter(None, (picture.title, picture.subtitle)))
        shown = f"![{caption}](../pictures/{name}.svg)"
    return f"{shown}\n\n{FIGURES[name].claim}\n\n`{name}`: {picture.about}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("do", choices=["runs", "page"])
    parser.add_argument("--runs", type=Path, help="page: folder with numbers to take over")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("figures"))
    parser.add_argument("--only", help="names, separated by commas")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--encoder")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=int, help="texts, instead of the planned number")
    parser.add_argument("--set", action="append", default=[], help="KEY=VALUE for all")
    return parser.parse_args()
