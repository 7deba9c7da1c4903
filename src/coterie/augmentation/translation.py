"""Back-translation: by Apertium's rules, or by sequence-to-sequence models (Marian, NLLB, M2M100).

Apertium is one pipeline, there and back, for many texts. Models draw each word at random, from the
numbers of the text.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from coterie.augmentation.base import FACTORS, STEP, TOKEN, Augmenter, Keys, bits
from coterie.augmentation.models import batches, find_model, load_model, weights_of
from coterie.errors import CoterieError, MissingError, UsageError

PAIR = re.compile(r"[a-z]{2,3}(_[A-Za-z]+)?-[a-z]{2,3}(_[A-Za-z]+)?")
PROGRAM = re.compile(r"(^|\|\s*)([\w-]+)")  # of each part of a pipeline
SPECIAL = re.compile(r"([\[\]{}^$/\\@<>])")  # signs of Apertium's own stream format
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
# A text ends with two "superblanks", which pass through untouched, and a zero byte. The first keeps
# a final full stop from being lost.
END = "[][\n]"
LENGTH = 128  # tokens read of each text, and written at most
TOKENS = {"cpu": 1_024, "cuda": 16_384}  # of one batch


class Apertium(Augmenter):
    """Translate there and back; the same text always gives the same result.

    Parameters
    ----------
    pair : str, default="eng-spa"
        A direction as in ``apertium -l``; back-translation uses the reverse one.
    """

    kind: ClassVar[str] = "backtranslation"
    seeded = False
    slow = True
    batch = 2_000  # the programs take a second to start

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
        return [plain(new) or text for new, text in zip(found, texts, strict=False)]


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
            f"apertium-{direction}', or give two translation models: "
            "`model='FOLDER_THERE,FOLDER_BACK'`."
        )
    if not path.exists():
        raise MissingError(
            f"Apertium has no direction {direction!r} here ('apertium -l' lists them); install "
            f"'apertium-{direction}' or the package of the reverse pair."
        )
    return path


class Translation(Augmenter):
    """Translate there and back; words are drawn at random, from each text's own numbers.

    Parameters
    ----------
    there, back : str
        Folders or hub names; the same one twice for a model of many languages.
    languages : pair of str, optional
        Codes of both languages, for multilingual models ("eng_Latn", "spa_Latn").
    temperature : float, default=0.7
        0 always takes the most probable word: then all views of a text are the same.
    device : str, default="auto"
    """

    kind: ClassVar[str] = "backtranslation"
    slow = True
    batch = 1_024

    def __init__(
        self,
        there: str,
        back: str,
        languages: tuple[str, str] | None = None,
        temperature: float = 0.7,
        device: str = "auto",
    ) -> None:
        self.folders = find_model(there), find_model(back)
        self.languages, self.temperature, self.device = languages, temperature, device
        self.seeded = temperature > 0

    def settings(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "weights": self._weights,
            "languages": self.languages,
            "temperature": self.temperature,
        }

    @cached_property
    def _weights(self) -> list[str]:
        return [weights_of(folder) for folder in self.folders]

    @cached_property
    def _models(self) -> list[tuple[Any, Any]]:
        """Model and tokenizer of both directions."""
        kind, device = "AutoModelForSeq2SeqLM", self.device
        loaded = {folder: load_model(kind, folder, device) for folder in set(self.folders)}
        return [loaded[folder] for folder in self.folders]

    def apply(self, texts: Sequence[str], keys: Keys) -> list[str]:
        out = list(texts)
        for number, (model, tokenizer) in enumerate(self._models):
            codes = self.languages if number == 0 or not self.languages else self.languages[::-1]
            out = self._translate(model, tokenizer, out, bits(keys, TOKEN, number), codes)
        return [" ".join(new.split()) or old for new, old in zip(out, texts, strict=True)]

    def _translate(
        self, model: Any, tokenizer: Any, texts: list[str], keys: Keys, codes: Any
    ) -> list[str]:
        import torch

        more: dict[str, Any] = {}
        if codes:
            tokenizer.src_lang = codes[0]
            more["forced_bos_token_id"] = language_token(tokenizer, codes[1])
        rows = tokenizer(texts, truncation=True, max_length=LENGTH)["input_ids"]
        out = [""] * len(texts)
        for part in batches(model, rows, TOKENS):
            inputs = tokenizer.pad(
                {"input_ids": [rows[i] for i in part]}, padding=True, return_tensors="pt"
            ).to(model.device)
            if self.temperature > 0:
                more["logits_processor"] = [Noise(keys[part], self.temperature)]
            with torch.inference_mode():
                made = model.generate(
                    **inputs, num_beams=1, do_sample=False, max_new_tokens=LENGTH, **more
                )
            decoded = tokenizer.batch_decode(made, skip_special_tokens=True)
            for i, text in zip(part, decoded, strict=True):
                out[i] = text
        return out


def language_token(tokenizer: Any, code: str) -> int:
    """Token that tells a model of many languages which one to write."""
    if hasattr(tokenizer, "get_lang_id"):
        return int(tokenizer.get_lang_id(code))
    found = tokenizer.convert_tokens_to_ids(code)
    if found is None or found == tokenizer.unk_token_id:
        raise UsageError(f"`languages`: the model does not know the language {code!r}.")
    return int(found)


class Noise:
    """Adds Gumbel noise to scores, so that the largest one is a fair draw from the softmax.

    The noise of a word is a hash of the text's key, the number of words written and the word. So
    it does not depend on what else is in the batch, as torch's own random numbers would.
    """

    def __init__(self, keys: Keys, temperature: float) -> None:
        self.keys, self.temperature = keys, temperature

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        import torch

        step = bits(self.keys, TOKEN, input_ids.shape[1]).astype(np.int64)
        own = torch.from_numpy(step).to(scores.device)[:, None]
        word = torch.arange(scores.shape[1], device=scores.device)[None]
        share = _uniform(own, word)
        return scores.float() / self.temperature - torch.log(-torch.log(share))


def _signed(value: int) -> int:
    """64 bits as torch takes them."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _uniform(keys: Any, position: Any) -> Any:
    """Numbers between 0 and 1, both left out, as :func:`coterie.augmentation.base.uniform`."""
    z = keys + (position + 1) * _signed(STEP)  # sums and products wrap, as they should
    for shift, factor in zip((30, 27), FACTORS, strict=True):
        z = (z ^ _right(z, shift)) * _signed(factor)
    z = z ^ _right(z, 31)
    return (_right(z, 11).double() + 0.5) * 2.0**-53


def _right(z: Any, shift: int) -> Any:
    """Shift to the right and fill with zeros; torch would repeat the sign."""
    return (z >> shift) & ((1 << (64 - shift)) - 1)
