"""Encoding in bfloat16: close to float32, asked for by name only, saved, and leaves no trace."""

import numpy as np
import pytest
import torch

from coterie import TwoStep, load
from coterie.encoders import DEFAULT, load_encoder
from coterie.encoders.half import has_bfloat16

needs = pytest.mark.skipif(not has_bfloat16(), reason="this CPU has no bfloat16")
TEXTS = ["My parcel is late", "The lamp arrived broken", "How do I reset my password?"]


@needs
def test_is_close_but_not_the_same_and_leaves_the_weights_alone() -> None:
    encoder = load_encoder(DEFAULT)
    items, _ = encoder.prepare(TEXTS)
    exact, space = encoder.encode(items), encoder.space()
    before = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    encoder.encode_precision = "bfloat16"
    half = encoder.encode(items)
    assert half.dtype == np.float32 and not np.array_equal(half, exact)
    assert (half * exact).sum(axis=1).min() > 0.999
    assert encoder.space() != space  # kept apart
    after = encoder.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    encoder.encode_precision = "float32"
    np.testing.assert_array_equal(encoder.encode(items), exact)


@needs
@pytest.mark.parametrize(("precision", "seen"), [("auto", "float32"), ("bfloat16", "bfloat16")])
def test_only_by_name_and_saved_with_the_model(
    tmp_path, tiny_encoder, topics, precision: str, seen: str
) -> None:
    model = TwoStep(3, encoder=tiny_encoder, precision=precision, random_state=0).fit(topics[0])
    assert model.encoder_.encode_precision == seen
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.encoder_.encode_precision == seen
    np.testing.assert_array_equal(again.transform(topics[0]), model.transform(topics[0]))
    np.testing.assert_array_equal(again.predict(topics[0]), model.labels_)
