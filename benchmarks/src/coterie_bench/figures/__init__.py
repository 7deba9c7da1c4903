"""The papers' figures, from result lines and from short runs; matplotlib comes with an extra.

Each is first a :class:`Picture`, plain numbers, which are written as NAME.json beside NAME.svg and
NAME.png: :func:`redraw` draws it again without lines or runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from coterie._files import write_text
from coterie._validation import check_choice, need
from coterie.errors import UsageError
from coterie_bench.figures import papers
from coterie_bench.figures.picture import Picture, Table, read_picture, save
from coterie_bench.figures.short import Short, cut, draw_beside, draw_maps
from coterie_bench.ledger import Row, read_results
from coterie_bench.tables import markdown, read_folder

__all__ = ["FIGURES", "Drawing", "Picture", "Short", "cut", "draw_all", "read_picture", "redraw"]

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Drawing:
    """One figure of a paper.

    Attributes
    ----------
    about : str
    make : callable
        Takes result lines, or a :class:`Short`, and returns a :class:`Picture`, or None where the
        lines are not there.
    lines : str, optional
        What brings the lines it needs; None if it needs a run.
    files : tuple of str
        Result files outside the suites, whose lines it takes instead of theirs.
    other : bool
        Whether its run needs a second data set.
    """

    about: str
    make: Callable[[Any], Picture | None]
    lines: str | None = None
    files: tuple[str, ...] = ()
    other: bool = False

    def from_lines(self, results: Path) -> Picture | None:
        """The picture of the lines in a folder."""
        return self.make(self._read(results))

    def lacks(self, short: Short | None) -> str:
        """What is missing for a run, and the option that names it; empty if nothing is."""
        if self.lines is not None:
            return ""
        if short is None:
            return "a run: name a data set with --dataset"
        lost = self.other and short.other is None
        return "another data set: name it with --other" if lost else ""

    def _read(self, results: Path) -> list[Row]:
        if self.files:
            found = [results / f"{name}.jsonl" for name in self.files]
            return read_results([file for file in found if file.exists()])
        return read_folder(results) if results.is_dir() else []


def _map(method: str, label: str, **more: Any) -> Callable[[Any], Picture]:
    return partial(draw_maps, method=method, label=label, **more)


def _suite(name: str) -> str:
    return f"coterie-bench {name}"


FIGURES: dict[str, Drawing] = {
    "sccl-map": Drawing("SCCL, Figure 1", _map("sccl", "SCCL")),
    "sccl-objectives": Drawing("SCCL, Figure 3", papers.sccl_objectives, _suite("sccl-ablations")),
    "sccl-distances": Drawing("SCCL, Figure 4", papers.sccl_distances),
    "sccl-strengths": Drawing("SCCL, Figure 5", papers.sccl_strengths, _suite("sccl-ablations")),
    "sccl-temperature": Drawing(
        "SCCL, appendix A.1", papers.sccl_temperature, _suite("sensitivity")
    ),
    "sccl-views": Drawing(
        "SCCL, Figure 5", papers.sccl_views, "coterie-bench views", ("sccl-views", "view-cosines")
    ),
    "deccrl-map": Drawing(
        "DECCRL, Figure 2",
        partial(
            draw_beside,
            methods={"sccl": "SCCL", "deccrl": "DECCRL"},
            head="SCCL and DECCRL",
        ),
    ),
    "deccrl-silhouettes": Drawing("DECCRL, Figure 3", papers.deccrl_silhouettes),
    "deccrl-topics": Drawing("DECCRL, Figure 4", papers.deccrl_topics, _suite("deccrl-ablations")),
    "deccrl-weights": Drawing(
        "DECCRL, no figure of the paper", papers.deccrl_weights, _suite("deccrl-ablations")
    ),
    "deccrl-words": Drawing("DECCRL, Table 4", papers.deccrl_topic_table),
    "aecl-map": Drawing("AECL, Figure 4", _map("aecl", "AECL")),
    "aecl-similarity": Drawing("AECL, Figure 5", papers.aecl_similarity),
    "aecl-stray": Drawing("AECL, Figure 6", papers.aecl_stray),
    "aecl-sensitivity": Drawing(
        "AECL, Figures 7 to 9", papers.aecl_sensitivity, _suite("sensitivity")
    ),
    "cluster-bert-map": Drawing(
        "ClusterBERT, Figure 1",
        _map("cluster-bert", "ClusterBERT", preset="fast", by_stage=True),
    ),
    "cluster-bert-stages": Drawing("ClusterBERT, Figure 3", papers.cluster_bert_stages),
    "cluster-bert-stages-by-set": Drawing(
        "ClusterBERT, Figure 3",
        papers.cluster_bert_stages_by_set,
        _suite("cluster-bert-ablations"),
    ),
    "cluster-bert-reconstruction": Drawing(
        "ClusterBERT, Figure 4",
        papers.cluster_bert_reconstruction,
        _suite("cluster-bert-ablations"),
    ),
    "cluster-bert-retrieval": Drawing(
        "ClusterBERT, Figure 4", papers.cluster_bert_retrieval, other=True
    ),
    "cluster-bert-pairs": Drawing("ClusterBERT, Table 5", papers.cluster_bert_pairs),
    "adsl-map": Drawing("ADSL, no figure of the paper", _map("adsl", "ADSL")),
    "adsl-sharpness": Drawing("ADSL, Figure 4a", papers.adsl_sharpness, _suite("sensitivity")),
    "adsl-labels": Drawing("ADSL, Figure 4b", papers.adsl_labels),
}


def draw_all(
    folder: Path,
    results: Path,
    short: Short | None = None,
    *,
    only: Iterable[str] | None = None,
    tell: Tell = lambda message: None,
) -> list[Path]:
    """Draw what can be drawn and say what is missing for the rest.

    Parameters
    ----------
    folder : Path
        For NAME.json, NAME.svg and NAME.png; a table becomes NAME.md.
    results : Path
        Folder with result lines.
    short : Short, optional
        For figures that need a run; without it they are left out.
    only : iterable of str, optional
        Names in ``FIGURES``.
    tell : callable
        Gets a line for each figure.

    Returns
    -------
    list of Path
        The files.
    """
    need("matplotlib", "plots")
    out: list[Path] = []
    for name in _chosen(only):
        drawing, begun = FIGURES[name], time.monotonic()
        lacks = drawing.lacks(short)
        if lacks:
            tell(f"{name} ({drawing.about}) needs {lacks}")
            continue
        made = drawing.from_lines(results) if drawing.lines is not None else drawing.make(short)
        if made is None:
            tell(f"{name} ({drawing.about}) has no lines: {drawing.lines}")
            continue
        write_text(folder / f"{name}.json", made.to_json())
        out += [folder / f"{name}.json", *_write(made, folder, name)]
        tell(f"{name} ({drawing.about}), {time.monotonic() - begun:.0f} s")
    return out


def redraw(
    folder: Path, only: Iterable[str] | None = None, tell: Tell = lambda _: None
) -> list[Path]:
    """Draw the figures of a folder again, from the numbers that lie there as NAME.json."""
    need("matplotlib", "plots")
    names = _chosen(only)
    there = [name for name in names if (folder / f"{name}.json").exists()]
    if not there or (only is not None and there != names):
        lost = ", ".join(f"{name}.json" for name in names if name not in there)
        raise UsageError(f"{folder} does not contain {lost}; draw without --redraw first.")
    out: list[Path] = []
    for name in there:
        out += _write(read_picture(folder / f"{name}.json"), folder, name)
        tell(f"{name} ({FIGURES[name].about})")
    return out


def _chosen(only: Iterable[str] | None) -> list[str]:
    names = list(FIGURES) if only is None else list(only)
    for name in names:
        check_choice("figure", name, FIGURES)
    return names


def _write(made: Picture, folder: Path, name: str) -> list[Path]:
    if isinstance(made.panels[0], Table):
        table = made.panels[0]
        write_text(folder / f"{name}.md", markdown(table.header, table.rows))
        return [folder / f"{name}.md"]
    return save(made, folder, name)
