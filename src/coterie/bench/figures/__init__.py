"""The papers' figures, from result lines and from short runs; matplotlib comes with an extra."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from coterie._files import write_text
from coterie._validation import check_choice, need
from coterie.bench.figures import adsl, aecl, cluster_bert, deccrl, sccl
from coterie.bench.figures.draw import save
from coterie.bench.figures.maps import draw_maps
from coterie.bench.figures.short import Short, cut
from coterie.bench.keys import Row

__all__ = ["FIGURES", "Drawing", "Short", "cut", "draw_all"]


@dataclass(frozen=True)
class Drawing:
    """One figure of a paper.

    Attributes
    ----------
    about : str
    make : callable
        Takes result lines, or a :class:`Short`, and returns a figure, a text, or None where the
        lines are not there.
    suite : str, optional
        Whose lines it needs; None if it needs a run.
    """

    about: str
    make: Callable[[Any], Any]
    suite: str | None = None


FIGURES: dict[str, Drawing] = {
    "sccl-map": Drawing("SCCL, Figure 1", partial(draw_maps, method="sccl")),
    "sccl-objectives": Drawing("SCCL, Figure 3", sccl.objectives, "sccl-ablations"),
    "sccl-distances": Drawing("SCCL, Figure 4", sccl.distances),
    "sccl-strengths": Drawing("SCCL, Figure 5", sccl.strengths, "sccl-ablations"),
    "deccrl-map": Drawing("DECCRL, Figure 2", partial(draw_maps, method="deccrl")),
    "deccrl-silhouettes": Drawing("DECCRL, Figure 3", deccrl.silhouettes),
    "deccrl-topics": Drawing("DECCRL, Figure 4", deccrl.topics, "deccrl-ablations"),
    "deccrl-words": Drawing("DECCRL, Table 4", deccrl.topic_table),
    "aecl-map": Drawing("AECL, Figure 4", partial(draw_maps, method="aecl")),
    "aecl-similarity": Drawing("AECL, Figure 5", aecl.similarity),
    "aecl-stray": Drawing("AECL, Figure 6", aecl.stray),
    "aecl-sensitivity": Drawing("AECL, Figures 7 to 9", aecl.sensitivity, "sensitivity"),
    "cluster-bert-map": Drawing(
        "ClusterBERT, Figure 1", partial(draw_maps, method="cluster-bert", preset="fast")
    ),
    "cluster-bert-stages": Drawing("ClusterBERT, Figure 3", cluster_bert.stages),
    "cluster-bert-reconstruction": Drawing(
        "ClusterBERT, Figure 4", cluster_bert.reconstruction, "cluster-bert-ablations"
    ),
    "adsl-sharpness": Drawing("ADSL, Figure 4a", adsl.sharpness, "sensitivity"),
    "adsl-labels": Drawing("ADSL, Figure 4b", adsl.labels),
}


def draw_all(
    folder: Path,
    rows: Sequence[Row],
    short: Short | None = None,
    *,
    only: Iterable[str] | None = None,
    tell: Callable[[str], None] = lambda message: None,
) -> list[Path]:
    """Draw what can be drawn and say what is missing for the rest.

    Parameters
    ----------
    folder : Path
        For NAME.svg and NAME.png, or NAME.md.
    rows : sequence of dict
        Result lines.
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
    names = list(FIGURES) if only is None else list(only)
    for name in names:
        check_choice("figure", name, FIGURES)
    out: list[Path] = []
    for name in names:
        drawing = FIGURES[name]
        if drawing.suite is None and short is None:
            tell(f"{name} ({drawing.about}) needs a run: name a data set with --dataset")
            continue
        made = drawing.make(rows if drawing.suite is not None else short)
        if made is None:
            tell(f"{name} ({drawing.about}) has no lines: coterie bench {drawing.suite}")
            continue
        out += _write(made, folder, name)
        tell(f"{name} ({drawing.about})")
    return out


def _write(made: Any, folder: Path, name: str) -> list[Path]:
    if isinstance(made, str):
        write_text(folder / f"{name}.md", made)
        return [folder / f"{name}.md"]
    return save(made, folder, name)
