"""Disks that are full or read-only, folders that vanish, no network, little memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from coterie import TwoStep
from coterie._util import validation as _validation
from coterie.arrays.linkage import agglomerate
from coterie.errors import DataError
from said import raises

SETTINGS = ["steps=6", "batch_size=8", "checkpoint_every=0", "lr=1e-3", "head_lr=1e-2"]
COMMAND = ["cluster", "t.csv", "-k", "3", "-m", "sccl", "--encoder", "tfidf", "--out", "run", "-q"]
COMMAND += [part for setting in SETTINGS for part in ("--set", setting)]


@pytest.fixture(scope="module")
def table(topics) -> str:
    return "id,text\n" + "".join(f"{i},{text}\n" for i, text in enumerate(topics[0][:24]))


def mount(*command: str) -> bool:
    return subprocess.run(["mount", *command], capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    if not shutil.which("mount") or not mount("-t", "tmpfs", "-o", "size=16m", "tmpfs", str(disk)):
        pytest.skip("mounting a small file system is not permitted here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=False)


def test_a_read_only_disk_is_said(killer, small_disk: Path, table: str) -> None:
    (small_disk / "t.csv").write_text(table)
    assert mount("-o", "remount,ro", str(small_disk))
    assert killer.run(small_disk, *COMMAND) == 1
    assert "Read-only file system" in killer.said() and "Traceback" not in killer.said()


def test_what_does_not_fit_into_memory_is_refused_before_it_begins(topics, monkeypatch) -> None:
    monkeypatch.setattr(_validation, "free_memory", lambda: 10_000)
    with raises(DataError, "GB of memory, but") as caught:
        TwoStep(3, encoder="bow").fit(topics[0])
    assert "90 texts" in str(caught.value)
    assert "fit_sample" in str(caught.value)
    with raises(DataError, "GB of memory, but") as caught:
        agglomerate(np.random.default_rng(0).normal(size=(100, 4)).astype(np.float32), 3, "ward")
    assert "100 texts" in str(caught.value)
    assert "kmeans" in str(caught.value)


def test_free_memory_is_known_here() -> None:
    if Path("/proc/meminfo").exists():
        assert 1_000_000 < _validation.free_memory() < 1 << 50


FLOW = """
import socket, sys
from typer.testing import CliRunner
from coterie.cli import app
for command in (
    ["cluster", "sample.csv", "-k", "4", "-m", "kmeans", "--out", "run", "--set", "write=xlsx"],
    ["predict", "run", "sample.csv", "--out", "p.csv"], ["report", "run"],
    ["compare", "run", "run"],
    ["export", "run", "--to", "xlsx"], ["methods"],
):
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, (command, done.output)
try:
    socket.create_connection(("127.0.0.1", 9), timeout=1)
except OSError as error:
    print("no way out:", error.errno)
"""


@pytest.mark.slow
def test_the_whole_flow_needs_no_network_interface(tmp_path: Path, topics) -> None:
    cut_off = ["unshare", "-r", "-n"]
    if not shutil.which("unshare") or subprocess.run([*cut_off, "true"], check=False).returncode:
        pytest.skip("a namespace without network is not permitted here")
    (tmp_path / "sample.csv").write_text("text\n" + "\n".join(topics[0][:30]) + "\n")
    done = subprocess.run(
        [*cut_off, sys.executable, "-c", FLOW], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "no way out: 101" in done.stdout  # network is unreachable: there is no interface
