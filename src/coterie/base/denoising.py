"""A denoising autoencoder around any encoder: noise, decoder and reconstruction loss (TSDAE)."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from coterie._errors import UsageError
from coterie._types import Features
from coterie.blocks.noise import delete_entries, delete_words
from coterie.blocks.token_decoder import Shared, TokenDecoder, shared_parts
from coterie.encoders import Encoder, SentenceEncoder, VectorEncoder


def know_words(encoder: Encoder) -> None:
    """Let the encoder keep the word of each token; refuse one that no decoder fits."""
    if isinstance(encoder, SentenceEncoder):
        _shared(encoder)
        encoder.keep_words = True
    elif not isinstance(encoder, VectorEncoder):
        raise UsageError(f"encoder: what a {encoder.kind!r} encoder reads cannot be reconstructed.")


def forget_words(encoder: Encoder) -> None:
    """Prediction needs no words."""
    if isinstance(encoder, SentenceEncoder):
        encoder.keep_words = False


def make_decoder(encoder: Encoder) -> nn.Module:
    """A decoder with the encoder's own layers; one linear layer where the input are numbers."""
    if isinstance(encoder, SentenceEncoder):
        return TokenDecoder(_shared(encoder))
    return nn.Linear(encoder.dim, encoder.dim)


def add_noise(encoder: Any, features: Features, ratio: float) -> Features:
    """The texts without a share of their words; rows of numbers lose entries instead."""
    if "vectors" in features:
        return {"vectors": delete_entries(features["vectors"], ratio)}
    ids, mask, words = (features[key] for key in ("input_ids", "attention_mask", "word_ids"))
    ids, mask = delete_words(ids, mask, words, ratio, encoder.tokenizer.pad_token_id or 0)
    return {"input_ids": ids, "attention_mask": mask}


def reconstruction_loss(encoder: Any, decoder: Any, features: Features, z: Tensor) -> Tensor:
    """Cross entropy of the clean tokens, written again from the vectors ``z`` of shape (n, d).

    For rows of numbers it is the squared error over the rows' own squares: 1 is what an output of
    zeros costs, whatever the scale of the numbers.
    """
    if "vectors" in features:
        rows = features["vectors"]
        error: Tensor = (decoder(z) - rows).square().sum()
        return error / rows.square().sum().clamp(min=1e-12)
    ids, mask = features["input_ids"], features["attention_mask"]
    loss: Tensor = decoder.loss(_shared(encoder), ids, mask, z, encoder.compute_dtype)
    return loss


def _shared(encoder: SentenceEncoder) -> Shared:
    return shared_parts(encoder.model[0].auto_model)
