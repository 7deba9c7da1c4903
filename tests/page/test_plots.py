"""Figures of a run: what they hold is what the page shows."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import commands
import coterie
from coterie.errors import DataError
from coterie.runs.page_data import page_data
from said import raises, says
from trees import nested_texts

NASTY = "costs $5 or $6"  # between dollar signs, matplotlib would read a formula


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> coterie.Run:
    """96 texts in a merge tree, some of them outliers, with the weeks of half a year."""
    texts, folder = nested_texts(), tmp_path_factory.mktemp("plots") / "run"
    weeks = np.datetime64("2026-01-05") + 7 * (np.arange(len(texts)) % 25)
    table = pa.table(
        {"text": [*texts, "$$$ unlike everything else"], "day": [*map(str, weeks), ""]}
    )
    run = coterie.cluster(table, encoder="tfidf", max_outliers=1, text_column="text", folder=folder)
    run.edit([{"rename": {run.clusters[0].id: NASTY}}])
    assert len(run.tree.levels) >= 2
    return run


def coarse(run: coterie.Run) -> str:
    return next(iter(run.tree.levels))


@pytest.mark.parametrize("at", ["shown", "coarse"])
def test_the_map_has_the_marks_and_colours_of_the_page(run: coterie.Run, at: str) -> None:
    level = None if at == "shown" else coarse(run)
    figure = run.plot_map(level=level)
    points = page_data(run.state).points
    leaves, cut = points.leaves, {**run.tree.cut(level), -1: -1}
    expected = sorted(zip(points.x, points.y, (cut[leaf] for leaf in leaves), strict=True))
    assert -1 in [cluster for *_, cluster in expected]
    drawn, shown = [], sorted(run.tree.shown(level), key=lambda i: (-run.nodes[i].size, i))
    for cluster, marks in zip([-1, *shown], figure.axes[0].collections, strict=True):
        drawn += [(int(x), int(y), cluster) for x, y in marks.get_offsets()]
        if cluster >= 0:
            color = to_hex(marks.get_facecolor()[0])
            assert level is not None or f'fill="{color}"' in run._repr_html_()
            assert color == run._style(cluster)[0]
    assert sorted(drawn) == expected


def test_names_on_the_map_do_not_overlap(run: coterie.Run) -> None:
    """The larger cluster keeps its name where there is no room for both."""
    crowded = run.plot_map(level="fine", ax=Figure(figsize=(2, 1.5)).subplots())
    for figure in (run.plot_map(), crowded):
        figure.canvas.draw()
        boxes = [text.get_window_extent() for text in figure.axes[0].texts]
        assert boxes and not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    assert 0 < len(crowded.axes[0].texts) < run.tree.finest
    assert len(run.plot_map(top=2).axes[0].texts) == 2
    (largest,) = run.plot_map(top=1).axes[0].texts
    assert largest.get_text() == NASTY and not largest.get_parse_math()


def test_bars_are_as_long_as_clusters_are_large(run: coterie.Run) -> None:
    for level, top in ((None, 30), (coarse(run), 30), ("fine", 3)):
        nodes = [run.nodes[i] for i in run.tree.shown(level)]
        sizes = sorted((node.size for node in nodes), reverse=True)[:top]
        figure = run.plot_sizes(level=level, top=top)
        assert [bar.get_width() for bar in figure.axes[0].patches] == sizes
        assert len(figure.axes[0].get_yticklabels()) == len(sizes)
    assert says(figure.axes[0].get_title("left"), f"3 largest of {run.tree.finest}")


def test_bars_over_time_count_the_texts_of_a_period(run: coterie.Run) -> None:
    figure = run.plot_over_time()
    clusters = sorted(run.clusters, key=lambda c: (-c.size, c.id))
    counts = np.array([[n for _, n in cluster.over_time] for cluster in clusters])
    drawn = np.array([bar.get_height() for bar in figure.axes[0].patches]).reshape(counts.shape)
    np.testing.assert_allclose(drawn / drawn.min(), counts / counts.max())
    said = [text.get_text() for text in figure.axes[0].texts]
    assert said == [str(row.max()) for row in counts]
    shares = run.plot_over_time(share=True, level=coarse(run)).axes[0].patches
    together = np.reshape([bar.get_height() for bar in shares], (-1, counts.shape[1])).sum(axis=0)
    np.testing.assert_allclose(together, together.min())  # of every week they are all texts


def test_the_tree_splits_to_the_right_at_its_numbers_of_clusters(run: coterie.Run) -> None:
    for level in (None, "fine", 2):
        n = run.tree.number(run.tree.at if level is None else level)
        figure = run.plot_tree(level=level)
        (ax,) = figure.axes
        lines = [np.asarray(line.get_data(), dtype=float) for line in ax.lines]
        across = [x for x, y in lines if len(x) == 2 and y[0] == y[1]]
        splits = sorted(x[0] for x, y in lines if len(x) == 2 and x[0] == x[1] and y[0] != y[1])
        assert len(across) == 2 * (n - 1) and all(x[0] < x[1] for x in across)
        splits = [x for x in splits if x not in run.tree.levels.values()]
        assert len(splits) == n - 1
        assert all(k < x < k + 1 for k, x in enumerate(splits, start=1))
        for k in range(1, n + 1):  # a line at k crosses k branches
            assert sum(x[0] < k <= x[1] for x in across) == (k if k > 1 else 0)
        assert len(ax.get_yticklabels()) == n


def test_what_a_run_does_not_have_is_no_figure(run: coterie.Run) -> None:
    bare = coterie.cluster(["red apple", "ripe apple", "old car"], 2, "kmeans", encoder="tfidf")
    with raises(DataError, "date_column"):
        bare.plot_over_time()
    assert bare.plot_map().axes[0].collections


def test_a_figure_of_the_user_is_drawn_into(run: coterie.Run) -> None:
    mine = Figure()
    left, right = mine.subplots(1, 2)
    assert run.plot_sizes(ax=left) is mine and run.plot_map(ax=right) is mine
    assert left.patches and right.collections


@pytest.mark.full
def test_the_command_writes_a_figure(run: coterie.Run, tmp_path: Path) -> None:
    begins = {"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG"}
    for kind, figure in zip(begins, ("map", "tree", "over-time"), strict=True):
        out = tmp_path / f"x.{kind}"
        commands.run("report", run.folder, "--figure", figure, "--level", "fine", "-o", out)
        assert out.read_bytes().startswith(begins[kind])
    (tmp_path / "mine.pdf").write_text("mine")
    for wrong in (["maps"], ["map", "-o", "x.doc"], ["map", "-o", tmp_path / "mine.pdf"]):
        commands.run("report", run.folder, "--figure", *wrong, code=2)


CODE = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("matplotlib", "pandas"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

if sys.argv[2] == "blocked":
    sys.meta_path.insert(0, Blocked())
import coterie
run = coterie.open_run(sys.argv[1])
assert "matplotlib" not in sys.modules
for make in (run.plot_map, run.plot_sizes, run.plot_over_time, run.plot_tree, run.to_pandas):
    try:
        print(type(make()).__name__)
    except coterie.errors.MissingError as error:
        print(error)
assert "matplotlib.pyplot" not in sys.modules
"""


def in_a_process(run: coterie.Run, how: str) -> list[str]:
    """What figures and frame are, or why there is none."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, run.folder, how], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.full
def test_without_matplotlib_or_pandas_the_extra_is_named(run: coterie.Run) -> None:
    *figures, frame = in_a_process(run, "blocked")
    assert len(figures) == 4 and all("pip install 'coterie[plots]'" in said for said in figures)
    assert "pip install 'coterie[pandas]'" in frame


@pytest.mark.full
def test_matplotlib_is_imported_when_used_and_pyplot_never(run: coterie.Run) -> None:
    *figures, frame = in_a_process(run, "free")
    assert len(set(figures)) == 1 and frame == "DataFrame"


def test_a_notebook_shows_a_figure(run: coterie.Run) -> None:
    shown: Any = run.plot_sizes()
    assert shown._repr_png_().startswith(b"\x89PNG")
