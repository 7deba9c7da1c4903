"""There and back with Apertium, where it is."""

import shutil
from pathlib import Path

import pytest

from coterie.methods.augmentation.base import text_keys
from coterie_bench.apertium import Apertium

installed = Path("/usr/share/apertium/modes/eng-spa.mode").exists() and shutil.which("lt-proc")
apertium = pytest.mark.skipif(
    not installed, reason="Apertium is not here: apt-get install apertium apertium-eng-spa"
)


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
