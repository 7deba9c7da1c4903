"""Back-translation by the rules of Apertium: one pipeline, there and back, for many texts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from coterie.errors import CoterieError, MissingError
from coterie.methods.augmentation.base import Augmenter, Keys
from coterie.texts.corpus import clean_text

PROGRAM = re.compile(r"(^|\|\s*)([\w-]+)")  # of each part of a pipeline
SPECIAL = re.compile(r"([\[\]{}^$/\\@<>])")  # signs of Apertium's own stream format
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
# A text ends with two "superblanks", which pass through untouched, and a zero byte. The first keeps
# a final full stop from being lost.
END = "[][\n]"


class Apertium(Augmenter):
    """Translate there and back; the same text always gives the same result.

    Parameters
    ----------
    pair : str, default="eng-spa"
        A direction as in ``apertium -l``; back-translation uses the reverse one.
    """

    kind: ClassVar[str] = "backtranslation"
    seeded = False

    def __init__(self, pair: str = "eng-spa") -> None:
        self.pair = pair
        self.modes = [_mode(pair), _mode("-".join(reversed(pair.split("-"))))]

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, "apertium": self.pair}

    def apply(self, texts: Sequence[str], keys: Keys) -> list[str]:
        data = "".join(SPECIAL.sub(r"\\\1", text) + END + "\0" for text in texts).encode()
        modes = [PROGRAM.sub(r"\1\2 -z", mode.read_text("utf-8").strip()) for mode in self.modes]
        command = ["sh", "-c", " | ".join(modes), "sh", "-n"]  # -n: unknown words unmarked
        done = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=False)
        found = done.stdout.decode("utf-8", "replace").split("\0")
        if len(found) <= len(texts):  # each program ends with a zero byte of its own
            raise CoterieError(
                f"apertium {self.pair} ended before all texts were translated; try 'echo test | "
                f"apertium {self.pair}'."
            )
        return [clean_text(plain(new)) or text for new, text in zip(found, texts, strict=False)]


def plain(translated: str) -> str:
    """A translated text without the signs of the stream format, blanks folded."""
    return " ".join(ESCAPED.sub(r"\1", translated.replace(END, " ")).split())


def _mode(direction: str) -> Path:
    """The file that describes the pipeline of a direction."""
    folder = Path(os.environ.get("APERTIUM_DATADIR") or "/usr/share/apertium") / "modes"
    path = folder / f"{direction}.mode"
    if not all(map(shutil.which, ("lt-proc", "apertium-transfer"))):
        raise MissingError(
            "Apertium is not installed. Install it with 'apt-get install apertium "
            f"apertium-{direction}'."
        )
    if not path.exists():
        raise MissingError(
            f"Apertium has no direction {direction!r} here ('apertium -l' lists them); install "
            f"'apertium-{direction}' or the package of the reverse pair."
        )
    return path
