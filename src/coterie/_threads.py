"""Libraries that change how many threads torch uses, and putting it back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_threads() -> Iterator[None]:
    """Give torch the threads it had before the block.

    UMAP's compiled loops set the number for the whole process; with another number sums come in
    another order, and the same seed would no longer give the same numbers.
    """
    import torch

    before = torch.get_num_threads()
    try:
        yield
    finally:
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)
