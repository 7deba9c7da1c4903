"""Back-translation by Apertium's rules: one pipeline, there and back, for all texts of a run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from coterie._errors import CoterieError, MissingError, UsageError, param
from coterie.augmentation.base import Augmenter
from coterie.augmentation.draws import Keys

PAIR = re.compile(r"[a-z]{2,3}(_[A-Za-z]+)?-[a-z]{2,3}(_[A-Za-z]+)?")
PROGRAM = re.compile(r"(^|\|\s*)([\w-]+)")  # of each part of a pipeline
SPECIAL = re.compile(r"([\[\]{}^$/\\@<>])")  # signs of Apertium's own stream format
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
# A text ends with two "superblanks", which pass through untouched, and a zero byte. The first keeps
# a final full stop from being lost; the line end in the second makes line-buffered programs that
# do not obey the zero byte pass the text on.
END = "[][\n]"
MORE = 2  # full stops that push the last real one out of the pipeline


class Apertium(Augmenter):
    """Translate there and back; the same text always gives the same result.

    Parameters
    ----------
    pair : str, default="eng-spa"
        A direction as in ``apertium -l``; the way back is the reverse one.
    """

    kind: ClassVar[str] = "backtranslation"
    seeded = False
    slow = True
    batch = 500

    def __init__(self, pair: str = "eng-spa") -> None:
        self.pair = pair
        self.modes = [_mode(pair), _mode("-".join(reversed(pair.split("-"))))]
        self._ends: list[subprocess.Popen[bytes]] = []
        self._owed = 0  # full stops that are still inside
        self._rest = b""  # the beginning of a text whose end is not there yet

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, "apertium": self.pair}

    def apply(self, texts: Sequence[str], keys: Keys) -> list[str]:
        if not texts:
            return []
        if not self._ends:
            self._start()
        sent = [*texts, *["."] * MORE]
        data = "".join(SPECIAL.sub(r"\\\1", text) + END + "\0" for text in sent).encode()
        writer = threading.Thread(target=self._write, args=(data,), daemon=True)
        writer.start()
        found = self._read(self._owed + len(texts))
        writer.join()
        wanted = found[self._owed : self._owed + len(texts)]
        self._owed += len(sent) - len(found)
        return [plain(part) or text for part, text in zip(wanted, texts, strict=True)]

    def _start(self) -> None:
        source: Any = subprocess.PIPE
        for mode in self.modes:
            line = PROGRAM.sub(r"\1\2 -z", mode.read_text("utf-8").strip())
            command = ["stdbuf", "-oL", "sh", "-c", line, "sh", "-n"]  # -n: unknown words unmarked
            process = subprocess.Popen(command, stdin=source, stdout=subprocess.PIPE)
            if self._ends and self._ends[-1].stdout is not None:
                self._ends[-1].stdout.close()  # the next process has it now
            source = process.stdout
            self._ends.append(process)
        self._owed, self._rest = 0, b""

    def _write(self, data: bytes) -> None:
        pipe: Any = self._ends[0].stdin
        try:
            pipe.write(data)
            pipe.flush()
        except OSError:  # the reader will find the end and say so
            return

    def _read(self, least: int) -> list[str]:
        """At least so many texts, and whatever else is ready."""
        pipe: Any = self._ends[-1].stdout
        data = self._rest
        while data.count(b"\0") < least:
            part = pipe.read1(1 << 16)
            if not part:
                self.close()
                raise CoterieError(
                    f"apertium {self.pair} ended before all texts were translated; try "
                    f"'echo test | apertium {self.pair}'."
                )
            data += part
        *found, self._rest = data.split(b"\0")
        return [text.decode("utf-8", "replace") for text in found]

    def close(self) -> None:
        ends, self._ends = self._ends, []
        for process in ends:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None and not pipe.closed:
                    pipe.close()
        for process in ends:
            process.wait()


def plain(translated: str) -> str:
    """A translated text without the signs of the stream format, blanks folded."""
    return " ".join(ESCAPED.sub(r"\1", translated.replace(END, " ")).split())


def _mode(direction: str) -> Path:
    """The file that describes the pipeline of a direction."""
    if not PAIR.fullmatch(direction):
        raise UsageError(f"{param('model', direction)} is no pair of languages such as 'eng-spa'.")
    folder = Path(os.environ.get("APERTIUM_DATADIR") or "/usr/share/apertium") / "modes"
    path = folder / f"{direction}.mode"
    if not all(map(shutil.which, ("lt-proc", "apertium-transfer", "stdbuf"))):
        raise MissingError(
            "Apertium is not on this machine. Install it with 'apt-get install apertium "
            f"apertium-{direction}', or give two translation models: "
            f"{param('model', 'FOLDER_THERE,FOLDER_BACK')}."
        )
    if not path.exists():
        raise MissingError(
            f"Apertium has no direction {direction!r} here ('apertium -l' lists them); install "
            f"'apertium-{direction}' or the package of the reverse pair."
        )
    return path
