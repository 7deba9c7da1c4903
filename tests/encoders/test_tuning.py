"""What of an encoder training may change, and what is refused."""

import pytest

from coterie.encoders import load_encoder
from coterie.errors import UsageError
from coterie.methods.train.layers import check_tune, moving_layers
from said import raises


@pytest.mark.parametrize("tune", ["last-0", "last", "last-", "lora", None, 2])
def test_nonsense_is_refused(tune) -> None:
    with raises(UsageError, "tune should be full"):
        moving_layers(tune)


def test_more_layers_than_there_are_and_encoders_without_layers_are_refused(tiny_encoder) -> None:
    with raises(UsageError, "layers that are known", "'last-3'", "2"):
        check_tune(load_encoder(str(tiny_encoder)), "last-3")
    check_tune(load_encoder(str(tiny_encoder)), "last-2")
    with raises(UsageError, "encoder has no layers", "use tune='full' or tune='heads'"):
        check_tune(load_encoder("tfidf"), "last-1")
    check_tune(load_encoder("tfidf"), "heads")
