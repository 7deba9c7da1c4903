"""Language models for augmentation: found on this machine, loaded without running their code."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from coterie._errors import MissingError, UsageError
from coterie._files import sha256_file
from coterie._validation import need
from coterie.encoders.load import ASK
from coterie.encoders.sentence import without_bars


def find_model(name: str) -> Path:
    """Folder of a transformers model: a folder, a hub name in the local cache, or ``hub:NAME``."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").exists():
            raise UsageError("augment.model_no_config", model=name)
        return folder
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    download = name.startswith(ASK)
    try:
        return Path(snapshot_download(name.removeprefix(ASK), local_files_only=not download))
    except HFValidationError as error:
        raise UsageError("augment.model_not_a_name", model=name) from error
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        if download:
            raise MissingError("augment.model_not_downloaded", model=name) from error
        raise MissingError("augment.model_not_here", model=name, hub=f"{ASK}{name}") from error


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
        raise UsageError("augment.model_unreadable", model=str(folder), error=error) from error
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


def batches(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Numbers of texts of similar length, about ``tokens`` tokens together."""
    part: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if part and (len(part) + 1) * lengths[part[0]] > tokens:
            yield part
            part = []
        part.append(i)
    if part:
        yield part
