"""Random numbers that belong to a text."""

import numpy as np

from coterie.methods.augmentation.base import (
    FACTORS,
    STEP,
    bits,
    text_keys,
)

WORD = (1 << 64) - 1


def slow_bits(key: int, stream: int, position: int) -> int:
    """SplitMix64's output function in Python's own whole numbers."""
    z = (key + ((stream << 32) + position + 1) * STEP) & WORD
    for shift, factor in zip((30, 27), FACTORS, strict=True):
        z = ((z ^ (z >> shift)) * factor) & WORD
    return z ^ (z >> 31)


def test_bits_are_those_of_the_loop_and_of_the_published_generator() -> None:
    # First outputs of SplitMix64 with seed 0, as its reference implementation prints them.
    assert [int(b) for b in bits(np.zeros(2, np.uint64), 0, np.arange(2))] == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
    ]
    keys = np.array([0, 1, 2**63, 2**64 - 1], dtype=np.uint64)
    for stream in (0, 7):
        for position in (0, 1, 2**31):
            found = [int(b) for b in bits(keys, stream, position)]
            assert found == [slow_bits(int(k), stream, position) for k in keys]


def test_keys_depend_on_text_and_settings_alone() -> None:
    together = text_keys(["a", "b", "ß\ud800"], {"seed": 1})
    assert [int(text_keys([t], {"seed": 1})[0]) for t in ("a", "b", "ß\ud800")] == together.tolist()
    assert set(together.tolist()).isdisjoint(text_keys(["a", "b"], {"seed": 2}).tolist())
