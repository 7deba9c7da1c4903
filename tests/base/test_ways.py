"""Ways to cluster: what they share, what the witnesses say, and which get more of the work."""

import numpy as np
import pytest
import torch

from coterie.base import ways
from coterie.base.ways import AVERAGE, GRAPHS, PLAIN, Found, Trial, Way, ranked, try_all
from coterie.blocks.graph import nearest_rows, principal_part, spread
from coterie.words import word_information, word_presence

RNG = np.random.default_rng(0)
TRUTH = RNG.choice(4, 240, p=[0.4, 0.3, 0.2, 0.1])
TEXTS = [" ".join(RNG.choice([f"t{k}w{i}" for i in range(15)], 4)) for k in TRUTH]


@pytest.fixture
def trial() -> Trial:
    rng = np.random.default_rng(1)
    meaning = np.eye(4)[TRUTH] @ rng.normal(size=(4, 8)) + 0.4 * rng.normal(size=(240, 8))
    words = np.eye(4)[TRUTH] + 0.3 * rng.normal(size=(240, 4))
    views = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (meaning, words)]
    made = views[0].astype(np.float32), (ways.WORD_WEIGHT * views[1]).astype(np.float32)
    ones = np.ones(240, dtype=np.float32)
    return Trial(made, ones, word_presence(TEXTS), 4, 0, torch.device("cpu"))


def test_neighbours_are_those_of_each_weight(trial: Trial) -> None:
    trial.look({0.0, 0.75}, 6)
    for length in (0.0, 0.5, 0.75):
        wanted = nearest_rows(trial.beside(length), 11)
        np.testing.assert_array_equal(trial.graphs[length], wanted)
    np.testing.assert_array_equal(trial.witnesses, trial.graphs[0.5][:, 1:11])
    assert trial.beside(0.75).shape == (240, 12) and trial.beside(0.0).shape == (240, 8)
    length = np.linalg.norm(trial.beside(0.75)[:, 8:], axis=1)
    np.testing.assert_allclose(length, 0.75, rtol=1e-5)


def test_without_words_there_is_one_graph(trial: Trial) -> None:
    trial.words = np.empty((240, 0), dtype=np.float32)
    trial.look({0.0, 0.5}, 5)
    np.testing.assert_array_equal(trial.graphs[0.0], nearest_rows(trial.meaning, 11))
    np.testing.assert_array_equal(trial.graphs[0.5], trial.graphs[0.0])


def test_a_longer_walk_is_kept_with_the_shorter(trial: Trial) -> None:
    trial.look({0.5}, 20)
    trial.kmeans(GRAPHS[0], 1)
    assert {Way(0.5, 10, 5), Way(0.5, 10, 8)} == set(trial.seen)
    base, near = principal_part(trial.beside(0.5), ways.DIM), trial.graphs[0.5][:, :10]
    for way, x in trial.seen.items():
        np.testing.assert_allclose(x, spread(base, near, way.rounds), atol=1e-5)


def test_the_witnesses_say_what_a_loop_says(trial: Trial) -> None:
    trial.look(set(), 5)
    labels = np.where(np.arange(240) % 7, TRUTH, 0)
    found = trial.judge(labels)
    assert found is not None
    same = [labels[i] == labels[j] for i in range(240) for j in trial.witnesses[i]]
    assert found.agreement == pytest.approx(np.mean(same))
    assert found.information == pytest.approx(word_information(trial.presence, labels, 0))
    assert found.score == found.information * found.agreement
    assert trial.judge(np.where(TRUTH == 3, 0, TRUTH)) is None  # three clusters, not four


def test_all_ways_are_tried_and_the_best_start_again(trial: Trial, monkeypatch) -> None:
    asked: list[tuple[str, int, str]] = []
    plain = Trial.kmeans

    def counted(self: Trial, way: Way, starts: int, stream: str = "first") -> np.ndarray:
        asked.append((way.name, starts, stream))
        return plain(self, way, starts, stream)

    monkeypatch.setattr(Trial, "kmeans", counted)
    done: list[int] = []
    found = try_all(trial, [PLAIN, *GRAPHS, AVERAGE], done.append, (2, 3))
    assert {*found} == {PLAIN, *GRAPHS, AVERAGE} and done[-1] == 12
    assert [how for _, *how in asked] == 11 * [[1, "first"]] + 2 * [[3, "again"]]
    order = ranked(found)
    assert [found[way].score for way in order] == sorted(f.score for f in found.values())[::-1]
    best = found[order[0]].labels
    assert len(np.unique(best)) == 4 and (best[TRUTH == 0] == best[TRUTH == 0][0]).mean() > 0.9


@pytest.mark.parametrize(("best", "linked"), [(0.0, [100, 240]), (1e9, [100])])
def test_linkage_tastes_first(trial: Trial, monkeypatch, best: float, linked: list[int]) -> None:
    monkeypatch.setattr(ways, "TASTED", (100, 2))
    sizes: list[int] = []
    plain = ways.agglomerate

    def counted(x, *rest):
        sizes.append(len(x))
        return plain(x, *rest)

    monkeypatch.setattr(ways, "agglomerate", counted)
    trial.look(set(), 5)
    labels = trial.average(best)
    assert sizes == linked and len(labels) == 240 and len(np.unique(labels)) == 4


def test_a_found_clustering_is_replaced_only_by_a_better() -> None:
    found: dict[Way, Found] = {}
    labels = np.arange(3)
    for told, kept in ((1.0, 1.0), (0.5, 1.0), (2.0, 2.0)):
        ways._keep(found, PLAIN, Found(labels, told, 1.0))
        assert found[PLAIN].score == kept
    ways._keep(found, PLAIN, None)
    assert found[PLAIN].score == 2.0
