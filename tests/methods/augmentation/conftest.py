"""A WordNet of a few words in the format of the real one, and keys for texts."""

from pathlib import Path

import pytest

from coterie.methods.augmentation.wordnet import PARTS, read_wordnet

# Part of speech and words of each sense; the order is that of frequency.
SENSES = [
    ("n", ["box", "carton"]),
    ("n", ["box", "loge"]),
    ("n", ["parcel", "package"]),
    ("n", ["error", "mistake", "fault"]),
    ("n", ["baby", "infant"]),
    ("n", ["mouse", "rodent"]),
    ("n", ["return", "recurrence"]),
    ("v", ["return", "bring_back"]),
    ("v", ["box", "punch"]),
    ("v", ["stop", "halt", "discontinue"]),
    ("v", ["purchase", "buy"]),
    ("v", ["run", "go"]),
    ("a", ["big(a)", "large", "great"]),
    ("a", ["happy", "felicitous"]),
    ("r", ["quickly", "rapidly"]),
    ("n", ["Paris", "City_of_Light"]),
]
EXCEPTIONS = {
    "noun": "mice mouse\n",
    "verb": "bought buy\ngoing go\ngone go\nran run\nrunning run\nstopped stop\nwent go\n",
    "adj": "bigger big\nbiggest big\n",
    "adv": "",
}
COUNTS = "box%1:06:00:: 1 20\nbox%2:35:00:: 1 2\nreturn%1:28:00:: 1 3\nreturn%2:38:00:: 1 9\n"


def write_wordnet(folder: Path) -> Path:
    """Data and index files as wndb(5WN) describes them."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, name in PARTS.items():
        data = "  1 A header, as the real files have one.  \n"
        places: dict[str, list[int]] = {}
        for _, words in (s for s in SENSES if s[0] == part):
            for word in words:
                lemma = word.partition("(")[0].lower()
                places.setdefault(lemma, []).append(len(data.encode()))
            listed = " ".join(f"{word} 0" for word in words)
            data += (
                f"{len(data.encode()):08d} 00 {part} {len(words):02x} {listed} 000 | a gloss  \n"
            )
        index = "  1 A header.  \n" + "".join(
            f"{lemma} {part} {len(at)} 0 {len(at)} 0 {' '.join(f'{a:08d}' for a in at)}  \n"
            for lemma, at in sorted(places.items())
        )
        (folder / f"data.{name}").write_text(data)
        (folder / f"index.{name}").write_text(index)
        (folder / f"{name}.exc").write_text(EXCEPTIONS[name])
    (folder / "cntlist.rev").write_text(COUNTS)
    return folder


@pytest.fixture
def small_wordnet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files, and the variable that leads there."""
    folder = write_wordnet(tmp_path / "dict")
    monkeypatch.setenv("WNSEARCHDIR", str(folder))
    read_wordnet.cache_clear()
    return folder


TOKENS = "parcel box refund late money back please where is my the a lost order red blue".split()


@pytest.fixture(scope="session")
def tiny_masked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random masked language model with a vocabulary of a few words and pieces."""
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

    folder = tmp_path_factory.mktemp("masked")
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *TOKENS, "##s", "##ed", "?", "x", "99"]
    (folder / "vocab.txt").write_text("\n".join(tokens))
    tokenizer = BertTokenizerFast(vocab=str(folder / "vocab.txt"))
    config = BertConfig(
        vocab_size=len(tokens),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=128,
    )
    torch.manual_seed(0)
    BertForMaskedLM(config).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    return folder / "model"
