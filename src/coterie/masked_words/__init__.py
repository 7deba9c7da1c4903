"""A masked language model from a sentence encoder, fitted to the user's own texts.

Contextual substitution needs a model that knows which words fit a gap. Sentence encoders come
without the head for it, so it is trained here, together with a copy of the encoder.
"""

from coterie.masked_words.train import HeadSettings, train_masked_head

__all__ = ["HeadSettings", "train_masked_head"]
