"""Static encoders: a vector per token looked up in a table, and their mean. No network at all.

The folder is as model2vec writes it: ``config.json``, ``tokenizer.json`` and ``model.safetensors``
with ``embeddings``, and perhaps ``weights`` of the tokens and a ``mapping`` from tokens to rows.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from coterie._util.files import atomic_path
from coterie._util.trust import LARGE, check_array, check_shape, damaged, is_count, read_json
from coterie._util.types import Floats, Ints
from coterie.arrays.neighbors import unit_rows
from coterie.encoders.base import Encoder, Rows
from coterie.encoders.lexical import VectorEncoder
from coterie.errors import UsageError

FILES = ("config.json", "tokenizer.json", "model.safetensors")
CHARACTERS = 100  # per token; what lies behind cannot be among the first max_length tokens


class StaticEncoder(VectorEncoder):
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

    def __init__(
        self,
        folder: Path,
        *,
        max_length: int = 128,
        normalize: bool | None = None,
        pointer: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        from tokenizers import Tokenizer

        self.folder, self.max_length, self._pointer = folder, max_length, pointer
        as_saved = bool(read_json((folder / FILES[0]).resolve()).get("normalize", False))
        self.normalize = as_saved if normalize is None else normalize
        self.tokenizer = Tokenizer.from_file(str(folder / FILES[1]))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        model = read_json((folder / FILES[1]).resolve(), LARGE)["model"]
        self.unknown = model.get("unk_id")  # of one kind of tokenizer; others have its text
        if model.get("unk_token") is not None:
            self.unknown = self.tokenizer.token_to_id(model["unk_token"])
        self.table = _read_table(folder / FILES[2])
        self.dim = self.table.shape[1]

    def prepare(self, texts: Any) -> tuple[Rows, Ints]:
        clipped = [text[: CHARACTERS * self.max_length] for text in texts]
        ids = [[i for i in row if i != self.unknown] for row in self.word_pieces(clipped)[0]]
        lengths = [min(len(row), self.max_length) for row in ids]
        tokens = np.array([i for row in ids for i in row[: self.max_length]], dtype=np.int64)
        ends = np.cumsum([0, *lengths])
        ones = np.ones(len(tokens), dtype=np.float32)
        sums = csr_matrix((ones, tokens, ends), (len(ids), len(self.table))) @ self.table
        means = sums / np.maximum(lengths, 1)[:, None]  # by number, not by weight
        return super().prepare(unit_rows(means) if self.normalize else means)

    def word_pieces(self, words: Sequence[str]) -> tuple[list[list[int]], int | None]:
        found = self.tokenizer.encode_batch_fast(words, add_special_tokens=False)
        return [list(one.ids) for one in found], self.unknown

    def token_texts(self) -> list[str]:
        return list(self.tokenizer.get_vocab())

    def make_trainable(self) -> None:
        raise UsageError(
            "encoder: a static encoder cannot be trained; use a method that does not train "
            "(auto, kmeans, ward) or a sentence encoder such as all-MiniLM-L6-v2."
        )

    def pointer(self) -> dict[str, Any] | None:
        return self._pointer

    def to_config(self) -> dict[str, Any]:
        return {"max_length": self.max_length, "normalize": self.normalize}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], source: Path, inside: dict[str, Encoder]
    ) -> StaticEncoder:
        shape = {"max_length": is_count, "normalize": bool}
        check_shape(config, shape, "encoder.json")
        return cls(source, pointer=config["pointer"], **{name: config[name] for name in shape})

    def save_weights(self, folder: Path) -> None:
        for name in FILES:
            with atomic_path(folder / name) as temporary:
                shutil.copyfile(self.folder / name, temporary)


def is_static(folder: Path) -> bool:
    """Whether a folder holds a model2vec model."""
    if not all((folder / name).is_file() for name in FILES):
        return False
    config = read_json((folder / FILES[0]).resolve())
    return isinstance(config, dict) and config.get("model_type") == "model2vec"


def _read_table(path: Path) -> Floats:
    """The vector of each token, weighted."""
    from safetensors.numpy import load_file

    with damaged(path):
        arrays = load_file(path)
        table = arrays["embeddings"].astype(np.float32)
        if "mapping" in arrays:
            table = table[arrays["mapping"].astype(np.int64)]
        if "weights" in arrays:
            table = table * arrays["weights"].astype(np.float32)[:, None]
    check_array(table, str(path))
    return table
