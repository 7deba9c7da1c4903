"""There and back: with a tiny random model, and with Apertium where it is."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from coterie.augmentation import augment, make_augmenter, reword
from coterie.augmentation.base import bits, text_keys, uniform
from coterie.augmentation.translation import Apertium, Noise, Translation, _uniform, plain
from coterie.errors import MissingError, UsageError
from said import raises

TEXTS = ["where is my parcel", "the order is late please", "money back", "lost red box", "blue"]
installed = Path("/usr/share/apertium/modes/eng-spa.mode").exists() and shutil.which("lt-proc")
apertium = pytest.mark.skipif(
    not installed, reason="Apertium is not here: apt-get install apertium apertium-eng-spa"
)


def test_the_noise_is_the_same_in_torch() -> None:
    keys = text_keys(TEXTS, {})
    found = _uniform(torch.from_numpy(keys.astype(np.int64))[:, None], torch.arange(9)[None])
    wanted = uniform(keys[:, None], 0, np.arange(9)[None])
    assert np.abs(found.numpy() - wanted).max() < 2.0**-52


def test_noise_makes_the_largest_score_a_fair_draw() -> None:
    share = torch.tensor([0.5, 0.3, 0.2])
    keys = text_keys([str(i) for i in range(6_000)], {})
    scores = share.log()[None].expand(len(keys), 3)
    drawn = Noise(keys, 1.0)(torch.zeros(len(keys), 1, dtype=torch.long), scores).argmax(dim=1)
    counted = torch.bincount(drawn, minlength=3) / len(keys)
    assert (counted - share).abs().max() < 0.03  # over four deviations


def test_models_write_texts_that_depend_on_seed_and_text_alone(tiny_translator: Path) -> None:
    model = make_augmenter(
        "backtranslation", model=f"{tiny_translator},{tiny_translator}", device="cpu"
    )
    first = reword(model, TEXTS)
    assert all(first) and first.unchanged < 1
    assert reword(model, TEXTS[::-1])[::-1] == first
    assert reword(model, TEXTS[1:2]) == first[1:2]
    assert reword(model, TEXTS, seed=1) != first


def test_without_noise_there_is_one_wording(tiny_translator: Path) -> None:
    name = str(tiny_translator)
    still = Translation(name, name, temperature=0.0, device="cpu")
    assert not still.seeded
    keys = [text_keys(TEXTS, {"seed": seed}) for seed in (0, 1)]
    assert still.apply(TEXTS, keys[0]) == still.apply(TEXTS, keys[1])


def test_a_model_of_many_languages_is_told_which_to_write(tiny_translator: Path) -> None:
    name = str(tiny_translator)
    model = Translation(name, name, ("xx", "yy"), temperature=0.0, device="cpu")
    assert len(model._models) == 2 and model._models[0] is model._models[1]
    keys = bits(text_keys(TEXTS, {}), 0)
    network, tokenizer = model._models[0]
    there = model._translate(network, tokenizer, TEXTS, keys, ("xx", "yy"))
    assert all(text.startswith("yy") for text in there)
    with raises(UsageError, "the model does", "'zz'"):
        Translation(name, name, ("xx", "zz"), device="cpu").apply(TEXTS, keys)
    with raises(UsageError, "back-translation"):
        augment(TEXTS, "backtranslation", model=name)


def test_apertium_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with raises(MissingError, "Apertium is not installed", "eng-spa"):
        augment(TEXTS, "backtranslation")


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
