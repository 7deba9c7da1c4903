"""The page of the papers' figures, results/pages/figures.md, and the runs that some of them need.

    coterie-bench figures-page runs --data DIR --device cuda --out FOLDER   # minutes on a GPU
    coterie-bench figures-page page --runs FOLDER    # takes the numbers of FOLDER over
    coterie-bench figures-page page                  # from the lines in results/; or: make tables

`runs` starts a process for each figure, data set and seed, says how long it took, and ends those
that are not done when the time is over. Only the files FOLDER/NAME/DATASET-SEED/NAME.json are
needed to draw the figures elsewhere.

`page` writes NAME.json and NAME.svg to results/pictures, and a section for each of them. Curves
of several seeds become mean and deviation, those of several data sets panels of one figure. What
the paper claims comes from below; what one sees is written by hand, after the mark that ends the
figure, and stays when the page is made anew.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from coterie._files import write_text
from coterie_bench import ROOT
from coterie_bench.figures import FIGURES, read_picture
from coterie_bench.figures.picture import Lines, Picture, Table, save
from coterie_bench.tables import markdown

RESULTS = ROOT / "results"
PAGE, PICTURES = RESULTS / "pages" / "figures.md", RESULTS / "pictures"
MARK = re.compile(r"<!-- figure: (\S+) -->\n.*?<!-- end -->\n?(.*)", re.S)


@dataclass(frozen=True)
class Plan:
    """On what a figure is made: the paper's own data set, if it is informative here."""

    dataset: str
    limit: int
    settings: dict[str, int] = field(default_factory=dict)
    seeds: int = 1


@dataclass(frozen=True)
class Run:
    """One run of a figure: on one data set, with one seed."""

    name: str
    plan: Plan
    seed: int

    def __str__(self) -> str:
        return f"{self.name}, {self.plan.dataset}, seed {self.seed}"

    def folder(self, out: Path) -> Path:
        """Where its numbers are written to."""
        return out / self.name / f"{self.plan.dataset}-{self.seed}"


STEPS = {"steps": 1000}
PLANS = {  # the longest first, so that they begin first
    "deccrl-silhouettes": (Plan("stackoverflow", 2500, {"steps": 600}),),
    "sccl-distances": (Plan("searchsnippets", 5000, {"steps": 600}, seeds=3),),
    "cluster-bert-retrieval": (Plan("agnews", 2000),),
    "aecl-similarity": (Plan("tweet", 2472),),
    "cluster-bert-map": (Plan("agnews", 2000),),
    "adsl-labels": (Plan("stackoverflow", 5000),),
    "adsl-map": (Plan("stackoverflow", 3000),),
    "deccrl-words": (Plan("stackoverflow", 5000, STEPS),),
    "deccrl-map": (Plan("stackoverflow", 4916, STEPS),),
    "aecl-map": (Plan("stackoverflow", 3000),),
    "sccl-map": (Plan("searchsnippets", 3000, STEPS),),
    "cluster-bert-stages": (Plan("agnews", 2000),),
    "cluster-bert-pairs": (Plan("bbc-sentences", 12_000),),
    "aecl-stray": (
        Plan("tweet", 2472, {"epochs": 20}),
        Plan("searchsnippets", 12_340, {"epochs": 10}),
    ),
}
TOLD = {  # a heading, and what the paper claims
    "sccl-map": ("the texts before and after", "The paper shows SearchSnippets: the classes of the "
                 "bare encoder overlap, after SCCL they are apart."),
    "sccl-objectives": ("terms of the loss", "In the paper both terms at once are best on nearly "
                        "all sets, one after the other comes second, either alone is worse."),
    "sccl-distances": ("distances over training", "In the paper, on SearchSnippets, the cluster "
                       "term alone makes predicted clusters tight and far apart but not the true "
                       "ones, the contrast alone scatters all texts, and both together make true "
                       "clusters tighter and further apart, too."),
    "sccl-strengths": ("strength of the published pairs", "The paper finds that longer texts bear "
                       "stronger augmentation."),
    "sccl-temperature": ("temperature", "Appendix A.1 says that of several values up to 1, 0.5 is "
                         "better and stable."),
    "sccl-views": ("wordings with and without swapped letters", "The paper puts swapped letters on "
                   "top of contextual substitution: it helps where texts are long (28 words) and "
                   "hurts where they are short (8 words, StackOverflow), where the second "
                   "change moves a text far away from the original."),
    "deccrl-map": ("the texts before and after", "The paper shows 4,916 texts of StackOverflow; "
                   "the classes lie further apart than those of SCCL."),
    "deccrl-silhouettes": ("silhouette over training", "In the paper the silhouette is about the "
                           "same with and without reconstruction; only ACC and NMI tell the "
                           "three forms apart."),
    "deccrl-topics": ("number of topics", "In the paper five topics in a cluster are best on "
                      "StackOverflow and AgNews; Biomedical wants twenty or more."),
    "deccrl-weights": ("weight of the reconstruction", "The paper gives no weight."),
    "deccrl-words": ("words of the topics", "The paper prints such words to show that clusters "
                     "consist of topics that people understand."),
    "aecl-map": ("the texts before and after", "In the paper, on StackOverflow, AECL's classes are "
                 "the most compact among four methods."),
    "aecl-similarity": ("similarity inside classes", "The paper compares with contrast by sure "
                        "pseudo-labels: AECL's texts of one class become more alike. Here its own "
                        "form without guided positives takes that place."),
    "aecl-stray": ("attention to other classes", "In the paper attention to texts of other classes "
                   "(NS) falls to nearly nothing within few epochs, later on Tweet."),
    "aecl-sensitivity": ("weights and lengths of stages", "The paper finds a small contrast weight "
                         "bad, the entropy weight without effect, and the balance weight to "
                         "depend on how uneven the classes are; lengths matter little, unless "
                         "the second stage is too short for many classes."),
    "cluster-bert-map": ("the texts stage by stage", "The paper shows sentences of BBC: classes "
                         "come apart in the second stage and shrink to dense spots in the third."),
    "cluster-bert-stages": ("indices after each stage", "In the paper NMI and ACC rise in the "
                            "first two stages and stay in the third, where the silhouette jumps; "
                            "the Dunn index rises there, too, on most sets."),
    "cluster-bert-stages-by-set": ("indices after each stage, by data set", "The same on whole "
                                   "data sets; the paper shows four."),
    "cluster-bert-reconstruction": ("clusters without reconstruction", "Without reconstruction in "
                                    "the later stages the paper loses about two points of NMI and "
                                    "ACC, on average over six sets."),
    "cluster-bert-retrieval": ("what else the encoder forgets", "The paper ranks questions of "
                               "AskUbuntu at every stage: without reconstruction MAP and MRR fall "
                               "by up to five points more. Here each query has the 20 texts that "
                               "share most words with it, right are those of its class, and the "
                               "set is one that was not trained on."),
    "cluster-bert-pairs": ("pairs of texts", "The paper prints pairs of BBC sentences with the "
                           "largest changes of their cosine: some of one class move together, some "
                           "of two classes apart, and some go wrong."),
    "adsl-map": ("the texts before and after", "The paper has no such map."),
    "adsl-sharpness": ("the power in the soft labels", "In the paper, on Fisher, 10 is best."),
    "adsl-labels": ("soft labels over training", "In the paper the labels that it trains on get "
                    "better with every refresh."),
}  # fmt: skip


def main() -> None:
    options = _options()
    if options.do == "runs":
        run_all(options)
    else:
        make_page(options.runs)


def planned(name: str) -> Iterator[Run]:
    """The runs of one figure, in the order in which it shows them."""
    for plan in PLANS[name]:
        yield from (Run(name, plan, seed) for seed in range(plan.seeds))


def run_all(options: argparse.Namespace) -> None:
    """Make the runs, several at a time, and end what is not done when the time is over."""
    names = [name for name in PLANS if options.only is None or name in options.only.split(",")]
    waiting = [run for name in names for run in planned(name)]
    begun = time.monotonic()
    going: dict[str, tuple[subprocess.Popen[bytes], float]] = {}
    options.out.mkdir(parents=True, exist_ok=True)
    while waiting or going:
        late = time.monotonic() - begun > options.seconds
        while waiting and len(going) < options.jobs and not late:
            run = waiting.pop(0)
            going[str(run)] = (start(run, options), time.monotonic())
        for name, (process, since) in list(going.items()):
            if late:
                process.terminate()
            if process.poll() is not None or late:
                process.wait()
                del going[name]
                end = "out of time" if late else f"exit code {process.returncode}"
                print(f"{name}: {time.monotonic() - since:.0f} s, {end}", flush=True)
        if late and waiting:
            print(f"not begun: {'; '.join(map(str, waiting))}")
            waiting = []
        time.sleep(0.2)
    print(f"{time.monotonic() - begun:.0f} s together")


def start(run: Run, options: argparse.Namespace) -> subprocess.Popen[bytes]:
    """A process that makes one run of a figure and draws it."""
    plan = run.plan
    command = [sys.executable, "-m", "coterie", "bench", "figures", "--only", run.name]
    command += ["--dataset", plan.dataset, "--limit", str(options.limit or plan.limit)]
    command += ["--seed", str(run.seed), "--device", options.device]
    command += ["--out", str(run.folder(options.out)), "--quiet"]
    command += ["--data", str(options.data)] if options.data else []
    command += ["--encoder", options.encoder] if options.encoder else []
    given = plan.settings | dict(s.split("=") for s in options.set)
    command += [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
    threads = str(max(1, (os.cpu_count() or 1) // options.jobs))
    return subprocess.Popen(command, env={"OMP_NUM_THREADS": threads, **os.environ})


def make_page(runs: Path | None = None) -> None:
    """Draw what is out of date, and write the page."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name in PLANS if runs is not None else ():
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
    """Curves of runs that differ in the seed: mean and sample deviation where all have a point."""
    first = pictures[0]
    if len(pictures) == 1:
        return first
    panels = []
    for same in zip(*(picture.panels for picture in pictures), strict=True):
        curves = [panel for panel in same if isinstance(panel, Lines)]
        if len(curves) < len(same):
            raise ValueError(f"{first.title}: seeds are joined for curves alone")
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
        parts.append(f"## {FIGURES[name].about}: {TOLD[name][0]}")
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
        shown = f"![{picture.title}; {picture.subtitle}](../pictures/{name}.svg)"
    return f"{shown}\n\n{TOLD[name][1]}\n\n`{name}`: {picture.about}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("do", choices=["runs", "page"])
    parser.add_argument("--runs", type=Path, help="page: folder with numbers to take over")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("figures"))
    parser.add_argument("--only", help="names, separated by commas")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--encoder")
    parser.add_argument("--jobs", type=int, default=len(PLANS))
    parser.add_argument("--seconds", type=float, default=170.0)
    parser.add_argument("--limit", type=int, help="texts, instead of the planned number")
    parser.add_argument("--set", action="append", default=[], help="KEY=VALUE for all")
    return parser.parse_args()
