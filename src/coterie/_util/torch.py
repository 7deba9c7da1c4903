"""torch, or what stands in its place where it is not installed.

A finished run that encodes in 8 bits or by words predicts, and is served, by arrays alone. All
else asks torch for something, which then raises an error that says how to install it.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from joblib import cpu_count

from coterie.errors import MissingError

__all__ = ["INSTALLED", "F", "Tensor", "need_torch", "nn", "torch"]


def need_torch(what: str) -> None:
    """Reject what cannot be done without torch, if it is not installed."""
    if not INSTALLED:
        raise MissingError(f"{what} needs torch, which is not installed: pip install torch")


try:
    import torch
    import torch.nn.functional as F
    from torch import Tensor, nn

    INSTALLED = True
    # A container's share of the processor, which OpenMP does not know: it sees the host's cores.
    if "OMP_NUM_THREADS" not in os.environ and cpu_count() < torch.get_num_threads():
        torch.set_num_threads(cpu_count())
except ImportError:
    INSTALLED = False
    if not TYPE_CHECKING:

        class Tensor:
            """Nothing is one."""

        class Module:
            """What an encoder needs of ``torch.nn.Module`` to encode."""

            training = False

            def __init__(self) -> None:
                self._modules: dict[str, Any] = {}

            def parameters(self) -> tuple[()]:
                return ()

            def train(self, mode: bool = True) -> Module:
                self.training = mode
                return self

            def eval(self) -> Module:
                return self.train(False)

            def to(self, device: object) -> Module:
                return self

        class Missing:
            """Stands for torch or a part of it."""

            Module = Linear = Module  # what modules mention when they are imported
            Parameter, ParameterDict = staticmethod(lambda array: array), dict
            autograd = SimpleNamespace(Function=object)
            random = SimpleNamespace(fork_rng=lambda devices: nullcontext())
            bfloat16 = "bfloat16"
            OutOfMemoryError = MemoryError

            def __getattr__(self, name: str) -> Any:
                if name.startswith("__"):
                    raise AttributeError(name)
                need_torch(f"what was asked for (torch.{name})")

            def get_num_threads(self) -> int:
                """As many as there are cores for us, or as OpenMP is told."""
                return int(os.environ.get("OMP_NUM_THREADS") or cpu_count())

        torch = F = nn = Missing()
