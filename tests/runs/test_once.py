"""In one run everything is done once: the real functions are wrapped, and their calls counted."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import coterie
from coterie import neighbors, outliers
from coterie.corpus import corpus, read
from coterie.encoders import Encoder, SentenceEncoder, no_cache
from coterie.runs import clustering


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each step is done, and how many texts it is done for."""
    found: Counter[str] = Counter()
    clean = corpus.clean_values
    init, prepare, work = SentenceEncoder.__init__, SentenceEncoder.prepare, Encoder._work
    fitting = clustering.Fitting.__init__

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
        found["encoded" if isinstance(self, SentenceEncoder) else "counted words"] += len(index)
        return work(self, items, index, progress)

    def begun(self, *args, **kwargs) -> None:
        found["fits"] += 1
        fitting(self, *args, **kwargs)

    for module in (corpus, read):
        monkeypatch.setattr(module, "clean_values", cleaned)
    monkeypatch.setattr(SentenceEncoder, "__init__", loaded)
    monkeypatch.setattr(SentenceEncoder, "prepare", prepared)
    monkeypatch.setattr(Encoder, "_work", encoded)
    monkeypatch.setattr(clustering.Fitting, "__init__", begun)
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
    once = {name: counted[name] for name in ("cleaned", "tokenised", "encoded")}
    assert once == dict.fromkeys(once, len(texts))
    assert counted["encoder loaded"] == 1 and counted["fits"] == 1


@pytest.mark.parametrize("max_outliers", [None, "5%"])
def test_no_two_neighbour_searches_compare_the_same_vectors(
    monkeypatch: pytest.MonkeyPatch, tiny_encoder: Path, topics, max_outliers: str | None
) -> None:
    texts, found = [f"{text} {i}" for i, text in enumerate(topics[0])] * 2, []
    real = neighbors.similarity_blocks

    def search(x, rows=None, **options):
        if rows is None or len(rows) == len(x) == len(topics[0]):
            found.append((np.asarray(x).tobytes(), options.get("metric", "inner")))
        return real(x, rows, **options)

    for module in (neighbors, outliers):
        monkeypatch.setattr(module, "similarity_blocks", search)
    coterie.cluster(texts, encoder=str(tiny_encoder), max_outliers=max_outliers)
    assert len(found) >= 3, "the number of clusters, the fit and the outliers need one each"
    assert len(set(found)) == len(found)
