"""``names.jsonl``: what a namer was shown and what it answered; nothing is asked twice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from coterie._errors import DataError
from coterie._trust import check_shape, open_file, parse_json

FILE = "names.jsonl"
ANSWERED = {"status": str, "digest": str, "answer": str}
LARGEST = 64 << 20  # bytes of the file
LONGEST = 2000  # characters of an answer that are kept


class Journal:
    """The lines of one file; without a file they are kept in memory alone."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.answers: dict[str, str] = {}
        self._broken = False  # the last line was cut off by a crash
        if path is not None and (path.exists() or path.is_symlink()):
            self._read(path)

    def _read(self, path: Path) -> None:
        with open_file(path, LARGEST) as file:
            for line in file:
                self._broken = not line.endswith(b"\n")
                try:
                    found = check_shape(parse_json(line, str(path)), ANSWERED, str(path))
                except DataError:
                    continue  # a line that a crash cut off: that question is asked again
                if found["status"] == "answered":
                    self.answers[found["digest"]] = found["answer"]

    def write(self, entry: Mapping[str, Any]) -> None:
        """Add a line and hand it to the disk before the next question is asked."""
        entry = {**entry, "at": datetime.now(timezone.utc).isoformat(timespec="seconds")}
        if entry.get("status") == "answered":
            self.answers[entry["digest"]] = entry["answer"]
        if self.path is None:
            return
        line = json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace")
        with self.path.open("ab") as file:
            file.write((b"\n" if self._broken else b"") + line + b"\n")
        self._broken = False
