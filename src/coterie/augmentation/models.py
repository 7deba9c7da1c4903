"""Language models for augmentation: found on this machine, loaded without running their code."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from coterie._files import sha256_file
from coterie._validation import need
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


def load_model(loader: Any, folder: Path) -> Any:
    """A model in float32, from safetensors alone.

    Half precision would make a word depend on the texts it was batched with.
    """
    try:
        with without_bars():
            model = loader.from_pretrained(
                folder,
                dtype="float32",
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
            )
    except (OSError, ValueError) as error:
        raise UsageError(f"`model={str(folder)!r}` cannot be loaded: {error}") from error
    return model.eval()


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of a model."""
    tokenizers = need("transformers", "train").AutoTokenizer
    return tokenizers.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def weights_of(folder: Path) -> str:
    """Digest of all weights in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.safetensors")):
        digest.update(sha256_file(path).encode())
    return digest.hexdigest()
