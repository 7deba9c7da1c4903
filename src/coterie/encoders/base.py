"""What every encoder can do: prepare texts once, turn batches into vectors, be saved.

Texts that an encoder cannot tell apart (the same tokens, the same row of numbers) are one item:
they are processed once and always end in the same cluster.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from coterie._util.files import write_json
from coterie._util.progress import Progress
from coterie._util.torch import INSTALLED, F, Tensor, nn, torch
from coterie._util.types import Features, Floats, Ints
from coterie._util.validation import check_memory
from coterie.encoders.cache import FEW, Cache, digest, is_on

TOKENS_PER_BATCH = {"cpu": 1_024, "cuda": 131_072}  # fits the caches of a CPU; fills a GPU
LEAST_TOKENS = 32  # tokens of a batch on a CPU; smaller products are added up in another order
WIDTHS = (32, 64, 128)  # tokens in a row of packed texts: the least that holds the longest
KEEP_EVERY = 5.0  # seconds; what a killed process loses of its vectors
ROUND = 1024  # packed batches have a multiple of this many places, so that few shapes occur


class Encoder(nn.Module):
    """A torch module from features to vectors, with the preparation of texts around it.

    ``forward`` gives vectors of shape (n, dim) in float32; encoders that cannot be trained and
    have an ``encode`` of their own have none.

    Attributes
    ----------
    dim : int
        Width of the vectors.
    compute_dtype : torch.dtype or None
        Precision of the forward pass in training; None is float32. Vectors come out in float32.
    fused : bool
        Whether training on packed features may use kernels of our own.
    """

    kinds: ClassVar[dict[str, type[Encoder]]] = {}  # those that can be saved, by class name
    kind: ClassVar[str]
    languages: ClassVar[frozenset[str] | None] = None  # codes of those it knows, if that is told
    tokens_per_batch: ClassVar[int | None] = None  # on a CPU, where the usual number is not best
    dim: int
    compute_dtype: torch.dtype | None = None
    fused: bool = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Encoder.kinds[cls.__name__] = cls

    @abstractmethod
    def prepare(self, texts: Any) -> tuple[Items, Ints]:
        """Distinct items of the texts, and for each text the number of its item."""

    def learn(self, texts: Sequence[str]) -> None:
        """Take from the corpus what the encoder needs before :meth:`prepare` (a vocabulary)."""

    def word_pieces(self, words: list[str]) -> tuple[list[list[int]], int | None] | None:
        """Tokens of each word by itself, and the unknown token; None without a tokenizer."""
        return None

    def token_texts(self) -> list[str]:
        """The vocabulary of the tokenizer."""
        return []

    def make_trainable(self) -> None:
        """Get ready for training; called once before a method trains its parts."""

    def reads(self, items: Any) -> Any:
        """What a training of the encoder, as it is now, needs of the items it prepared."""
        return items

    def complete(self) -> None:
        """Load what only training and saving need; called before parameters are handed out."""

    @property
    def device(self) -> torch.device | None:
        """Where the weights are; None without any, which is a CPU."""
        if not INSTALLED:
            return None
        return next((w.device for w in chain(self.parameters(), self.buffers())), None)

    def space(self) -> str | None:
        """Digest of all that decides a vector besides the item; None if vectors are not kept."""
        return None

    def packs(self, device: torch.device) -> bool:
        """Whether training on ``device`` takes features without padding."""
        return False

    # Saving -----------------------------------------------------------------------------------

    def save(self, folder: Path, *, whole: bool = True) -> None:
        """Write all that :func:`load_saved` needs to make the same vectors.

        Parameters
        ----------
        folder : Path
        whole : bool, default=True
            Write also the weights of an encoder that can be found again.
        """
        folder.mkdir(parents=True, exist_ok=True)
        pointer = None if whole else self.pointer()
        if pointer is None:
            self.save_weights(folder)
        inside = self.inside()
        for name, encoder in inside.items():
            encoder.save(folder / name, whole=whole)
        config = {"class": type(self).__name__, "pointer": pointer, "inside": list(inside)}
        write_json(folder / "encoder.json", config | self.to_config())

    def pointer(self) -> dict[str, Any] | None:
        """Where the unchanged encoder can be found again, or None if it must be saved whole."""
        return None

    def inside(self) -> dict[str, Encoder]:
        """The encoders that this one is made of, by the names of their folders."""
        return {}

    def to_config(self) -> dict[str, Any]:
        """Plain settings, for :meth:`from_config`."""
        return {}

    def save_weights(self, folder: Path) -> None:
        """Write what is no plain setting, for :meth:`from_config`."""

    @classmethod
    def from_config(
        cls, config: dict[str, Any], source: Path, inside: dict[str, Encoder]
    ) -> Encoder:
        """Make the encoder that was saved.

        Parameters
        ----------
        config : dict
            As :meth:`to_config` gave it, with the pointer, and from a file of anybody.
        source : Path
            With the weights.
        inside : dict of str to Encoder
            As :meth:`inside` gave them.
        """
        raise NotImplementedError(f"{cls.__name__} is not saved")

    # Encoding ---------------------------------------------------------------------------------

    def encode(
        self, items: Any, index: Ints | None = None, *, progress: Progress | None = None
    ) -> Floats:
        """Vectors of all items (or of ``index``) without dropout, in float32.

        Vectors that an unchanged encoder made before come from the disk, see :func:`no_cache`,
        unless there are few to make.
        """
        index = np.arange(len(items)) if index is None else index
        space = self.space() if len(index) >= FEW and is_on() else None
        keys = None if space is None else items.digests(index)
        if space is None or keys is None:
            return self._work(items, index, progress)
        cache = Cache(space)
        vectors = cache.find(keys)
        missing = np.array([i for i in distinct(keys)[0] if keys[i] not in vectors], dtype=np.int64)
        if len(missing):

            def keep(some: Ints, made: Floats) -> None:
                cache.write([keys[i] for i in missing[some]], made)

            made = self._work(items, index[missing], progress, keep)
            vectors |= zip((keys[i] for i in missing), made, strict=True)
        return np.stack([vectors[key] for key in keys])

    def _work(
        self,
        items: Items,
        index: Ints,
        progress: Progress | None,
        keep: Callable[[Ints, Floats], None] = lambda some, made: None,
    ) -> Floats:
        """Vectors in the order asked for; worked by length, so that there is little padding.

        ``keep`` is given positions and vectors every few seconds and at the end, whatever ends it.
        """
        progress = progress or Progress()
        check_memory(
            2 * 4 * len(index) * self.dim,  # the vectors, and what is computed from them
            f"vectors of {len(index):,} texts with {self.dim:,} numbers each",
            "fit a sample (fit_sample=20000), or take an encoder of fewer numbers (tfidf-svd)",
        )
        out = np.empty((len(index), self.dim), dtype=np.float32)
        training, self.compute_dtype, dtype = self.training, None, self.compute_dtype
        self.eval()
        progress.start("encode", len(index))
        order = np.empty(0, dtype=np.int64)  # in which they are made
        done = kept = 0
        since = time.monotonic()
        try:
            parts = self._batches(items.lengths[index])
            order = np.concatenate(parts) if parts else order
            for part in parts:
                again = self._enough(part, items.lengths[index[part[0]]])
                out[part] = self._vectors(items, index[again])[: len(part)]
                done += len(part)
                progress.advance(done)
                if time.monotonic() - since >= KEEP_EVERY:
                    keep(order[kept:done], out[order[kept:done]])
                    kept, since = done, time.monotonic()
        finally:
            if kept < done:
                keep(order[kept:done], out[order[kept:done]])
            progress.stop()
            self.train(training)
            self.compute_dtype = dtype
        return out

    def _vectors(self, items: Any, index: Ints) -> Floats:
        """Vectors of one batch by torch; encoders override it where arrays are enough."""
        features = {k: v.to(self.device) for k, v in items.batch(index).items()}
        with torch.inference_mode():
            return np.asarray(self(features).cpu().numpy())

    def _on_cpu(self) -> bool:
        return self.device is None or self.device.type == "cpu"

    def _batches(self, lengths: Ints) -> list[Ints]:
        """On a CPU items of one length share a batch: no padding, and no influence of company."""
        if self._on_cpu():
            usual = TOKENS_PER_BATCH["cpu"]
            return batches_of_one_length(lengths, self.tokens_per_batch or usual)
        return batches_by_length(lengths, TOKENS_PER_BATCH["cuda"])

    def _enough(self, part: Ints, length: int) -> Ints:
        """The items of a batch, over again where they are too few for a product as usual."""
        if not self._on_cpu() or length < 2 or len(part) * length >= LEAST_TOKENS:
            return part
        return np.resize(part, -(-LEAST_TOKENS // int(length)))


def batches_of_one_length(lengths: Ints, budget: int) -> list[Ints]:
    """Positions in batches of equal length, each of at most ``budget`` units.

    Examples
    --------
    >>> [part.tolist() for part in batches_of_one_length(np.array([3, 2, 3, 3, 9]), 6)]
    [[1], [0, 2], [3], [4]]
    """
    order = np.argsort(lengths, kind="stable")
    parts: list[Ints] = []
    if not len(order):
        return parts
    for run in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
        size = max(1, budget // max(1, int(lengths[run[0]])))
        parts += [run[first : first + size] for first in range(0, len(run), size)]
    return parts


def batches_by_length(lengths: Ints, budget: int) -> list[Ints]:
    """Positions in batches of similar length, each of at most ``budget`` padded units.

    Examples
    --------
    >>> [part.tolist() for part in batches_by_length(np.array([3, 1, 2, 9]), 6)]
    [[1, 2], [0], [3]]
    """
    order = np.argsort(lengths, kind="stable")
    parts: list[Ints] = []
    first = 0
    while first < len(order):
        last = first + 1
        while last < len(order) and lengths[order[last]] * (last + 1 - first) <= budget:
            last += 1
        parts.append(order[first:last])
        first = last
    return parts


class Items(Protocol):
    """Distinct inputs that can be batched."""

    lengths: Ints  # cost of each item; batches of similar cost waste least

    def __len__(self) -> int: ...

    def batch(self, index: Ints, step: int = 1) -> Features:
        """Features of the items ``index``, in this order, on the items' device.

        Where items differ in length, they are padded to a multiple of ``step``. Encoders that
        cannot be trained have none.
        """
        raise TypeError("an encoder that cannot be trained has no batches")

    def to(self, device: torch.device) -> Items:
        """The same items with their arrays on ``device``."""
        return self

    def content(self) -> bytes:
        """All that is in them, to tell one corpus from another."""


class RaggedTokens:
    """Token ids of all items in one flat array; a batch is padded to its own longest item.

    Where the word of each token is known (``words``), batches hold it as ``word_ids``, -1 for
    special tokens and padding. With a ``step`` they are as wide as rows of packed texts, and hold
    the places of tokens that another follows as ``followed``, filled up with a place of padding.
    """

    def __init__(
        self,
        flat: Ints,
        lengths: Ints,
        pad: int,
        words: Ints | None = None,
        device: torch.device | None = None,
    ) -> None:
        self.flat = flat  # (total,) int32
        self.words = words  # (total,) int32
        self.device = device
        self.lengths = lengths
        self.starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
        self.pad = pad

    @classmethod
    def build(
        cls, sequences: list[list[int]], pad: int, words: list[list[int]] | None = None
    ) -> RaggedTokens:
        """Lay sequences of token ids end to end."""
        lengths = np.fromiter(map(len, sequences), dtype=np.int64, count=len(sequences))
        return cls(_flat(sequences), lengths, pad, None if words is None else _flat(words))

    def __len__(self) -> int:
        return len(self.lengths)

    def of_one_length(self, index: Ints) -> Ints:
        """Token ids of items that are equally long, shape (n, length)."""
        return self.flat[self.starts[index, None] + np.arange(self.lengths[index[0]])]

    @cached_property
    def _on_device(self) -> tuple[Tensor, Tensor | None]:
        """The tokens, and their words."""
        words = None if self.words is None else torch.from_numpy(self.words).to(self.device)
        return torch.from_numpy(self.flat).to(self.device), words

    def batch(self, index: Ints, step: int = 1) -> Features:
        flat, words = self._on_device
        device = flat.device
        lengths, starts = to_device(np.stack([self.lengths[index], self.starts[index]]), device)
        width = -(-int(self.lengths[index].max()) // step) * step
        if words is not None and step > 1:
            width = row_width(width)
        position = torch.arange(width, device=device)
        mask = position < lengths[:, None]  # (n, width)
        at = (starts[:, None] + position).clamp(max=len(flat) - 1)
        ids = torch.where(mask, flat[at], self.pad)
        features = {"input_ids": ids.long(), "attention_mask": mask.long()}
        if words is not None:
            features["word_ids"] = torch.where(mask, words[at], -1).long()
            if step > 1:
                features["followed"] = to_device(_followed(self.lengths[index], width), device)
        return features

    def packed_batch(self, index: Ints) -> Features:
        """Features with little padding: several texts share one row of a batch.

        Returns
        -------
        dict of str to Tensor
            ``input_ids`` and ``positions`` (within each text) of shape (rows, width); ``slots`` of
            the same shape, whether a token is of the first, second ... text of its row, -1 for
            padding; ``picks`` (n,), the number of each text's slot when every row has as many
            slots as tokens; ``begins`` (n,), the place of its first token.
        """
        lengths = self.lengths[index]
        width = row_width(int(self.lengths.max()))
        begins, slot = pack_rows(lengths, width)
        ends = np.cumsum(lengths)
        inside = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)
        places = np.repeat(begins, lengths) + inside
        row = begins // width
        least = max(1, ROUND // width)
        rows = -(-int(row.max() + 1) // least) * least
        grids = np.zeros((3, rows * width), dtype=np.int64)
        grids[0, places] = np.repeat(self.starts[index], lengths) + inside
        grids[1, places] = inside
        grids[2] = -1
        grids[2, places] = np.repeat(slot, lengths)
        texts = np.stack([row * width + slot, begins])
        flat = self._on_device[0]
        device = flat.device
        where, positions, slots = to_device(grids, device).view(3, rows, width)
        picks, begins_there = to_device(texts, device)
        return {
            "input_ids": flat[where].long(),
            "positions": positions,
            "slots": slots,
            "picks": picks,
            "begins": begins_there,
        }

    def to(self, device: torch.device) -> RaggedTokens:
        return RaggedTokens(self.flat, self.lengths, self.pad, self.words, device)

    def digests(self, index: Ints) -> list[bytes]:
        """What tells each of the items ``index`` from all others: a digest of its tokens."""
        bounds = zip(self.starts[index], self.lengths[index], strict=True)
        return [digest(self.flat[a : a + n].tobytes()) for a, n in bounds]

    def content(self) -> bytes:
        parts = [self.flat] if self.words is None else [self.flat, self.words]
        return self.lengths.tobytes() + b"".join(part.tobytes() for part in parts)


def _followed(lengths: Ints, width: int) -> Ints:
    """Places of all tokens but the last of each text, filled up to one of a few numbers."""
    row, place = np.nonzero(np.arange(width) < lengths[:, None] - 1)
    some = min(ROUND, -(-len(lengths) * width // 4))  # few texts are not filled up to ROUND
    found = np.full(-(-max(1, len(row)) // some) * some, width - 1)
    found[: len(row)] = row * width + place
    return found


def _flat(sequences: list[list[int]]) -> Ints:
    total = sum(map(len, sequences))
    return np.fromiter((t for ts in sequences for t in ts), np.int32, total)


class Rows:
    """Rows of a dense or sparse matrix; a batch is dense."""

    def __init__(self, matrix: Any, device: torch.device | None = None) -> None:
        self.matrix = matrix  # ndarray or csr_matrix of float32; a Tensor once moved
        self.lengths = np.ones(matrix.shape[0], dtype=np.int64)
        self.device = device

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, index: Ints, step: int = 1) -> Features:
        if isinstance(self.matrix, Tensor):
            return {"vectors": self.matrix[to_device(index, self.matrix.device)]}
        return {"vectors": to_device(self.dense(index), self.device or torch.device("cpu"))}

    def dense(self, index: Ints) -> Floats:
        """Some rows as an array, of a matrix that was not moved."""
        rows = self.matrix[index]
        return np.ascontiguousarray(rows.toarray() if hasattr(rows, "toarray") else rows)

    def to(self, device: torch.device) -> Rows:
        if isinstance(self.matrix, np.ndarray):
            return Rows(torch.from_numpy(self.matrix).to(device), device)
        return Rows(self.matrix, device)

    def digests(self, index: Ints) -> None:
        """None: rows are vectors already, those of a frozen encoder, too, and need no cache."""

    def content(self) -> bytes:
        if isinstance(self.matrix, Tensor):
            return self.matrix.cpu().numpy().tobytes()
        if isinstance(self.matrix, np.ndarray):
            return self.matrix.tobytes()
        parts = (self.matrix.indptr, self.matrix.indices, self.matrix.data)
        return b"".join(part.tobytes() for part in parts)


def to_device(array: Any, device: torch.device) -> Tensor:
    """An array on the device; the host goes on while a GPU still copies it."""
    tensor = torch.from_numpy(array)
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def row_width(longest: int) -> int:
    """Tokens in a row of packed texts: short rows, since attention works through whole rows.

    Examples
    --------
    >>> row_width(9), row_width(33), row_width(300)
    (32, 64, 304)
    """
    return next((width for width in WIDTHS if longest <= width), -(-longest // 8) * 8)


def one_a_row(ids: Tensor, mask: Tensor) -> Features:
    """Padded texts, laid out as by :meth:`RaggedTokens.packed_batch`, each in a row of its own."""
    n, longest = ids.shape
    width = row_width(longest)
    slots = F.pad(mask, (0, width - longest)) - 1
    begins = width * torch.arange(n, device=ids.device)
    return {
        "input_ids": F.pad(ids, (0, width - longest)),
        "positions": (slots + 1) * torch.arange(width, device=ids.device),
        "slots": slots,
        "picks": begins,
        "begins": begins,
    }


def pack_rows(lengths: Ints, width: int) -> tuple[Ints, Ints]:
    """Lay items into few rows, none across two: the longest first, each where it fits best.

    Returns
    -------
    begins : ndarray of int
        Place of the first token of each item, counted through all rows.
    slots : ndarray of int
        Whether an item is the first, second ... of its row, from 0.

    Examples
    --------
    >>> begins, slots = pack_rows(np.array([3, 2, 4, 1]), 5)
    >>> begins.tolist(), slots.tolist()
    ([5, 8, 0, 4], [0, 1, 0, 1])
    """
    order = np.argsort(-lengths, kind="stable")
    items: list[int] = []  # of each row, so far
    free: list[list[int]] = [[] for _ in range(width + 1)]  # rows by the places they have left
    some = 0  # bit s is set where free[s] is not empty
    placed = []
    for length in lengths[order].tolist():
        fits = some >> length
        if fits:
            space = length + (fits & -fits).bit_length() - 1  # the lowest bit that is set
            row = free[space].pop()
            if not free[space]:
                some ^= 1 << space
        else:
            space, row = width, len(items)
            items.append(0)
        placed.append(((row + 1) * width - space, items[row]))
        items[row] += 1
        free[space - length].append(row)
        some |= 1 << (space - length)
    found = np.empty((2, len(lengths)), dtype=np.int64)
    found[:, order] = np.array(placed).T
    return found[0], found[1]


def distinct(keys: Iterable[Any]) -> tuple[list[int], Ints]:
    """Position of the first of each distinct key, and for every key the number of its item.

    Examples
    --------
    >>> first, rows = distinct(["a", "b", "a"])
    >>> first, rows.tolist()
    ([0, 1], [0, 1, 0])
    """
    seen: dict[Any, int] = {}
    first: list[int] = []
    rows: list[int] = []
    for position, key in enumerate(keys):
        if key not in seen:
            seen[key] = len(first)
            first.append(position)
        rows.append(seen[key])
    return first, np.asarray(rows, dtype=np.int64)


def distinct_rows(matrix: Any) -> tuple[list[int], Ints]:
    """The same for the rows of a sparse matrix whose indices are sorted."""
    bounds = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    return distinct(matrix.indices[a:b].tobytes() + matrix.data[a:b].tobytes() for a, b in bounds)
