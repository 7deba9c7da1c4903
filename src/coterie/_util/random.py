"""One seed drives everything, and the global random state stays as it was.

Every consumer derives its own stream from the run's seed and a path of names, so adding a
consumer never shifts the numbers that another one draws.
"""

from __future__ import annotations

import numbers
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie._util.types import Ints
from coterie.errors import UsageError

if TYPE_CHECKING:
    import torch


def resolve_seed(random_state: Any) -> int:
    """Turn scikit-learn's ``random_state`` (None, int, RandomState, Generator) into one integer."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint32)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    check_seed(random_state)
    return int(random_state)


def check_seed(random_state: Any) -> None:
    """Refuse what :func:`resolve_seed` cannot take, without drawing from a generator."""
    if random_state is None or isinstance(
        random_state, (np.random.Generator, np.random.RandomState, numbers.Integral)
    ):
        return
    raise UsageError(
        f"`random_state` should be an integer, None or a numpy generator, got {random_state!r:.80}."
    )


def derive_seed(seed: int, *path: str | int) -> int:
    """A 32-bit seed of its own for the consumer named by ``path``; equal input, equal seed."""
    key = tuple(p if isinstance(p, int) else zlib.crc32(p.encode()) for p in path)
    return int(np.random.SeedSequence(abs(seed), spawn_key=key).generate_state(1, np.uint32)[0])


def numpy_generator(seed: int, *path: str | int) -> np.random.Generator:
    """A numpy generator of its own for the consumer named by ``path``."""
    return np.random.default_rng(derive_seed(seed, *path))


def some_rows(n: int, most: int, seed: int, *path: str | int) -> Ints:
    """All of ``n`` rows, or ``most`` of them drawn at random; in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(numpy_generator(seed, *path).choice(n, most, replace=False))


@contextmanager
def torch_seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch inside the block and put its global state back afterwards."""
    import torch

    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield
