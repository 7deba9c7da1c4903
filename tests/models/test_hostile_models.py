"""Folders that nobody should have written: refused in words, in little time and memory."""

from __future__ import annotations

import json
import os
import pickle
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import coterie
from coterie import TwoStep
from coterie._util.trust import list_files
from coterie.arrays.outliers import OutlierLimit
from coterie.errors import DataError
from coterie.models.edited import edited
from said import raises


@pytest.fixture(scope="module")
def saved(topics, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "model"
    TwoStep(3, encoder="tfidf", random_state=0).fit(topics[0]).save(folder)
    return folder


@pytest.fixture(scope="module")
def with_encoder(topics, tiny_encoder: Path, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("with") / "model"
    TwoStep(3, encoder=tiny_encoder, random_state=0).fit(topics[0]).save(
        folder, include_encoder=True
    )
    return folder


@pytest.fixture(scope="module")
def with_edits(topics, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("edits") / "model"
    model = coterie.make_method("kmeans", 5, encoder="tfidf").fit(topics[0][:40])
    model.assigner_, model.outlier_limit_ = edited(model.assigner_, 5), OutlierLimit(0.9)
    model.save(folder)
    return folder


@pytest.fixture
def copied(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


@pytest.fixture
def edited_model(with_edits: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(with_edits, tmp_path / "edited"))


@pytest.fixture
def whole(with_encoder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(with_encoder, tmp_path / "whole"))


def list_again(folder: Path) -> None:
    """As somebody does who wants a changed model to be loaded: with digests that fit."""
    files = list_files(folder)
    del files["config.json"]
    change(folder / "config.json", files=files)


def change(file: Path, **values: object) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def refused(folder: Path, *parts: str) -> None:
    """Refused with this message, within two seconds and fifty megabytes."""
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with raises(DataError, *parts):
        coterie.load(folder)
    assert time.process_time() - begun < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kilobytes


class Bomb:
    """Unpickled, it leaves a trace."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


def put_bomb(file: Path) -> None:
    file.write_bytes(pickle.dumps(Bomb(file.parents[2] / "ran")))


def pickle_weights(folder: Path) -> None:
    put_bomb(folder / "encoder" / "pytorch_model.bin")
    (folder / "encoder" / "model.safetensors").unlink()


def name_a_module(folder: Path, place: int, **named: str) -> None:
    modules = json.loads((folder / "encoder" / "modules.json").read_text())
    modules[place] |= named
    (folder / "encoder" / "modules.json").write_text(json.dumps(modules))


def index_weights(folder: Path, name: str, plant: Callable[[Path], object]) -> None:
    """Let an index say that the weights are in another file."""
    encoder = folder / "encoder"
    weights = load_file(encoder / "model.safetensors")
    (encoder / "model.safetensors").rename(folder.parent / "outside.safetensors")
    plant(encoder / name)
    index = {"metadata": {}, "weight_map": dict.fromkeys(weights, name)}
    (encoder / "model.safetensors.index.json").write_text(json.dumps(index))


def make_pipe(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / "model.safetensors")


def widen(folder: Path) -> None:
    arrays = load_file(folder / "model.safetensors")
    save_file(arrays | {"centers": np.zeros((3, 7), np.float32)}, folder / "model.safetensors")


def make_many(folder: Path) -> None:
    for i in range(2_001):
        (folder / f"{i}.txt").touch()


def list_more(folder: Path, name: str) -> None:
    files = json.loads((folder / "config.json").read_text())["files"]
    change(folder / "config.json", files={**files, name: {"bytes": 1, "sha256": "0" * 64}})


def point_elsewhere(folder: Path, name: str | None = None) -> None:
    shutil.copytree(folder / "encoder", folder.parent / "theirs")
    pointer = {"name": name or str(folder.parent / "theirs"), "weights_sha256": name and "0" * 64}
    change(folder / "encoder/encoder.json", pointer=pointer)


def shuffle(folder: Path) -> None:
    file = folder / "encoder" / "model.safetensors"
    weights = load_file(file)
    name = next(n for n in weights if n.endswith("word_embeddings.weight"))
    save_file({**weights, name: np.ascontiguousarray(weights[name][::-1])}, file)


OUTSIDE = partial(index_weights, name="../../outside.safetensors", plant=lambda file: None)
HARMS: dict[str, tuple[str, str, Callable[[Path], object]]] = {
    # what is done: the digests that the model has then, what is said, the harm
    "a pickle": ("again", "does not belong in", pickle_weights),
    "a module outside": (
        "again", "which is outside", lambda f: name_a_module(f, 1, path="../../elsewhere"),
    ),
    "code": (
        "again", "does not belong in",
        lambda f: (f / "encoder" / "x.py").write_text("raise SystemExit"),
    ),
    "nested JSON": (
        "as before", "is not JSON",
        lambda f: (f / "config.json").write_text('{"format": ' + "[" * 200_000),
    ),
    "another width": ("again", "cannot be read as a saved", widen),
    "many files": ("as before", "has too many files", make_many),
    "an index to the outside": ("again", "does not belong in", OUTSIDE),
    "a list that leads out": (
        "as before", "which is outside", lambda f: list_more(f, "../outside.json")
    ),
    "a tokenizer's file elsewhere": (
        "fitting", "which is outside",
        lambda f: change(f / "encoder/tokenizer_config.json", vocab_file=str(f.parent / "pipe")),
    ),
    "a download": (
        "again", "'hub:evil/model', which is not loaded",
        lambda f: point_elsewhere(f, "hub:evil/model"),
    ),
    "another kind of encoder": (
        "again", "there is no encoder",
        lambda f: change(f / "encoder/encoder.json", **{"class": "Quux"}),
    ),
    "weights in another order": ("as before", "", shuffle),
}  # fmt: skip


@pytest.mark.parametrize("name", HARMS)
def test_harmed_folders_are_refused(name: str, whole: Path, monkeypatch) -> None:
    import huggingface_hub

    def reached(*_: object, **__: object) -> None:
        raise AssertionError("a model asked for a download")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", reached)
    digests, said, harm = HARMS[name]
    harm(whole)
    if digests != "as before":
        list_again(whole)
    refused(whole, said)
    assert not (whole.parent / "ran").exists()


@pytest.mark.full
@pytest.mark.parametrize(
    "harm", [make_pipe, partial(index_weights, name="w.safetensors", plant=os.mkfifo)]
)
def test_pipes_are_not_waited_for(harm: Callable[[Path], object], whole: Path) -> None:
    """In a process of its own: a library that waits for a pipe cannot be interrupted."""
    harm(whole)
    command = [sys.executable, "-c", "import sys, coterie; coterie.load(sys.argv[1])", whole]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "DataError" in done.stderr and "runs and models" in done.stderr, done.stderr


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "encoder/encoder.json"])
@pytest.mark.parametrize("target", ["/dev/zero", "/etc/hostname", "../elsewhere"])
def test_links_are_refused(copied: Path, name: str, target: str) -> None:
    (copied / name).unlink()
    (copied / name).symlink_to(target)
    dangling = name == "config.json" and target == "../elsewhere"
    refused(copied, "is not a saved model" if dangling else "runs and models")


def header(file: Path, content: dict, data: bytes = b"", length: int | None = None) -> None:
    text = json.dumps(content).encode()
    file.write_bytes((length or len(text)).to_bytes(8, "little") + text + data)


@pytest.mark.parametrize(
    ("content", "length"),
    [
        ({"centers": {"dtype": "F32", "shape": [10**9, 384], "data_offsets": [0, 10**12]}}, None),
        ({}, 10 << 30),
        ({}, 2**63),
    ],
)
def test_claims_of_a_header_are_compared_with_the_file(copied: Path, content, length) -> None:
    header(copied / "model.safetensors", content, b"12345678", length)
    list_again(copied)
    refused(copied, "cannot be read as a saved")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *((["n_clusters"], number) for number in (7, 10**12, "3")),
        (["corrections"], {"0" * 64: 99}),
        (["rule"], {"kind": "nonsense"}),
        (["parameters"], None),
        (["method"], 3),
    ],
)
def test_numbers_and_kinds_that_do_not_fit_are_refused(edited_model: Path, path, value) -> None:
    config = json.loads((edited_model / "config.json").read_text())
    place = config
    for key in path[:-1]:
        place = place[key]
    assert place[path[-1]] != value
    place[path[-1]] = value
    (edited_model / "config.json").write_text(json.dumps(config))
    refused(edited_model)


def first(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def spoil(x: np.ndarray) -> np.ndarray:
        x = x.copy()
        x.flat[0] = value
        return x

    return spoil


@pytest.mark.parametrize(
    ("file", "name", "spoil"),
    [
        *(
            ("model.safetensors", "centers", spoil)
            for spoil in (first(np.nan), lambda x: x[:-1], lambda x: x[:, :-1])
        ),
        ("encoder/encoder.safetensors", "idf", first(np.inf)),
    ],
)
def test_arrays_that_cannot_be_are_refused(edited_model: Path, file, name, spoil) -> None:
    arrays = load_file(edited_model / file)
    key = next(key for key in arrays if key.endswith(name))
    save_file({**arrays, key: np.ascontiguousarray(spoil(arrays[key]))}, edited_model / file)
    list_again(edited_model)
    refused(edited_model)
