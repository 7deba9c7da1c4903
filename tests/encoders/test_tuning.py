"""What of an encoder training may change, and what is refused."""

import pytest

from coterie.encoders import load_encoder
from coterie.encoders.tuning import check_tune, read_tune
from coterie.errors import UsageError
from said import raises


@pytest.mark.parametrize("tune", ["last-0", "last", "last-", "lora", None, 2])
def test_nonsense_is_refused(tune) -> None:
    with raises(UsageError, "tune should be full"):
        read_tune(tune)


def test_more_layers_than_there_are_and_encoders_without_layers_are_refused(tiny_encoder) -> None:
    with raises(UsageError, "layers; ask for at", "'last-3'", "2"):
        check_tune(load_encoder(str(tiny_encoder)), "last-3")
    check_tune(load_encoder(str(tiny_encoder)), "last-2")
    with raises(UsageError, "encoder has no layers", "use tune='full' or tune='heads'"):
        check_tune(load_encoder("tfidf"), "last-1")
    check_tune(load_encoder("tfidf"), "heads")


def test_layers_of_an_unknown_build_are_not_guessed(tiny_encoder) -> None:
    encoder = load_encoder(str(tiny_encoder))
    encoder.model[0].auto_model.config.num_hidden_layers = 7  # as of an encoder that shares layers
    with raises(UsageError, "the layers of a", "BertModel"):
        check_tune(encoder, "last-1")
