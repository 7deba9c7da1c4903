"""Static encoders: a vector per token looked up in a table, and their mean. No network at all.

The folder is as model2vec writes it: ``config.json``, ``tokenizer.json`` and ``model.safetensors``
with ``embeddings``, and perhaps ``weights`` of the tokens and a ``mapping`` from tokens to rows; or
it is that of the package wordllama. Code of packages is not run, only their files are read.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from coterie._files import atomic_path, write_json
from coterie._torch import F, Tensor
from coterie._trust import LARGE, check_array, check_file, read_json
from coterie._types import Features, Ints
from coterie.encoders.base import Encoder, RaggedTokens, distinct
from coterie.errors import DataError, MissingError, UsageError

PREFIX = "static:"
FILES = ("config.json", "tokenizer.json", "model.safetensors")
MODEL2VEC = {"config": FILES[0], "tokenizer": FILES[1], "table": FILES[2]}
WORDLLAMA = {
    "tokenizer": "tokenizers/l2_supercat_tokenizer_config.json",
    "table": "weights/l2_supercat_256.safetensors",
}
TABLES = ("embeddings", "embedding.weight")  # what the table is called, there and there
# The package wordllama brings its vectors; any other with a model2vec folder in it will do, too.
# The package model2vec brings none: it keeps its models in the local cache of the hub.
MODELS = {"model2vec": "minishlab/potion-base-8M"}  # names and what they are called on the hub
NOTHING = -1  # stands for a text of which no token is known
CHARACTERS = 100  # per token; what lies behind cannot be among the first max_length tokens


class StaticEncoder(Encoder):
    """The mean of the vectors of a text's tokens.

    Parameters
    ----------
    folder : Path
        Of a model2vec model.
    max_length : int, default=128
        Tokens read of each text.
    normalize : bool, optional
        Vectors of unit length. Default: as the folder says.
    pointer : dict, optional
        Where the model came from, with a digest of its table.
    """

    kind: ClassVar[str] = "static"
    tokens_per_batch: ClassVar[int | None] = 65_536  # nothing but sums
    table: Tensor  # (rows, dim)
    token_weights: Tensor | None  # (tokens,)
    mapping: Tensor | None  # (tokens,), the row of each

    def __init__(
        self,
        folder: Path,
        *,
        max_length: int = 128,
        normalize: bool | None = None,
        pointer: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.folder, self.max_length, self._pointer = folder, max_length, pointer
        self.files = static_files(folder)
        said = True  # wordllama compares texts so
        if "config" in self.files:
            said = bool(read_json(self.files["config"].resolve()).get("normalize", False))
        self.normalize = said if normalize is None else normalize
        table, weights, mapping = _read_table(self.files["table"])
        self.register_buffer("table", table)
        self.register_buffer("token_weights", weights, persistent=False)
        self.register_buffer("mapping", mapping, persistent=False)
        self.dim = table.shape[1]
        self.tokenizer, self.unknown = _read_tokenizer(self.files["tokenizer"])

    def prepare(self, texts: Sequence[str]) -> tuple[RaggedTokens, Ints]:
        first, rows = distinct(texts)
        clipped = [texts[i][: CHARACTERS * self.max_length] for i in first]
        found = self.tokenizer.encode_batch(clipped, add_special_tokens=False)
        tokens = [self._known(one.ids) or [NOTHING] for one in found]
        kept, items = distinct(map(tuple, tokens))
        return RaggedTokens.build([tokens[i] for i in kept], NOTHING), items[rows]

    def _known(self, ids: list[int]) -> list[int]:
        return [i for i in ids if i != self.unknown][: self.max_length]

    def word_pieces(self, words: list[str]) -> tuple[list[list[int]], int | None]:
        found = self.tokenizer.encode_batch(words, add_special_tokens=False)
        return [list(one.ids) for one in found], self.unknown

    def token_texts(self) -> list[str]:
        return list(self.tokenizer.get_vocab())

    def forward(self, features: Features) -> Tensor:
        ids = features["input_ids"]
        here = (features["attention_mask"] > 0) & (ids != NOTHING)
        counts = here.sum(dim=1)
        tokens = ids[here]  # of all texts, end to end
        starts = counts.cumsum(dim=0) - counts
        rows = tokens if self.mapping is None else self.mapping[tokens]
        scale = None if self.token_weights is None else self.token_weights[tokens]
        total = F.embedding_bag(rows, self.table, starts, mode="sum", per_sample_weights=scale)
        mean = total / counts[:, None].clamp(min=1)  # by number, not by weight
        return F.normalize(mean, dim=1) if self.normalize else mean

    def make_trainable(self) -> None:
        raise UsageError(
            "encoder: a static encoder cannot be trained; use a method that does not train "
            "(auto, kmeans, ward) or a sentence encoder such as all-MiniLM-L6-v2."
        )

    def pointer(self) -> dict[str, Any] | None:
        return self._pointer

    def save(self, folder: Path) -> None:
        for part, file in self.files.items():
            with atomic_path(folder / MODEL2VEC[part]) as temporary:
                shutil.copyfile(file, temporary)
        if "config" not in self.files:
            write_json(folder / "config.json", {"model_type": "model2vec", "normalize": True})


def static_files(folder: Path) -> dict[str, Path]:
    """The files of a static encoder in a folder, whether they are there or not."""
    own = WORDLLAMA if (folder / WORDLLAMA["table"]).is_file() else MODEL2VEC
    return {part: folder / name for part, name in own.items()}


def package_folder(package: str) -> Path:
    """The folder of the static encoder that an installed package brings."""
    found = importlib.util.find_spec(package) if package.isidentifier() else None
    if found is None or found.origin is None:
        known = ", ".join(PREFIX + known for known in ("wordllama", *MODELS))
        raise MissingError(
            f"`encoder={PREFIX + package!r}`: there is no folder of that name, and no installed "
            f"package {package!r}; give the folder of a model2vec model, or one of {known}."
        )
    root = Path(found.origin).parent
    if (root / WORDLLAMA["table"]).is_file():
        return root
    inside = sorted(file.parent for file in root.rglob(FILES[2]) if is_static(file.parent))
    if not inside:
        raise MissingError(
            f"`encoder={PREFIX + package!r}`: the package {package!r} has no model2vec folder in "
            "it; give static:FOLDER."
        )
    return inside[0]


def is_static(folder: Path) -> bool:
    """Whether a folder holds a model2vec model."""
    if not all((folder / name).is_file() for name in FILES):
        return False
    config = read_json((folder / "config.json").resolve())
    return isinstance(config, dict) and config.get("model_type") == "model2vec"


def _read_table(path: Path) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Vectors, weights of tokens and rows of tokens, both of which may be None."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    check_file(path.resolve())
    try:
        arrays = load_file(path)
    except SafetensorError as error:
        raise DataError(f"{path} cannot be read as safetensors: {error}.") from error
    table = next((arrays[name].float() for name in TABLES if name in arrays), None)
    if table is None or table.ndim != 2:
        raise DataError(f"{path} has no table called 'embeddings'; is it a model2vec model?")
    weights, mapping = arrays.get("weights"), arrays.get("mapping")
    weights = None if weights is None else weights.float()
    for name, array in {"embeddings": table, "weights": weights}.items():
        if array is not None:
            check_array(array.numpy(), f"{path}: {name!r}")
    if mapping is not None and not ((mapping >= 0) & (mapping < len(table))).all():
        raise DataError(f"{path} is damaged: 'mapping' points to rows that do not exist.")
    return table, weights, None if mapping is None else mapping.long()


def _read_tokenizer(path: Path) -> tuple[Any, int | None]:
    """The tokenizer without padding and cutting, and the number of its unknown token."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    model = read_json(path.resolve(), LARGE).get("model", {})
    unknown = model.get("unk_token")
    if unknown is None and isinstance(model.get("unk_id"), int):
        return tokenizer, int(model["unk_id"])
    return tokenizer, None if unknown is None else tokenizer.token_to_id(unknown)
