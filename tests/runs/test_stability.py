"""Which clusters are found again, and whose words belong together."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import commands
import coterie
from coterie.errors import DataError, UsageError
from coterie.runs import open_run, stability
from coterie.runs.editing import edit
from coterie.runs.measured import ClusterStability, Stability
from coterie.runs.stability import best_jaccard, word_npmi
from said import raises
from trees import nested_texts

FRUIT = "apple pear plum peach cherry grape lemon melon".split()
CARS = "engine wheel brake clutch gear tyre bumper mirror".split()
MUSIC = "guitar piano drum violin flute chord song tune".split()


def texts(words: list[str], n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(words, 4, replace=False)) for _ in range(n)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clear themes, and a third that k-means has to cut in two."""
    folder = tmp_path_factory.mktemp("stability") / "run"
    many = [*texts(FRUIT, 40, 0), *texts(CARS, 40, 1), *texts(MUSIC, 100, 2)]
    coterie.cluster(many, 4, "kmeans", encoder="tfidf", folder=folder)
    return folder


def test_clear_clusters_survive_and_halves_of_one_theme_do_not(run: Path) -> None:
    found = open_run(run).stability(seeds=2, halves=4)
    whole = [c for c in found.clusters if c.size == 40]
    parts = [c for c in found.clusters if c.size != 40]
    assert len(whole) == len(parts) == 2
    assert all(c.survives and min(c.seeds, c.halves) > 0.9 for c in whole)
    assert min(c.halves for c in parts) < min(c.halves for c in whole)
    assert found.clusters[0] in parts
    assert found.wording > 0.8
    assert all(c.npmi is not None and c.embedding is not None for c in found.clusters)
    saved = json.loads((run / "stability.json").read_text("utf-8"))
    assert saved["rows"] == 180
    assert "How stable is it?" in (run / "report.html").read_text("utf-8")


def test_the_page_shows_nothing_about_other_clusters(run: Path, tmp_path: Path) -> None:
    stability(run, seeds=1, halves=1)
    copy = open_run(run).save(tmp_path / "copy")
    before = open_run(copy).clusters[0]
    edit(copy, [{"rename": {before.id: "Renamed"}}])
    _, _, part = (copy / "report.html").read_text("utf-8").partition("How stable is it?</h2>")
    assert ">Renamed<" in part and f">{before.name}<" not in part
    edit(copy, [{"merge": [0, 1]}])
    assert "How stable is it?" not in (copy / "report.html").read_text("utf-8")


def test_the_command(run: Path) -> None:
    result = commands.run("stability", run, "--seeds", 1, "--halves", 1, "-q", "--json")
    assert len(json.loads(result.stdout)["clusters"]) == 4


def test_a_cluster_below_one_half_is_called_unstable() -> None:
    weak = ClusterStability(3, "Refund", 9, 0.8, 0.4, 1.0, None, None, survives=False)
    strong = ClusterStability(5, "Parcel", 9, 0.8, 0.5, 1.0, None, None, survives=True)
    said = Stability(18, 0.5, 0.5, 0.9, [weak, strong]).sentences()
    assert said[1] == "1 of 2 clusters is unstable (below 0.5): 3 (Refund)."
    assert (
        Stability(9, 0.5, 0.5, 0.9, [strong]).sentences()[1]
        == "No cluster is unstable (below 0.5)."
    )


def test_what_was_given_is_given_again(tmp_path: Path) -> None:
    """Two classes that no clustering finds, since each has texts of both topics."""
    drawn = [*texts(FRUIT, 60, 0), *texts(CARS, 60, 1)]
    many = list({frozenset(text.split()): text for text in drawn}.values())  # a text, one label
    labels = ["even" if row % 2 == 0 else "odd" for row in range(len(many))]
    folder = tmp_path / "run"
    coterie.cluster(many, 2, "kmeans", encoder="tfidf", folder=folder, labels=labels)
    found = stability(folder, seeds=2, halves=2)
    assert found.seeds == found.halves == 1.0
    assert {c.name for c in found.clusters} == {"even", "odd"}
    assert all(c.survives for c in found.clusters)


def test_bad_input(run: Path, tmp_path: Path) -> None:
    with raises(UsageError, "should be an integer of"):
        stability(run, seeds=0)
    with pytest.raises(DataError):
        stability(tmp_path)


def test_jaccard_by_hand() -> None:
    codes, again = np.array([0, 0, 0, 2, 2]), np.array([1, 1, 0, 0, 0])
    found = best_jaccard(codes, again, 3)
    assert found[0] == pytest.approx(2 / 3)
    assert np.isnan(found[1])
    assert found[2] == pytest.approx(2 / 3)


def test_npmi_by_hand() -> None:
    some = ["a b", "a b", "a c", "d e"]
    # p(a) = 3/4, p(b) = p(a, b) = 1/2
    expected = np.log(0.5 / (0.75 * 0.5)) / -np.log(0.5)
    assert word_npmi(some, [["a", "b"]]) == [pytest.approx(expected, abs=1e-4)]
    assert word_npmi(some, [["a", "d"], ["a", "unknown"]]) == [-1.0, None]


def test_clusters_of_a_merge_tree_are_merged_again(tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "run"
    coterie.cluster(nested_texts(), encoder="tfidf-svd", folder=folder)
    coterie.cut(folder, 3)
    fitted = []
    fit = coterie.Auto.fit

    def seen(model, *given, **more):
        fitted.append(model.n_clusters)
        return fit(model, *given, **more)

    monkeypatch.setattr(coterie.Auto, "fit", seen)
    found = stability(folder, seeds=2, halves=1)
    assert fitted == [open_run(folder).tree.finest] * 3
    assert len(found.clusters) == 3 and all(c.seeds == 1 for c in found.clusters)
