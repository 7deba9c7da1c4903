"""Torch gets its threads back, also after an error."""

import pytest
import torch

from coterie._threads import kept_threads


def test_threads_are_as_before() -> None:
    before = torch.get_num_threads()
    with kept_threads():
        torch.set_num_threads(before + 1)
    assert torch.get_num_threads() == before
    with pytest.raises(ValueError), kept_threads():
        torch.set_num_threads(before + 1)
        raise ValueError
    assert torch.get_num_threads() == before
