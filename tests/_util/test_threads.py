"""Threads of NumPy and of OpenMP in Python, as on the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import coterie
from coterie.arrays import kmeans
from coterie.models.auto import Auto


def blas() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize("call", ["cluster", "fit", "update"])
def test_products_have_one_thread_in_a_fit_and_as_many_as_before_after_it(
    call: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    texts = [f"{a} {b}" for a in ("parcel late", "refund please", "app crash") for b in "abcdef"]
    run = coterie.cluster(texts, 3, method="tfidf-kmeans", folder=tmp_path / "run")
    update = sys.modules["coterie.runs.update"]  # the package has a function of that name
    seen: list[set[int]] = []

    def watched(function: Any) -> Any:
        return lambda *args, **options: (seen.append(blas()), function(*args, **options))[1]

    monkeypatch.setattr(kmeans.KMeans, "__call__", watched(kmeans.KMeans.__call__))
    monkeypatch.setattr(update, "AddedRows", watched(update.AddedRows))
    with threadpool_limits(limits=2, user_api="blas"):
        if call == "cluster":
            coterie.cluster(texts, 3, method="tfidf-kmeans", folder=tmp_path / "again")
        elif call == "fit":
            Auto(3, encoder="tfidf").fit(texts)
        else:
            run.update(["parcel is late", "crash of the app"])
        assert blas() == {2}
    assert seen and all(one == {1} for one in seen)


@pytest.mark.parametrize(("given", "seen"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_threads_that_wait_sleep_unless_told(given: str | None, seen: str) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "OMP_WAIT_POLICY"}
    environment |= {} if given is None else {"OMP_WAIT_POLICY": given}
    # OpenMP reads the variable when torch is imported.
    code = (
        "import os, sys, coterie\n"
        "assert 'torch' not in sys.modules\n"
        "print(os.environ['OMP_WAIT_POLICY'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == seen


@pytest.mark.parametrize(("given", "seen"), [({}, 1), ({"OMP_NUM_THREADS": "2"}, 2)])
def test_threads_are_no_more_than_the_cores_that_a_container_may_use(
    given: dict[str, str], seen: int
) -> None:
    """LOKY_MAX_CPU_COUNT limits what joblib counts, as a quota does."""
    left = {k: v for k, v in os.environ.items() if "NUM_THREADS" not in k}
    asked = "import coterie._util.torch, torch; print(torch.get_num_threads())"
    said = subprocess.run(
        [sys.executable, "-c", asked],
        env={**left, "LOKY_MAX_CPU_COUNT": "1", **given},
        capture_output=True,
        check=True,
        text=True,
    )
    assert int(said.stdout) == seen
