"""WordNet's files, word forms, and synonyms."""

import runpy
import zipfile
from pathlib import Path

import pytest

from coterie.errors import MissingError
from coterie.methods.augmentation import augment
from coterie.methods.augmentation.base import SYNONYM, WORD, bits, text_keys, uniform
from coterie.methods.augmentation.eda import EDA
from coterie.methods.augmentation.wordnet import (
    BUNDLED,
    NEEDED,
    Reading,
    Synonyms,
    find_wordnet,
    inflected,
    read_wordnet,
    readings,
)
from said import raises

REAL = Path("/usr/share/wordnet")
whole = pytest.mark.skipif(
    not all((REAL / name).exists() for name in NEEDED),
    reason="the files of WordNet are not here: apt-get install wordnet-base",
)
TABLE = runpy.run_path(str(Path(__file__).parents[3] / "tools" / "wordnet_table.py"))


def test_senses_come_in_their_order(small_wordnet: Path) -> None:
    wordnet = find_wordnet()
    assert wordnet.synsets("box", "n") == [["box", "carton"], ["box", "loge"]]
    assert wordnet.synsets("big", "a") == [["big", "large", "great"]]
    assert wordnet.synsets("nothing", "n") == [] and not wordnet.has("bo", "n")
    assert wordnet.seen["box"] == {"n": 20, "v": 2} and "parcel" not in wordnet.seen


def test_a_zip_file_of_nltk_is_read(small_wordnet: Path, tmp_path, monkeypatch) -> None:
    corpora = tmp_path / "nltk_data" / "corpora"
    corpora.mkdir(parents=True)
    with zipfile.ZipFile(corpora / "wordnet.zip", "w") as archive:
        for path in small_wordnet.iterdir():
            archive.write(path, f"wordnet/{path.name}")
    monkeypatch.setenv("WNSEARCHDIR", str(corpora / "wordnet.zip"))
    assert find_wordnet().synsets("parcel", "n") == [["parcel", "package"]]


def test_what_is_missing_is_named_with_its_package(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path))
    for kind in ("eda", "wordnet"):
        with raises(MissingError, "of WordNet; unset", "index.noun"):
            augment(["a text"], kind)


def test_forms_are_read_and_made(small_wordnet: Path) -> None:
    wordnet = find_wordnet()
    assert readings("mice", wordnet) == [Reading("mouse", "n", "plural")]
    assert readings("babies", wordnet) == [Reading("baby", "n", "plural")]
    assert readings("boxing", wordnet) == [Reading("box", "v", "ing")]
    assert set(readings("returns", wordnet)) == {
        Reading("return", "n", "plural"),
        Reading("return", "v", "s"),
    }
    made = {
        ("infant", "n", "plural"): "infants",
        ("mouse", "n", "plural"): "mice",
        ("box", "n", "plural"): "boxes",
        ("city", "n", "plural"): "cities",
        ("day", "n", "plural"): "days",
        ("news", "n", "plural"): None,
        ("post office", "n", "plural"): "post offices",
        ("bring back", "v", "s"): "brings back",
        ("carry", "v", "s"): "carries",
        ("go", "v", "s"): "goes",
        ("halt", "v", "past"): "halted",
        ("stop", "v", "ing"): "stopping",
        ("stop", "v", "past"): "stopped",
        ("go", "v", "past"): None,  # went or gone
        ("tie", "v", "ing"): "tying",
        ("purchase", "v", "ing"): "purchasing",
        ("see", "v", "ing"): "seeing",
        ("carry", "v", "past"): "carried",
        ("large", "a", "er"): "larger",
        ("big", "a", "est"): "biggest",
        ("happy", "a", "er"): "happier",
        ("felicitous", "a", "er"): None,
    }
    for (lemma, part, form), wanted in made.items():
        assert inflected(lemma, part, form, wordnet) == wanted, lemma


def synonyms_of(text: str, word: str) -> list[str]:
    """Everything that may stand in the place of a word, over many seeds."""
    at = text.split().index(word)
    found = {augment([text], "wordnet@1.0", random_state=s)[0].split(" ")[at] for s in range(30)}
    return sorted(found - {word})


def test_synonyms_have_the_form_and_the_part_of_speech(small_wordnet: Path) -> None:
    assert synonyms_of("the boxes are here", "boxes") == ["cartons", "loges"]
    assert synonyms_of("please box it", "box") == ["punch"]  # behind "please" it is a verb
    assert synonyms_of("he stopped it", "stopped") == ["discontinued", "halted"]
    assert synonyms_of("my Parcel, please", "Parcel,") == ["Package,"]
    assert synonyms_of("ERROR again", "ERROR") == ["FAULT", "MISTAKE"]
    assert synonyms_of("i want to return it", "return") == ["bring"]  # and "back" behind it
    assert synonyms_of("the return is late", "return") == ["recurrence"]
    assert synonyms_of("visit Paris soon", "Paris") == []  # names stay


def test_the_article_follows_its_word(small_wordnet: Path) -> None:
    made = {augment(["An error again"], "wordnet", random_state=s)[0] for s in range(20)}
    assert made == {"A mistake again", "A fault again"}
    assert set(augment(["a baby"], "wordnet")) == {"an infant"}


def test_synonyms_are_chosen_by_the_texts_numbers(small_wordnet: Path) -> None:
    words = Synonyms(0.5)
    texts = [f"error {i} parcel stop box big quickly happy" for i in range(40)]
    keys = text_keys(texts, {})
    for row, (text, made) in enumerate(zip(texts, words.apply(texts, keys), strict=True)):
        own, key = text.split(), keys[row : row + 1]
        able = [0, 2, 3, 4, 5, 6, 7]  # every word but the number
        able.sort(key=lambda n, key=key: int(bits(key, WORD, n)[0]))
        for n in able[:4]:
            choices = words._find((own[n], 0))
            own[n] = choices[int(uniform(key, SYNONYM, n)[0] * len(choices))]
        assert made == " ".join(own)


def test_synonyms_travel_with_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    wordnet = find_wordnet()
    assert wordnet.synsets("car", "n")[0] == ["car", "auto", "automobile", "machine", "motorcar"]
    assert Reading("child", "n", "plural") in readings("children", wordnet)
    assert "automobiles" in synonyms_of("our cars stop", "cars")
    made = augment(["The courier dropped the parcels."], "wordnet@1.0")
    assert made[0].endswith(".") and made[0].startswith("The ")
    found = {
        augment(["The courier dropped the parcels."], "eda", random_state=s)[0] for s in range(20)
    }
    assert len(found) > 5
    assert "Princeton University" in BUNDLED.with_name("wordnet-licence.txt").read_text("utf-8")


@whole
def test_the_table_of_the_package_is_made_from_the_whole_files() -> None:
    made = TABLE["table"](read_wordnet(REAL))
    with zipfile.ZipFile(BUNDLED) as archive:
        assert {name: archive.read(name).decode() for name in archive.namelist()} == made


@whole
def test_the_table_of_the_package_gives_the_synonyms_of_the_whole_files() -> None:
    small, large = read_wordnet(BUNDLED), read_wordnet(REAL)
    words = sorted({word for part in "nvar" for word in large.lemmas(part) if word.isalpha()})
    words = [word + ending for word in words[::40] for ending in ("", "s", "ed", "ing")]
    words += [form for part in "nvar" for form in list(large.exceptions[part])[::10]]
    keys = text_keys(words, {})
    for kind in (EDA, Synonyms):
        made = kind(wordnet=small).apply(words, keys)
        assert made == kind(wordnet=large).apply(words, keys) and made != words
