"""``coterie cache``; how threads wait."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from commands import run
from coterie._cache import AUGMENTATIONS, Cache


def test_the_cache_is_shown_and_cleared(tmp_path: Path, monkeypatch, topics, tiny_encoder) -> None:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "t.csv").write_text("text\n" + "\n".join(topics[0]) + "\n")
    cluster = ["cluster", tmp_path / "t.csv", "-k", 3, "-m", "kmeans", "--encoder", tiny_encoder]
    folder = tmp_path / "cache" / "vectors"
    assert run("cache", "path").stdout.strip() == str(folder)
    run(*cluster, "--out", tmp_path / "x")
    assert folder.exists()
    augmentations = Cache("a" * 64, AUGMENTATIONS)
    augmentations.write([b"1" * 16], [b"one"])
    assert "in 1 file" in run("cache").stdout
    shown = json.loads(run("cache", "--json").stdout)
    assert shown["augmentations"]["files"] == 1 and shown["augmentations"]["bytes"] > 0
    said = run("cache", "clear").stdout
    assert "in 1 file, deleted" in said and "augmentations" in said
    assert dict(augmentations.find([b"1" * 16])) == {}
    assert "0.0 MB in 0 files" in run("cache", "size").stdout


THREADS = "OPENBLAS_NUM_THREADS"


@pytest.mark.parametrize(("given", "seen"), [({}, "1"), ({THREADS: "2"}, "2")])
def test_threads_and_garbage_take_little_unless_told(given: dict[str, str], seen: str) -> None:
    environment = {k: v for k, v in os.environ.items() if k != THREADS} | given
    # A child of the command sees what libraries see; they must not have been there before.
    code = (
        "import gc, subprocess, sys, coterie.cli\n"
        "often = gc.get_threshold()[0]\n"
        "a = sys.modules['coterie.cli.app']\n"
        "assert not {'torch', 'numpy'} & set(sys.modules)\n"
        f"show = 'import os; print(os.environ[\"{THREADS}\"])'\n"
        "a.app = lambda: subprocess.run([sys.executable, '-c', show], check=True)\n"
        "a.main()\n"
        "assert gc.get_threshold()[0] > often and gc.get_freeze_count() > 0"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == seen
