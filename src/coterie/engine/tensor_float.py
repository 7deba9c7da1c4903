"""Products of float32 matrices at the precision of TF32, for as long as a training step takes.

TF32 keeps the range of float32 and 10 of its 23 bits; sums stay in float32. torch's switch is one
for the whole process, so it is put back after every step: vectors, k-means and targets between
steps are not computed under it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from coterie._torch import torch


@contextmanager
def tensor_float(wanted: bool) -> Iterator[None]:
    """Let float32 products on a GPU be faster and rounder inside the block.

    Who has changed torch's settings already keeps them.
    """
    if not (wanted and _untouched()):
        yield
        return
    newer = [(part, part.fp32_precision) for part in _newer()]
    _set("high")
    try:
        yield
    finally:
        _set("highest")
        for part, before in newer:  # the older switch leaves "ieee" there, which is not "none"
            part.fp32_precision = before


def _untouched() -> bool:
    try:
        return torch.get_float32_matmul_precision() == "highest"
    except RuntimeError:  # set by the newer switches alone: the older one has no name for it
        return False


def _set(precision: str) -> None:
    # The older switch works in all versions and moves the newer ones along; some versions warn.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.set_float32_matmul_precision(precision)


def _newer() -> list[Any]:
    """The switches of torch 2.9 and later that the older one moves."""
    parts = (torch.backends.cuda.matmul, getattr(torch.backends.mkldnn, "matmul", None))
    return [part for part in parts if _has_precision(part)]


def _has_precision(part: Any) -> bool:
    try:  # the older module raises AttributeError for any name that it does not know
        return isinstance(part.fp32_precision, str)
    except AttributeError:
        return False
