"""Vectors of texts, for tests of encoders."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.encoders import Encoder


def encoded(encoder: Encoder, texts: Any) -> np.ndarray:
    """The vector of each text; rows of numbers are texts of such encoders."""
    items, rows = encoder.prepare(texts)
    return encoder.encode(items)[rows]
