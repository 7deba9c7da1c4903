"""Commands that are killed at chosen moments."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

DONE: Counter[str] = Counter()  # docs/reliability.md has the figures of the long run
ZYGOTE = Path(__file__).with_name("zygote.py")
TIMES = re.compile(
    rb'"(?:started|finished|when)": "[^"]*"|"peak_memory": (?:null|\d+|\{[^}]*\})'
    rb'|"seconds": (?:[\d.]+|\{[^}]*\})|(?<=<th scope="row">)(?:seconds|finished|peak memory).*'
)


@dataclass
class Killer:
    """Runs commands in copies of one process that has imported everything."""

    process: subprocess.Popen
    place: Path
    cut: set[Path] = field(default_factory=set)

    def run(self, folder: Path, *command: str, **told: object) -> int:
        """Exit code of a command in ``folder``; -9 if it was killed."""
        folder.mkdir(parents=True, exist_ok=True)
        asked = {"folder": str(folder), "command": command, "output": str(self.place / "said")}
        self.process.stdin.write(json.dumps({**asked, **told}) + "\n")
        self.process.stdin.flush()
        code = json.loads(self.process.stdout.readline())["code"]
        DONE[f"{command[0]} killed"] += code == -9
        DONE[f"{command[0]} went on after kills"] += code == 0 and folder in self.cut
        (self.cut.add if code == -9 else self.cut.discard)(folder)
        return code

    def said(self) -> str:
        """What the last command wrote, to both streams."""
        return (self.place / "said").read_text("utf-8", "replace")

    def moments(self) -> list[str]:
        """What the last command did to files, in order."""
        return (self.place / "said.moments").read_text("utf-8").splitlines()


@pytest.fixture(scope="session")
def killer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killer]:
    if not hasattr(os, "fork"):
        pytest.skip("needs a system that forks")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, str(ZYGOTE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=environment,
    ) as process:  # fmt: skip
        made = Killer(process, tmp_path_factory.mktemp("killer"))
        yield made
        process.stdin.close()


@pytest.fixture
def fast_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a disk that flushes slowly would take most time."""
    memory = Path("/dev/shm")
    if not (memory.is_dir() and os.access(memory, os.W_OK)):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="coterie-", dir=memory) as folder:
        yield Path(folder)


def content(path: Path) -> bytes:
    """What a file holds; of a workbook without its properties, which say when it was made."""
    if path.suffix != ".xlsx":
        return path.read_bytes()
    with zipfile.ZipFile(path) as book:
        names = sorted(name for name in book.namelist() if not name.startswith("docProps/"))
        return b"".join(name.encode() + book.read(name) for name in names)


@pytest.fixture(scope="session")
def fingerprints() -> Callable[[Path], dict[str, str]]:
    """Digest of each file below a folder; times and durations do not count."""

    def read(folder: Path) -> dict[str, str]:
        found = {}
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                data = TIMES.sub(b"", content(path))
                name = path.relative_to(folder).as_posix()
                found[name] = hashlib.sha256(data).hexdigest()
        return found

    return read


@pytest.fixture(scope="session")
def tried() -> Counter[str]:
    """Counts what was tried; the end of the run says how much that was."""
    return DONE


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how often commands were killed and went on, and how much else was tried."""
    for what, times in sorted(DONE.items()):
        if times:
            terminalreporter.write_line(f"{what}: {times}")
