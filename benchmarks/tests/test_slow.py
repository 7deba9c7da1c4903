"""Real encoder, real data: our path gives what sentence-transformers and scikit-learn give.

The reference is computed here, with those two libraries alone, so no number is copied.
"""

from pathlib import Path

import numpy as np
import pytest

from coterie import SCCL, TwoStep
from coterie.arrays.metrics import accuracy, nmi
from coterie.encoders import DEFAULT
from coterie.encoders.load import locate
from coterie_bench.datasets import CARDS, find_pairs, load_dataset

BENCHMARKS = [name for name, card in CARDS.items() if card.group == "benchmark"]


def reference(texts: list[str], k: int, seeds: int) -> list:
    from sentence_transformers import SentenceTransformer
    from sklearn.cluster import KMeans

    model = SentenceTransformer(str(locate(DEFAULT)), device="cpu")
    vectors = model.encode(texts, batch_size=128)
    return [KMeans(k, n_init=10, random_state=s).fit(vectors).labels_ for s in range(seeds)]


def close_to_the_reference(
    name: str, folder: Path, seeds: int, rows: int | None = None, close: float = 0.015
) -> None:
    data = load_dataset(name, folder)
    texts, labels = data.texts[:rows], data.labels[:rows]
    k = len(set(labels))
    theirs = reference(texts, k, seeds)
    ours = [TwoStep(k, random_state=s).fit(texts).labels_ for s in range(seeds)]
    expected = np.mean([nmi(labels, found) for found in theirs])
    found = np.mean([nmi(labels, found) for found in ours])
    assert found == pytest.approx(expected, abs=close)


def test_encoder_and_kmeans_on_some_of_tweet(benchmarks: Path) -> None:
    close_to_the_reference("tweet", benchmarks, seeds=1, rows=300, close=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("name", BENCHMARKS)
def test_encoder_and_kmeans_on_the_benchmarks(name: str, benchmarks: Path) -> None:
    close_to_the_reference(name, benchmarks, seeds=2)


@pytest.mark.gpu
def test_sccl_improves_on_its_start_on_tweet(benchmarks: Path) -> None:
    data = load_dataset("tweet", benchmarks)
    views = find_pairs("tweet", "contextual10", benchmarks)
    model = SCCL.from_preset("official-code", n_clusters=89, steps=500, views=str(views),
                             random_state=0).fit(data.texts)  # fmt: skip
    assert nmi(data.labels, model.labels_) > nmi(data.labels, model.start_labels_) + 0.01
    assert accuracy(data.labels, model.labels_) > 0.6
