"""Seeds: derived, independent, and without traces in the global state."""

import numpy as np
import torch

from coterie._util.random import derive_seed, numpy_generator, resolve_seed, torch_seeded


def test_derived_seeds_depend_on_seed_and_path() -> None:
    seeds = {derive_seed(s, *p) for s in (0, 1) for p in [("a",), ("b",), ("a", 1), ("a", "b")]}
    assert len(seeds) == 8
    assert derive_seed(3, "x", 2) == derive_seed(3, "x", 2)


def test_random_state_may_be_anything_scikit_learn_knows() -> None:
    assert resolve_seed(7) == 7
    assert resolve_seed(np.random.default_rng(0)) == resolve_seed(np.random.default_rng(0))
    state = np.random.RandomState(0)
    assert resolve_seed(state) != resolve_seed(state)
    assert resolve_seed(None) != resolve_seed(None)


def test_torch_is_seeded_inside_and_untouched_outside() -> None:
    torch.manual_seed(99)
    before = torch.get_rng_state()
    draws = []
    for _ in range(2):
        with torch_seeded(5, torch.device("cpu")):
            draws.append(torch.rand(3))
    assert torch.equal(*draws)
    assert torch.equal(before, torch.get_rng_state())


def test_generators_are_repeatable() -> None:
    assert numpy_generator(1, "x").integers(1000) == numpy_generator(1, "x").integers(1000)
