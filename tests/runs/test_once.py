"""In one run everything is done once: the real functions are wrapped, and their calls counted."""

import traceback
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import coterie
from coterie.arrays import neighbors, outliers
from coterie.describe.terms import Terms
from coterie.encoders import Encoder, SentenceEncoder, no_cache
from coterie.encoders.lexical import VectorEncoder
from coterie.runs import fit
from coterie.texts import corpus, read

# Functions for which neighbours may be searched.
PLACES = {
    "choose_n_clusters",
    "_initial_assigner",
    "fit_neighbor_index",
    "grow",
    "make_map",
}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each step is done, and how many texts it is done for."""
    found: Counter[str] = Counter()
    clean = corpus.clean_values
    init, prepare, work = SentenceEncoder.__init__, SentenceEncoder.prepare, Encoder._work
    fitting, words = fit.Fitting.__init__, Terms.__init__

    def cleaned(values):
        found["cleaned"] += len(values)
        return clean(values)

    def loaded(self, *args, **kwargs) -> None:
        found["encoder loaded"] += 1
        init(self, *args, **kwargs)

    def prepared(self, texts):
        found["tokenised"] += len(texts)
        return prepare(self, texts)

    def encoded(self, items, index, progress):
        found["counted words" if isinstance(self, VectorEncoder) else "encoded"] += len(index)
        return work(self, items, index, progress)

    def begun(self, *args, **kwargs) -> None:
        found["fits"] += 1
        fitting(self, *args, **kwargs)

    def named(self, texts, *args) -> None:
        found["read for names"] += len(texts)
        words(self, texts, *args)

    for module in (corpus, read):
        monkeypatch.setattr(module, "clean_values", cleaned)
    monkeypatch.setattr(SentenceEncoder, "__init__", loaded)
    monkeypatch.setattr(SentenceEncoder, "prepare", prepared)
    monkeypatch.setattr(Encoder, "_work", encoded)
    monkeypatch.setattr(fit.Fitting, "__init__", begun)
    monkeypatch.setattr(Terms, "__init__", named)
    return found


@pytest.mark.parametrize("method", ["auto", "kmeans"])
def test_texts_are_cleaned_tokenised_and_encoded_once(
    counted: Counter[str], tiny_encoder: Path, topics, tmp_path: Path, method: str
) -> None:
    texts = topics[0]
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(texts) + "\n", encoding="utf-8")
    with no_cache():
        run = coterie.cluster(file, method=method, encoder=str(tiny_encoder))
    assert run.manifest["number_of_clusters"] is not None  # it was searched for
    once = {name: counted[name] for name in ("cleaned", "tokenised", "encoded", "read for names")}
    assert once == dict.fromkeys(once, len(texts))
    assert counted["encoder loaded"] == 1 and counted["fits"] == 1


@pytest.mark.parametrize(
    ("options", "places"),
    [
        ({}, ["choose_n_clusters", "_initial_assigner"]),
        ({"max_outliers": "5%"}, ["choose_n_clusters", "_initial_assigner"]),
        ({"method": "kmeans"}, ["choose_n_clusters", "grow", "fit_neighbor_index"]),
        ({"method": "kmeans", "n_clusters": 12, "levels": (3, 12)}, ["grow", "fit_neighbor_index"]),
    ],
)
def test_no_vectors_are_searched_twice(
    monkeypatch: pytest.MonkeyPatch, tiny_encoder: Path, topics, options: dict, places: list[str]
) -> None:
    distinct = [f"{text} {i}" for i, text in enumerate(topics[0])]
    found: list[tuple[bytes, str]] = []

    def watch(module, name: str) -> None:
        real = getattr(module, name)

        def search(x, rows=None, **more):
            if rows is None or len(rows) == len(x) == len(distinct):
                stack = reversed(traceback.extract_stack())
                caller = next(f.name for f in stack if f.name in PLACES)
                found.append((np.asarray(x).tobytes(), caller))
            return real(x, rows, **more)

        monkeypatch.setattr(module, name, search)

    watch(neighbors, "similarity_blocks")
    watch(outliers, "squared_distances")
    run = coterie.cluster(distinct * 2, encoder=str(tiny_encoder), **options)
    assert "outlier_score" in run.table.column_names
    # Where the fit has searched, outlier scores have no search of their own. The number of
    # clusters has: it is found on a sample of the texts, whose lexical features are learnt from
    # the sample. The map searches in fewer dimensions, and vectors of other lengths than one have
    # other neighbours by distance than by cosine.
    assert [place for _, place in found if place != "make_map"] == places
    assert len({vectors for vectors, _ in found}) == len(found)
