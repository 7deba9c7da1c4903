"""Aliases used in signatures all over the package, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

Floats: TypeAlias = NDArray[np.floating[Any]]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Array = TypeVar("Array", bound=NDArray[Any])  # of any kind of number
Arrays: TypeAlias = Mapping[str, NDArray[Any]]  # by name, as a file holds them
Features: TypeAlias = "dict[str, Tensor]"  # what an encoder's forward pass takes
Terms: TypeAlias = "dict[str, Tensor]"  # named loss terms, already weighted
Json: TypeAlias = Mapping[str, Any]
