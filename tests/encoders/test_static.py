"""Static encoders: the mean of looked-up vectors, against a loop; saved, found again, refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from typer.testing import CliRunner

from coterie import SCCL, Auto, TwoStep, load
from coterie.cli import app
from coterie.encoders import catalogue, check_encoder, load_encoder
from coterie.encoders.static import WORDLLAMA
from coterie.errors import DataError, MissingError, UsageError
from encoded import encoded
from said import raises

WORDS = ["[UNK]", "red", "blue", "car", "bus", "song", "tune"]


def make(folder: Path, normalize: bool = False, **arrays: np.ndarray) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.enable_truncation(2)  # as left by whoever saved it: must not count here
    tokenizer.save(str(folder / "tokenizer.json"))
    table = np.random.default_rng(0).normal(size=(len(WORDS), 4)).astype(np.float32)
    save_file({"embeddings": table, **arrays}, folder / "model.safetensors")
    config = {"model_type": "model2vec", "normalize": normalize}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def loop(text: str, table, weights=None, mapping=None) -> np.ndarray:
    """Mean over known words of weight times row, slow and obvious."""
    total, n = np.zeros(table.shape[1]), 0
    for word in text.split():
        if word in WORDS[1:]:
            i = WORDS.index(word)
            total += (1 if weights is None else weights[i]) * table[
                i if mapping is None else mapping[i]
            ]
            n += 1
    return total / max(n, 1)


TEXTS = ["red car", "blue bus song tune", "car", "red what car", "nothing known", "red red blue"]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("mapped", [False, True])
def test_equals_the_loop(tmp_path: Path, weighted: bool, mapped: bool) -> None:
    n = len(WORDS)
    weights = np.linspace(0.1, 2, n) if weighted else None
    mapping = np.array([0, 2, 2, 1, 6, 5, 3]) if mapped else None
    arrays = {"weights": weights} if weighted else {}
    arrays |= {"mapping": mapping} if mapped else {}
    encoder = load_encoder(make(tmp_path / "m", **arrays))
    expected = [loop(t, encoder.table.numpy(), weights, mapping) for t in TEXTS]
    np.testing.assert_allclose(encoded(encoder, TEXTS), expected, atol=1e-6)


def test_hand_value_length_and_cut(tmp_path: Path) -> None:
    table = np.zeros((len(WORDS), 2), dtype=np.float32)
    table[1], table[2] = (3, 0), (0, 4)
    folder = make(tmp_path / "m", embeddings=table)
    assert encoded(load_encoder(folder), ["red blue"]).tolist() == [[1.5, 2.0]]
    said = make(tmp_path / "unit", True, embeddings=table)
    for encoder in (load_encoder(folder, normalize=True), load_encoder(said)):
        unit = encoded(encoder, ["red blue", "unknown"])
        np.testing.assert_allclose(unit, [[0.6, 0.8], [0, 0]], atol=1e-6)
    short = load_encoder(folder, max_length=3)
    np.testing.assert_allclose(encoded(short, ["red red red blue blue"]), [[3, 0]])


@pytest.mark.parametrize("include", [False, True])
def test_a_saved_model_predicts_the_same(tmp_path: Path, include: bool) -> None:
    folder = make(tmp_path / "m", True)
    texts = [a + " " + b for a in ("red", "blue") for b in ("car", "bus", "song", "tune")]
    model = TwoStep(2, encoder=f"static:{folder}", random_state=0).fit(texts)
    model.save(tmp_path / "saved", include_encoder=include)
    assert (tmp_path / "saved" / "encoder").exists() == include
    if include:
        (folder / "model.safetensors").unlink()  # it is not needed any more
    np.testing.assert_array_equal(load(tmp_path / "saved").predict(texts), model.labels_)


def test_beside_a_sentence_encoder(tmp_path: Path, tiny_encoder: Path) -> None:
    static, texts = f"static:{make(tmp_path / 'm')}", [f"{a} {b}" for a in WORDS for b in TEXTS]
    model = Auto(2, encoder=f"{static}+{tiny_encoder}", random_state=0).fit(texts)
    outer = model.encoder_  # the sentence encoder has more views, wherever it is named
    assert (outer.inner.kind, outer.lexical.inner.kind) == ("sentence", "static")
    for include in (False, True):
        model.save(tmp_path / "saved", include_encoder=include)
        again = load(tmp_path / "saved")
        np.testing.assert_allclose(again.transform(texts), model.transform(texts), atol=1e-6)
    with raises(UsageError, "sentence encoders"):
        Auto(2, encoder=f"{static}+{static}").fit(texts)


def test_training_is_refused_with_the_remedy(tmp_path: Path) -> None:
    texts = [f"{a} {b}" for a in WORDS[1:] for b in WORDS[1:]]
    with raises(UsageError, "encoder: a static"):
        SCCL(2, encoder=make(tmp_path / "m"), steps=1, random_state=0).fit(texts)


def test_folders_that_are_none_are_refused(tmp_path: Path) -> None:
    folder = make(tmp_path / "m")
    save_file({"other": np.ones((2, 2), dtype=np.float32)}, folder / "model.safetensors")
    with raises(DataError, "has no table called"):
        load_encoder(folder)
    (folder / "model.safetensors").write_bytes(b"\x05")
    with raises(DataError, "cannot be read as safetensors"):
        load_encoder(folder)
    (folder / "tokenizer.json").unlink()
    with raises(UsageError, "give the folder of a model2vec model", "tokenizer.json"):
        load_encoder(f"static:{folder}")
    with raises(UsageError, "a static encoder has"):
        load_encoder(make(tmp_path / "n"), pooling="cls")


def package(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package whose code must not be run."""
    root = folder / "site" / name
    root.mkdir(parents=True)
    (root / "__init__.py").write_text("raise AssertionError('code of the package was run')\n")
    monkeypatch.syspath_prepend(str(folder / "site"))
    return root


def make_wordllama(folder: Path, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    root = package(folder, "wordllama", monkeypatch)
    made = make(folder / "made")
    for part, name in {"tokenizer": "tokenizer.json", "table": "model.safetensors"}.items():
        (root / WORDLLAMA[part]).parent.mkdir()
        (made / name).rename(root / WORDLLAMA[part])
    table = np.random.default_rng(1).normal(size=(len(WORDS), 4)).astype(np.float16)
    save_file({"embedding.weight": table}, root / WORDLLAMA["table"])
    return table.astype(np.float32)


def test_wordllama_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_wordllama(tmp_path, monkeypatch)
    encoder = load_encoder("static:wordllama")
    expected = np.array([loop(text, table) for text in TEXTS])
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(
        encoded(encoder, TEXTS), expected / np.maximum(lengths, 1e-12), atol=1e-6
    )
    model = TwoStep(2, encoder="static:wordllama", random_state=0).fit(TEXTS)
    for inside in (False, True):
        model.save(tmp_path / f"model {inside}", include_encoder=inside)
        again = load(tmp_path / f"model {inside}")
        np.testing.assert_array_equal(again.predict(TEXTS), model.labels_)
        pointer = json.loads((tmp_path / f"model {inside}/config.json").read_text())["encoder"][
            "pointer"
        ]
        assert (pointer and pointer["name"]) == (None if inside else "static:wordllama")


def test_a_model2vec_folder_inside_a_package(tmp_path: Path, monkeypatch) -> None:
    make(package(tmp_path, "brings_vectors", monkeypatch) / "_models" / "potion")
    named = encoded(load_encoder("static:brings_vectors"), TEXTS)
    here = load_encoder(make(tmp_path / "same"))
    np.testing.assert_array_equal(named, encoded(here, TEXTS))


def test_model2vec_is_found_where_its_own_package_keeps_it(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    with raises(MissingError, "or give the folder", "`encoder='minishlab/potion-base-8M'`"):
        load_encoder("static:model2vec")
    kept = tmp_path / "hub" / "models--minishlab--potion-base-8M"
    made = make(kept / "snapshots" / "abc")
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("abc")
    model = TwoStep(2, encoder="static:model2vec", random_state=0).fit(TEXTS)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(TEXTS), model.labels_)
    named = encoded(load_encoder("static:model2vec"), TEXTS)
    np.testing.assert_array_equal(named, encoded(load_encoder(made), TEXTS))


def test_packages_that_are_not_there_or_have_no_model(tmp_path: Path, monkeypatch) -> None:
    with raises(MissingError, "there is no folder", "'no_such_package_here'"):
        load_encoder("static:no_such_package_here")
    package(tmp_path, "without_model", monkeypatch)
    with raises(MissingError, "has no model2vec", "'without_model'"):
        check_encoder("static:without_model")


def test_the_command_lists_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "SECONDS", 0.0)
    wanted = ("static:wordllama", "static:model2vec", "tfidf", "FOLDER")
    listed = [one for one in catalogue.ENCODERS if one.name in wanted]
    monkeypatch.setattr(catalogue, "ENCODERS", listed)
    make_wordllama(tmp_path, monkeypatch)
    found = json.loads(CliRunner().invoke(app, ["encoders", "--json"]).output)
    rows = {one["name"]: one for one in found}
    assert list(rows) == ["static:wordllama", "static:model2vec", "tfidf", "FOLDER"]
    assert rows["static:wordllama"]["installed"] and rows["static:wordllama"]["dim"] == 4
    assert rows["static:wordllama"]["texts_per_second"] > 0
    assert rows["static:model2vec"]["installed"] is False and rows["FOLDER"]["installed"] is None
    table = CliRunner().invoke(app, ["encoders", "--no-speed"])
    assert table.exit_code == 0 and "pip install wordllama" in table.output
    assert all(
        one["dim"] is None
        for one in json.loads(CliRunner().invoke(app, ["encoders", "--no-speed", "--json"]).output)
    )
