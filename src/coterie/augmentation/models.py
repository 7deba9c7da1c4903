"""Language models for augmentation: found on this machine, loaded without running their code."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coterie._files import sha256_file
from coterie._types import Ints
from coterie._validation import check_device, need
from coterie.encoders.base import batches_by_length
from coterie.encoders.load import ASK, from_hub
from coterie.encoders.sentence import without_bars
from coterie.errors import UsageError


def find_model(name: str) -> Path:
    """Folder of a transformers model: a folder, a hub name in the local cache, or ``hub:NAME``."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").exists():
            raise UsageError(f"`model={name!r}`: the folder has no config.json.")
        return folder
    return from_hub("model", name, [name.removeprefix(ASK)])


def load_model(kind: str, folder: Path, device: str) -> tuple[Any, Any]:
    """A model of a class of transformers, from safetensors alone, and its tokenizer.

    It works in float32: half precision would make a word depend on the texts it was batched with.
    """
    library = need("transformers", "train")
    safe = {"local_files_only": True, "trust_remote_code": False}
    try:
        with without_bars():
            model = getattr(library, kind).from_pretrained(
                folder, dtype="float32", use_safetensors=True, **safe
            )
    except (OSError, ValueError) as error:
        raise UsageError(f"`model={str(folder)!r}` cannot be loaded: {error}") from error
    tokenizer = library.AutoTokenizer.from_pretrained(folder, **safe)
    return model.to(check_device(device)).eval(), tokenizer


def batches(model: Any, rows: Sequence[Sequence[int]], tokens: Mapping[str, int]) -> list[Ints]:
    """Positions of texts of similar length, by how many tokens a device takes at once."""
    lengths = np.array([len(row) for row in rows])
    return batches_by_length(lengths, tokens.get(model.device.type, tokens["cpu"]))


def weights_of(folder: Path) -> str:
    """Digest of all weights in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.safetensors")):
        digest.update(sha256_file(path).encode())
    return digest.hexdigest()
