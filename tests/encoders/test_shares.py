"""Topic shares: those of scikit-learn, also after a saved encoder was loaded."""

from pathlib import Path

import numpy as np
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer

from coterie.encoders import TopicShares, load_encoder, load_saved
from coterie.encoders.load import saved_settings


def test_shares_equal_scikit_learn(topics) -> None:
    texts, _ = topics
    encoder = TopicShares(3, seed=5, max_iter=8)
    encoder.learn(texts)
    items, rows = encoder.prepare(texts)
    counts = CountVectorizer().fit_transform(texts)
    model = LatentDirichletAllocation(
        3, doc_topic_prior=0.1, max_iter=8, learning_method="batch", random_state=5
    )
    wanted = model.fit(counts).transform(counts)
    np.testing.assert_allclose(encoder.encode(items)[rows], wanted, atol=1e-4)
    words = CountVectorizer().fit(texts).get_feature_names_out()
    best = [words[i] for i in np.argsort(-model.components_[0])[:4]]
    assert encoder.top_words(4)[0] == best


def test_saved_and_loaded(topics, tmp_path: Path) -> None:
    texts = topics[0][:30]
    encoder = load_encoder("lda")
    assert encoder.n_topics == 50
    encoder = TopicShares(4)
    encoder.learn(texts)
    wanted = encoder.encode(encoder.prepare(texts)[0])
    np.testing.assert_allclose(wanted.sum(axis=1), 1, rtol=1e-5)
    encoder.save(tmp_path / "e")
    again = load_saved(tmp_path / "e", saved_settings(encoder, "auto"))
    np.testing.assert_array_equal(again.encode(again.prepare(texts)[0]), wanted)
    assert again.top_words(3) == encoder.top_words(3)
