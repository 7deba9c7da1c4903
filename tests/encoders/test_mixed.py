"""Words beside meaning: lengths, identical texts, saving."""

from pathlib import Path

import numpy as np
import pytest

import coterie
from coterie import TwoStep
from coterie._errors import UsageError
from coterie.encoders import MixedEncoder, load_encoder


def test_each_part_has_its_length_and_texts_share_items(tiny_encoder: Path, topics) -> None:
    texts = [*topics[0], topics[0][3]]
    encoder = MixedEncoder(load_encoder(str(tiny_encoder)), 0.5)
    encoder.learn(texts)
    items, rows = encoder.prepare(texts)
    assert rows[-1] == rows[3] and len(items) == len(set(texts))
    vectors = encoder.encode(items)
    assert vectors.shape == (len(items), encoder.dim) == (len(items), 32 + encoder.words.dim)
    np.testing.assert_allclose(np.linalg.norm(vectors[:, :32], axis=1), 1, rtol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(vectors[:, 32:], axis=1), 0.5, rtol=1e-4)
    some = np.array([5, 2])
    np.testing.assert_allclose(encoder.encode(items, some), vectors[some], atol=1e-6)


def test_it_cannot_be_trained(tiny_encoder: Path) -> None:
    encoder = MixedEncoder(load_encoder(str(tiny_encoder)), 0.5)
    with pytest.raises(UsageError, match="cannot be trained"):
        encoder({})


@pytest.mark.parametrize("whole", [False, True])
def test_a_model_with_words_comes_back(tiny_encoder: Path, topics, tmp_path, whole: bool) -> None:
    texts, _ = topics
    model = TwoStep(3, encoder=str(tiny_encoder), word_weight=1.0, smooth=2, random_state=0)
    model.fit(texts)
    model.save(tmp_path / "m", include_encoder=whole)
    assert (tmp_path / "m" / "encoder" / "meaning").exists() == whole
    again = coterie.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(texts), model.labels_)
    new = ["ripe pear juice", "unheard of"]
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
