"""There and back with Apertium, where it is."""

import shutil
from pathlib import Path

import pytest

from coterie.errors import MissingError
from coterie.methods.augmentation.base import text_keys
from coterie_bench.apertium import Apertium, plain
from said import raises

installed = Path("/usr/share/apertium/modes/eng-spa.mode").exists() and shutil.which("lt-proc")
apertium = pytest.mark.skipif(
    not installed, reason="Apertium is not here: apt-get install apertium apertium-eng-spa"
)


def test_apertium_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with raises(MissingError, "Apertium is not installed", "eng-spa"):
        Apertium()


def test_signs_of_the_stream_format_are_taken_out() -> None:
    assert plain("a \\[b\\] \\^c\\$[][\n]") == "a [b] ^c$"


@pytest.mark.full
@apertium
def test_apertium_translates_there_and_back() -> None:
    model = Apertium()
    texts = [
        "Do you inspect the returned item?",
        "I paid twice.",
        "a [b] {c} ^d$ \\e/ <f> @g",
        "The house is red",
    ]
    keys = text_keys(texts, {})
    first = model.apply(texts, keys)
    assert first[0] != texts[0] and first[1].endswith(".") and first[3] == "The house is red"
    assert "[" in first[2] and "\\" in first[2] and "[]" not in first[2]
    # Many more than fit into a pipe at once, and one alone.
    many = model.apply([f"{texts[i % 4]}" for i in range(1_200)], keys)
    assert many == [first[i % 4] for i in range(1_200)]
    assert model.apply(texts[1:2], keys) == first[1:2]


@apertium
def test_an_unknown_pair_is_named() -> None:
    with raises(MissingError, "here ('apertium -l'", "'eng-xyz'"):
        Apertium("eng-xyz")
