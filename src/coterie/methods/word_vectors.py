"""Word vectors: from a file in text format, by skip-gram (gensim), or from counts (PPMI, SVD)."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coterie._util.random import derive_seed, numpy_generator
from coterie._util.types import Floats
from coterie._util.validation import need
from coterie.errors import DataError, UsageError
from coterie.texts.words.vocabulary import Vocabulary, split_words

log = logging.getLogger(__name__)

Source = str | Path
MADE = ("auto", "skipgram", "ppmi")  # made from the texts, not read
WINDOW = 5
EPOCHS = 20
NEGATIVE = 5


def make_word_vectors(
    source: Source, texts: Sequence[str], vocabulary: Vocabulary, dim: int, seed: int
) -> Floats:
    """A vector for each word of the vocabulary.

    Parameters
    ----------
    source : {"auto", "skipgram", "ppmi"} or a file
        "skipgram" learns them from the texts with gensim; "ppmi" takes the singular vectors of
        the positive pointwise mutual information of neighbouring words; "auto" is "skipgram"
        where gensim is installed. A file has a word and its numbers on each line.
    texts : sequence of str
    vocabulary : Vocabulary
    dim : int
        Width of the vectors; a file has its own.
    seed : int
        Of "skipgram", of the windows of "ppmi", and of words without a vector.

    Returns
    -------
    ndarray of shape (size, dim)
        Words without a vector get the mean of all others with a little noise. All are divided by
        one number, so that their mean square length is one.
    """
    width_of(source, dim)
    kind = kind_of(source)
    log.info("word vectors by %s", kind)
    if kind == "ppmi":
        return _ppmi(texts, vocabulary, dim, seed)
    if kind == "skipgram":
        known = _skipgram(texts, dim, seed)
    else:
        known = read_word_vectors(Path(source), set(vocabulary.words))
    return _filled(known, vocabulary, dim, seed)


def kind_of(source: Source) -> str:
    """What a source gives here: "skipgram", "ppmi", or "file"."""
    if source == "auto":
        return "skipgram" if importlib.util.find_spec("gensim") else "ppmi"
    return str(source) if source in MADE else "file"


def width_of(source: Source, dim: int) -> int:
    """Width of the vectors that a source gives: ``dim``, or that of a file. Reject other names."""
    if source in MADE:
        return dim
    if not isinstance(source, (str, Path)) or not Path(source).is_file():
        raise UsageError(
            f"`word_vectors={str(source)!r}` is neither auto, skipgram or ppmi nor a file with a "
            "word and its numbers on each line."
        )
    with Path(source).open(encoding="utf-8", errors="replace") as lines:
        parts = lines.readline().rstrip().split(" ")
    return int(parts[1]) if _is_header(parts) else len(parts) - 1


def read_word_vectors(path: Path, wanted: set[str] | None = None) -> dict[str, Floats]:
    """Read vectors in text format (GloVe, word2vec, fastText), those of ``wanted`` words only."""
    found: dict[str, Floats] = {}
    width = 0
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            parts = line.rstrip().split(" ")
            if number == 1 and _is_header(parts):
                continue
            width = width or len(parts) - 1
            word = " ".join(parts[: len(parts) - width])
            if wanted is not None and word not in wanted:
                continue
            try:
                found[word] = np.array(parts[len(parts) - width :], dtype=np.float32)
            except ValueError:
                found.pop(word, None)
            if word not in found or len(found[word]) != width or width < 1:
                raise DataError(
                    f"{path}, line {number}: expected a word and {width} numbers, as in the "
                    "lines before."
                )
    if not found:
        raise DataError(f"{path} has no vector for any word of the corpus.")
    return found


def _is_header(parts: list[str]) -> bool:
    """Whether a first line is that of word2vec: how many vectors, how wide."""
    return len(parts) == 2 and all(part.isdigit() for part in parts)


def _skipgram(texts: Sequence[str], dim: int, seed: int) -> dict[str, Floats]:
    word2vec: Any = need("gensim.models.word2vec", "words")
    model = word2vec.Word2Vec(
        [split_words(text) for text in texts],
        vector_size=dim,
        window=WINDOW,
        negative=NEGATIVE,
        sg=1,
        min_count=1,
        epochs=EPOCHS,
        seed=derive_seed(seed, "skipgram") % 2**31,
        workers=1,  # more threads would make the vectors depend on their race
    )
    return {word: model.wv[word] for word in model.wv.index_to_key}


def _ppmi(texts: Sequence[str], vocabulary: Vocabulary, dim: int, seed: int) -> Floats:
    from scipy.sparse import coo_matrix, csr_matrix
    from scipy.sparse.linalg import svds

    size = len(vocabulary)
    rng = numpy_generator(seed, "ppmi")
    pairs = csr_matrix((size, size), dtype=np.float64)
    ids = [np.array(vocabulary.ids(text), dtype=np.int64) for text in texts]
    line = np.repeat(np.arange(len(ids)), [len(one) for one in ids])
    words = np.concatenate([*ids, np.empty(0, dtype=np.int64)])
    # A pair at distance g counts 1 / g times on average. As skip-gram does, the reach of a word is
    # drawn anew in every epoch, so the vectors of two seeds differ.
    for gap in range(1, WINDOW + 1):
        same = line[:-gap] == line[gap:]
        reached = rng.binomial(EPOCHS, 1 / gap, len(words))
        weight = (reached[:-gap] + reached[gap:]).astype(np.float64)
        where = (words[:-gap][same], words[gap:][same])
        pairs = pairs + coo_matrix((weight[same], where), shape=(size, size)).tocsr()
    pairs.eliminate_zeros()
    pairs = (pairs + pairs.T).tocoo()
    out = np.zeros((size, dim), dtype=np.float32)
    sums = np.asarray(pairs.sum(axis=1)).ravel()
    information = np.log(pairs.data * sums.sum() / (sums[pairs.row] * sums[pairs.col]))
    positive = csr_matrix((np.maximum(information, 0), (pairs.row, pairs.col)), (size, size))
    rank = min(dim, size - 1)
    if rank > 0 and positive.nnz:
        start = rng.normal(size=size)
        u, s, _ = svds(positive, k=rank, v0=start)
        order = np.argsort(-s)
        u, s = u[:, order], s[order]
        signs = np.sign(u[np.abs(u).argmax(axis=0), np.arange(rank)])  # the sign is arbitrary
        out[:, :rank] = u * signs * np.sqrt(s)
    return _scaled(out)


def _filled(known: dict[str, Floats], vocabulary: Vocabulary, dim: int, seed: int) -> Floats:
    width = len(next(iter(known.values()))) if known else dim
    have = [word in known for word in vocabulary.words]
    rows = [known[word] for word in vocabulary.words if word in known]
    mean, spread = (np.mean(rows, axis=0), np.std(rows)) if rows else (np.zeros(width), 1.0)
    noise = numpy_generator(seed, "unknown words").normal(size=(len(vocabulary), width))
    out = (mean + 0.1 * spread * noise).astype(np.float32)
    if rows:
        out[np.array(have)] = np.stack(rows)
    share = float(np.mean(have)) if have else 0.0
    log.info("%.1f%% of %d words have a vector", 100 * share, len(vocabulary))
    return _scaled(out)


def _scaled(vectors: Floats) -> Floats:
    """Vectors with a mean square of 1 / width per number, whatever made them."""
    size = float(np.sqrt(np.square(vectors).sum(axis=1).mean())) if len(vectors) else 0.0
    return np.asarray(vectors / size if size > 0 else vectors, dtype=np.float32)
