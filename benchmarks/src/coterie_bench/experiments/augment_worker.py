"""The nlpaug side of ``augment.py``, run by the Python that has nlpaug and nltk installed.

    python -I augment_worker.py TEXTS.json FACTS.json [FOLDER_OF_WORDNET]

nlpaug reads WordNet through nltk, which wants two files that Debian's package leaves out
(``lexnames``, ``index.sense``): placeholders stand in, no synonym depends on them. nltk's tagger
needs a download; where it is missing every word is tagged as a noun at no cost, which makes nlpaug
faster than it is. The facts say which.
"""

import json
import shutil
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

RATE = 0.2
ROUNDS = 3


def main() -> None:
    source, facts, *wordnet = sys.argv[1:]
    texts = json.loads(Path(source).read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        tagger = _prepare(Path(folder), wordnet[0]) if wordnet else "none"
        found = {
            "seconds": {name: _time(augmenter, texts) for name, augmenter in _ways(bool(wordnet))},
            "tagger": tagger,
            "versions": {name: metadata.version(name) for name in ("nlpaug", "nltk", "numpy")},
        }
    Path(facts).write_text(json.dumps(found), encoding="utf-8")


def _prepare(folder: Path, wordnet: str) -> str:
    """Let nltk find WordNet; returns what tags words."""
    import nltk

    target = folder / "corpora" / "wordnet"
    shutil.copytree(wordnet, target, ignore=shutil.ignore_patterns("bin", "wnres", "pixmaps"))
    (target / "lexnames").write_text("".join(f"{i:02d}\tfile{i}\t1\n" for i in range(45)))
    if not (target / "index.sense").exists():
        (target / "index.sense").write_text("")
    nltk.data.path.insert(0, str(folder))
    try:
        nltk.pos_tag(["a", "word"])
    except LookupError:
        nltk.pos_tag = lambda words: [(word, "NN") for word in words]
        return "every word a noun"
    return "nltk"


def _ways(wordnet: bool) -> list:
    import nlpaug.augmenter.char as nac
    import nlpaug.augmenter.word as naw

    ways = [
        ("charswap", nac.RandomCharAug(action="swap", aug_word_p=RATE)),
        ("deletion", naw.RandomWordAug(action="delete", aug_p=RATE)),
    ]
    if wordnet:
        ways.append(("wordnet", naw.SynonymAug(aug_src="wordnet", aug_p=RATE)))
    return ways


def _time(augmenter: object, texts: list) -> list:
    augmenter.augment(texts[:20])  # loads what is loaded once
    out = []
    for _ in range(ROUNDS):
        begun, used = time.perf_counter(), time.process_time()
        made = augmenter.augment(texts)
        out.append([time.perf_counter() - begun, time.process_time() - used])
        assert len(made) == len(texts)
    return out


if __name__ == "__main__":
    main()
