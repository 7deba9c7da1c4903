"""Nothing grows, threads do not disturb each other, and the same input gives the same labels."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import coterie
from coterie import SCCL, TwoStep


def resident() -> int:
    """Bytes that the process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")


@needs_proc
def test_memory_handles_and_threads_do_not_grow_over_fits(topics, tmp_path, request, tried) -> None:
    fits = 200 if request.config.getoption("--slow") else 8

    def once(i: int) -> None:
        if i % 4 == 3:
            SCCL(3, encoder="tfidf", steps=3, batch_size=30, random_state=i).fit(topics[0])
        else:
            model = TwoStep(3, encoder="tfidf", random_state=i).fit(topics[0])
            model.save(tmp_path / "model")
            coterie.load(tmp_path / "model").predict(topics[0][:5])

    for i in range(max(4, fits // 4)):  # what is imported or kept once is there by now
        once(i)
    gc.collect()
    before = resident(), handles(), threading.active_count()
    for i in range(fits):
        once(i)
    gc.collect()
    tried["fits in a row"] += fits
    assert resident() - before[0] < 30e6 + 5e4 * fits
    assert handles() <= before[1] and threading.active_count() <= before[2]


@needs_proc
def test_prediction_under_eight_threads(
    topics, tiny_encoder: Path, tmp_path, request, tried
) -> None:
    requests = 10_000 if request.config.getoption("--slow") else 240
    TwoStep(3, encoder=tiny_encoder, random_state=0).fit(topics[0]).save(tmp_path / "model")
    model = coterie.load(tmp_path / "model")
    texts = topics[0][:12]
    alone = [model.predict_proba([text])[0] for text in texts]
    asked = np.random.default_rng(0).integers(0, len(texts), requests)

    def ask(i: int) -> float:
        return float(np.abs(model.predict_proba([texts[i]])[0] - alone[i]).max())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, asked[: requests // 4]))
        gc.collect()
        before = resident()
        worst = max(pool.map(ask, asked))
    gc.collect()
    tried["predictions under eight threads"] += requests
    assert worst < 1e-6
    assert resident() - before < 30e6


FIT = """
import json, sys, coterie, torch
texts, k, threads, encoder = json.load(sys.stdin)
torch.set_num_threads(threads)
out = {}
for name, more in (("kmeans", {}), ("sccl", {"steps": 4, "batch_size": 30}), ("ward", {})):
    model = coterie.make_method(name, k, encoder=encoder, random_state=0, **more).fit(texts)
    out[name] = model.labels_.tolist()
print(json.dumps(out))
"""


@pytest.mark.slow
def test_processes_and_numbers_of_threads_agree(topics, tiny_encoder: Path) -> None:
    found = []
    for hash_seed, threads in (("0", 1), ("1", 1), ("2", 2)):
        told = json.dumps([topics[0], 3, threads, str(tiny_encoder)])
        done = subprocess.run(
            [sys.executable, "-c", FIT], input=told, capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": str(threads)},
        )  # fmt: skip
        found.append(json.loads(done.stdout))
    assert found[0] == found[1]  # to the last label, in another process
    assert found[0] == found[2]  # sums in another order move no label on texts this clear


@pytest.mark.parametrize("size", [1, 7, 90])
def test_prediction_does_not_depend_on_the_number_of_texts(size: int, topics, tiny_encoder) -> None:
    model = TwoStep(3, encoder=tiny_encoder, random_state=0).fit(topics[0])
    parts = [topics[0][i : i + size] for i in range(0, 90, size)]
    found = np.concatenate([model.predict_proba(part) for part in parts])
    np.testing.assert_allclose(found, model.predict_proba(topics[0]), atol=1e-6)
    np.testing.assert_array_equal(found.argmax(axis=1), model.labels_)
