"""From a name, a folder or an object to an encoder, fresh or as saved with a model."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from coterie._errors import DataError, UsageError, param
from coterie._trust import check_encoder_folder, check_modules, check_shape, read_json
from coterie._validation import need
from coterie.encoders.base import Encoder
from coterie.encoders.code import CodeEncoder, load_code
from coterie.encoders.light import read_light
from coterie.encoders.locate import ASK, locate, pointer_to
from coterie.encoders.mixed import MixedEncoder, load_mixed
from coterie.encoders.sentence import Pooling, SentenceEncoder, without_bars
from coterie.encoders.shares import TopicShares
from coterie.encoders.sif import PREFIX as SIF_PREFIX
from coterie.encoders.sif import SIFEncoder
from coterie.encoders.static import PREFIX, StaticEncoder, check_static, is_static
from coterie.encoders.vectors import BagOfWords, VectorEncoder, load_vector_encoder
from coterie.words import width_of

log = logging.getLogger(__name__)

Loaders = Mapping[str, Callable[[Path], Encoder]]


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
        "precomputed", "tfidf", "tfidf-svd", "bow", "sif" (weighted means of word vectors, learned
        from the texts or from a file: "sif:FILE"), "lda" (shares of 50 topics), a folder,
        "static:FOLDER" (model2vec), a hub name in the local cache, or "hub:NAME" to allow a
        download. Objects are copied, never changed.
    max_length, normalize, pooling
        For sentence encoders, see :class:`SentenceEncoder`.
    seed : int, default=0
        For the SVD, word vectors and topics.
    """
    if isinstance(spec, Encoder):
        return copy.deepcopy(spec)
    if (made := _without_model(spec, seed)) is not None:
        return made
    if not isinstance(spec, (str, Path)):
        if type(spec).__name__ != "SentenceTransformer":
            raise UsageError(f"encoder should be a name, a folder or an encoder, got {spec!r}.")
        model, pointer = copy.deepcopy(spec), None
    else:
        folder = locate(str(spec).removeprefix(PREFIX))
        if str(spec).startswith(PREFIX):
            check_static(str(spec), folder)
        if is_static(folder) or str(spec).startswith(PREFIX):
            _no_pooling(pooling)
            found = pointer_to(str(folder.absolute()), folder)
            return StaticEncoder(
                folder, max_length=max_length, normalize=normalize, pointer=found
            ).eval()
        pointer = pointer_to(str(spec), folder)  # checks the weights before they are read
        model = _read_model(folder, max_length)
    encoder = SentenceEncoder(
        model, max_length=max_length, normalize=normalize, pooling=pooling, pointer=pointer
    )
    return encoder.eval()


def check_encoder(spec: Any) -> None:
    """Refuse a name that :func:`load_encoder` would not find, without loading anything."""
    if not isinstance(spec, str):
        raise UsageError(f"{param('encoder')} should be a name or a folder, got {spec!r:.80}.")
    if _without_model(spec, 0) is None:
        folder = locate(spec.removeprefix(PREFIX))
        if spec.startswith(PREFIX):
            check_static(spec, folder)


def _without_model(spec: Any, seed: int) -> Encoder | None:
    """Encoders that are made from the texts alone, or from nothing."""
    if spec == "precomputed":
        return VectorEncoder()
    if spec in ("tfidf", "tfidf-svd", "bow"):
        weighting = "counts" if spec == "bow" else "tfidf"
        return BagOfWords(weighting, svd=100 if spec == "tfidf-svd" else None, seed=seed)
    if spec == "lda":
        return TopicShares(seed=seed)
    if spec == "sif" or str(spec).startswith(SIF_PREFIX):
        source = str(spec).removeprefix("sif").removeprefix(":") or "auto"
        width_of(source, 1)  # refuses what is no file
        return SIFEncoder(source, seed=seed)
    return None


def _no_pooling(pooling: str) -> None:
    if pooling == "cls":
        raise UsageError(
            f"{param('pooling', 'cls')}: a static encoder has no such token; leave it at auto."
        )


def load_saved(
    folder: Path, settings: dict[str, Any], loaders: Loaders = MappingProxyType({})
) -> Encoder:
    """Load the encoder of a saved model: from its folder, or from where its pointer leads.

    Parameters
    ----------
    folder : Path
    settings : dict
        As :func:`saved_settings` gave them.
    loaders : mapping of str to callable, optional
        By kind, for encoders that one method alone has.
    """
    if "meaning" in settings:
        below = load_saved(folder / "meaning", settings["meaning"], loaders)
        mixed = settings["kind"] == MixedEncoder.kind
        return load_mixed(folder, below) if mixed else load_code(folder, below)
    if settings["kind"] == StaticEncoder.kind:
        return _load_static(folder, settings)
    if settings["kind"] != SentenceEncoder.kind:
        file = folder / "encoder.json"
        kind = check_shape(read_json(file), {"kind": str}, str(file))["kind"]
        if kind in loaders:
            return loaders[kind](folder)
        return load_vector_encoder(folder, SIFEncoder, TopicShares)
    options = {key: settings[key] for key in ("max_length", "normalize", "pooling")}
    pointer = settings.get("pointer")
    source = folder if pointer is None else _follow(pointer)
    model = _read_model(source, options["max_length"])
    encoder = SentenceEncoder(model, pointer=pointer, **options)
    encoder.encode_precision = settings.get("encode_precision", "float32")
    return encoder.eval()


def _load_static(folder: Path, settings: dict[str, Any]) -> StaticEncoder:
    pointer = settings.get("pointer")
    options = {key: settings[key] for key in ("max_length", "normalize")}
    source = folder if pointer is None else _follow(pointer)
    return StaticEncoder(source, pointer=pointer, **options)


def _follow(pointer: dict[str, Any]) -> Path:
    """The folder that a pointer names, if it holds the weights the model was made with."""
    name = check_shape(pointer, {"name": str}, "config.json.encoder.pointer")["name"]
    if name.startswith(ASK):  # only a user may ask for a download
        raise DataError(f"the model names the encoder {name!r}, which is not loaded.")
    if not isinstance(pointer.get("weights_sha256"), str):
        raise DataError(
            f"the model names the encoder {name!r} without a digest of its weights, so it is not "
            f"loaded; save it with {param('include_encoder', True)} where it was made."
        )
    source = locate(name)
    check_encoder_folder(source)
    found = pointer_to(name, source)
    if found["weights_sha256"] != pointer["weights_sha256"]:
        raise DataError(
            f"the encoder {name!r} on this machine has other weights than the one the "
            f"model was made with; save the model with {param('include_encoder', True)} where it "
            "was made."
        )
    return source


def saved_settings(encoder: Encoder, pooling: str) -> dict[str, Any]:
    """What :func:`load_saved` has to know besides the folder."""
    if isinstance(encoder, (MixedEncoder, CodeEncoder)):
        return {"kind": encoder.kind, "meaning": saved_settings(encoder.meaning, pooling)}
    if isinstance(encoder, StaticEncoder):
        static = {"max_length": encoder.max_length, "normalize": encoder.normalize}
        return {"kind": encoder.kind, **static, "pointer": encoder.pointer()}
    if not isinstance(encoder, SentenceEncoder):
        return {"kind": encoder.kind}
    return {
        "kind": encoder.kind,
        "max_length": encoder.max_length,
        "normalize": encoder.normalize,
        "pooling": pooling,
        "encode_precision": encoder.encode_precision,
        "pointer": encoder.pointer(),
    }


def _read_model(folder: Path, max_length: int) -> Any:
    """The encoder of a folder: without the libraries where that is possible, or by them."""
    whole = partial(_load_model, folder)
    return read_light(folder, max_length, whole) or whole()


def _load_model(folder: Path) -> Any:
    """Load a sentence-transformers folder in float32, quietly and without running its code."""
    library = need("sentence_transformers", "train")
    check_modules(folder)
    with without_bars():
        return library.SentenceTransformer(
            str(folder),
            device="cpu",
            trust_remote_code=False,
            local_files_only=True,
            model_kwargs={"dtype": "float32"},
        )
