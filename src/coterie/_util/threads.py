"""One thread for products of NumPy.

They are small here, and two threads of OpenBLAS take longer for them than one, many times longer
where other programs use the processor. torch and onnxruntime, which encode and search neighbours,
have threads of their own. With one thread, sums also do not depend on the number of cores.
What waiting threads of OpenMP do is said in ``coterie/__init__.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Give NumPy and SciPy one thread inside the block, or in the function that it decorates."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield
