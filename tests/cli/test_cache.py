"""``coterie cache`` and --no-cache; one encoding per command; how threads wait."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import commands
from coterie.encoders import SentenceEncoder


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, topics, tiny_encoder):
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "t.csv").write_text("text\n" + "\n".join(topics[0]) + "\n")

    def go(*arguments: str):
        return commands.run(*arguments).stdout

    def cluster(out: str, *more: str):
        where = ["--out", str(tmp_path / out), "--encoder", str(tiny_encoder), "-q"]
        return go("cluster", str(tmp_path / "t.csv"), "-m", "kmeans", *where, *more)

    go.cluster = cluster
    return go


def test_choosing_the_number_and_clustering_encode_once(run, tmp_path, monkeypatch) -> None:
    worked = []
    real = SentenceEncoder._work

    def count(self, items, index, progress):
        worked.append(len(index))
        return real(self, items, index, progress)

    monkeypatch.setattr(SentenceEncoder, "_work", count)
    run.cluster("a")  # finds the number, then clusters
    assert worked == [90]
    run.cluster("b", "-k", "4")
    run("predict", str(tmp_path / "a"), str(tmp_path / "t.csv"), "--out", str(tmp_path / "p.csv"))
    assert worked == [90]
    run.cluster("c", "-k", "3", "--no-cache")
    assert worked[0] == 90 and sum(worked) >= 180
    before = sum(worked)
    run.cluster("d", "-k", "5")  # the switch was for that one command
    assert sum(worked) == before


def test_path_size_and_clear(run, tmp_path) -> None:
    folder = tmp_path / "cache" / "vectors"
    assert run("cache", "path").strip() == str(folder)
    run.cluster("x", "-k", "3", "--no-cache")
    assert not folder.exists()
    run.cluster("a", "-k", "3")
    assert "in 1 file" in run("cache")
    assert "in 1 file, deleted" in run("cache", "clear")
    assert "0.0 MB in 0 files" in run("cache", "size")


@pytest.mark.parametrize(("given", "seen"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_threads_wait_without_spinning_unless_told(given: str | None, seen: str) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "OMP_WAIT_POLICY"}
    environment |= {} if given is None else {"OMP_WAIT_POLICY": given}
    # A child of the command sees what OpenMP sees; torch must not have been there before.
    code = (
        "import subprocess, sys, coterie.cli\n"
        "a = sys.modules['coterie.cli.app']\n"
        "assert 'torch' not in sys.modules\n"
        "show = 'import os; print(os.environ[\"OMP_WAIT_POLICY\"])'\n"
        "a.app = lambda: subprocess.run([sys.executable, '-c', show], check=True)\n"
        "a.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == seen
