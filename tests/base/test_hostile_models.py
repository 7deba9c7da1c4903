"""Folders that nobody should have written: refused in words, in little time and memory."""

from __future__ import annotations

import json
import os
import pickle
import random
import resource
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import coterie
from coterie import TwoStep
from coterie.base.storage import _check_fit
from coterie.blocks.assign import CenterAssigner, MappedAssigner
from coterie.errors import CoterieError, DataError
from said import raises

GOLDEN = Path(__file__).with_name("golden")


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


@pytest.fixture
def listed(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


@pytest.fixture
def copied(listed: Path) -> Path:
    """Without digests, as version 0.1 wrote it, or somebody who knows better."""
    return without_digests(listed)


@pytest.fixture
def whole(with_encoder: Path, tmp_path: Path) -> Path:
    return without_digests(Path(shutil.copytree(with_encoder, tmp_path / "whole")))


def without_digests(folder: Path) -> Path:
    config = json.loads((folder / "config.json").read_text())
    del config["files"]
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def change(file: Path, **values: object) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def refused(folder: Path, key: str | tuple[str, dict[str, str]]) -> None:
    """Refused with this message, within two seconds and fifty megabytes."""
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with raises(DataError, key):
        coterie.load(folder)
    assert time.process_time() - begun < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kilobytes


class Bomb:
    """Unpickled, it leaves a trace."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


def test_a_pickle_among_the_files_is_not_read(whole: Path, tmp_path: Path) -> None:
    (whole / "encoder" / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb(tmp_path / "ran")))
    (whole / "encoder" / "model.safetensors").unlink()
    refused(whole, "does not belong in")
    assert not (tmp_path / "ran").exists()


def test_modules_cannot_name_a_function_that_reads_pickles(whole: Path, tmp_path: Path) -> None:
    modules = json.loads((whole / "encoder" / "modules.json").read_text())
    (whole / "encoder" / "evil.txt").write_bytes(pickle.dumps(Bomb(tmp_path / "ran")))
    modules[0] |= {"type": "joblib.numpy_pickle", "path": "evil.txt"}
    (whole / "encoder" / "modules.json").write_text(json.dumps(modules))
    refused(whole, "which coterie does")
    assert not (tmp_path / "ran").exists()


def lead_out(folder: Path) -> None:
    modules = json.loads((folder / "encoder" / "modules.json").read_text())
    modules[1]["path"] = "../../elsewhere"
    (folder / "encoder" / "modules.json").write_text(json.dumps(modules))


def make_pipe(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / "model.safetensors")  # not waited for


def widen(folder: Path) -> None:
    arrays = load_file(folder / "model.safetensors")
    save_file(arrays | {"centers": np.zeros((3, 7), np.float32)}, folder / "model.safetensors")


def make_many(folder: Path) -> None:
    for i in range(2_001):
        (folder / f"{i}.txt").touch()


HARMS: list[tuple[str, Callable[[Path], object]]] = [
    ("which is outside", lead_out),
    (
        "which torch does",
        lambda f: change(f / "encoder/1_Pooling/config.json", activation_function="os.abort"),
    ),
    ("does not belong in", lambda f: (f / "encoder" / "x.py").write_text("raise SystemExit")),
    ("runs and models", make_pipe),
    ("bytes, more than", lambda f: os.truncate(f / "config.json", 10 << 30)),  # of nothing
    ("is not JSON", lambda f: (f / "config.json").write_text('{"format": ' + "[" * 200_000)),
    ("the clusters do not", widen),
    ("has too many files", make_many),
]


@pytest.mark.parametrize(("key", "harm"), HARMS, ids=[key for key, _ in HARMS])
def test_harmed_folders_are_refused(key: str, harm: Callable[[Path], object], whole: Path) -> None:
    harm(whole)
    refused(whole, key)


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
        ({"centers": {"dtype": "F32", "shape": [2**62, 2**62], "data_offsets": [0, 8]}}, None),
        ({"centers": {"dtype": "F32", "shape": [3, 2], "data_offsets": [8, 0]}}, None),
        ({"centers": {"dtype": "F32", "shape": [-3, -2], "data_offsets": [0, 24]}}, None),
        ({"centers": {"dtype": "OBJECT", "shape": [1], "data_offsets": [0, 8]}}, None),
        ({}, 10 << 30),
        ({}, 2**63),
    ],
)
def test_claims_of_a_header_are_compared_with_the_file(copied: Path, content, length) -> None:
    header(copied / "model.safetensors", content, b"12345678", length)
    refused(copied, "cannot be read as a saved")


@pytest.mark.parametrize(
    ("mapped", "centers", "fits"),
    [((4, 9), (3, 4), True), ((4, 8), (3, 4), False), ((4, 9), (3, 9), False), ((4, 9), (2, 4), 0)],
)
def test_a_map_before_the_centers_has_to_fit_both(mapped, centers, fits) -> None:
    inner = CenterAssigner(np.zeros(centers, np.float32))
    assigner = MappedAssigner(inner, np.zeros(mapped, np.float32), np.zeros(mapped[0], np.float32))
    model = SimpleNamespace(
        assigner_=assigner, n_clusters_=3, corrections_={}, encoder_=SimpleNamespace(dim=9)
    )
    if fits:
        _check_fit(model)
    else:
        with pytest.raises(DataError) as caught:
            _check_fit(model)
        assert any(
            part in str(caught.value) for part in ("the clusters do not", "clusters in vectors")
        )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("n_clusters", 10**12),
        ("n_clusters", -1),
        ("n_clusters", "3"),
        ("rule", []),
        ("rule", {"kind": "nonsense"}),
        ("parameters", None),
        ("guard", {"fired": 1}),
        ("encoder", {}),
        ("corrections", 5),
        ("outliers", {"a": 1}),
        ("format", "1"),
        ("method", 3),
    ],
)
def test_every_wrong_value_is_an_error_in_words(copied: Path, key: str, value: object) -> None:
    change(copied / "config.json", **{key: value})
    with pytest.raises(CoterieError):
        coterie.load(copied)


def test_a_model_cannot_ask_for_a_download(whole: Path, monkeypatch) -> None:
    import huggingface_hub

    def reached(*_: object, **__: object) -> None:
        raise AssertionError("a model asked for a download")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", reached)
    config = json.loads((whole / "config.json").read_text())
    config["encoder"]["pointer"] = {"name": "hub:evil/model", "weights_sha256": None}
    (whole / "config.json").write_text(json.dumps(config))
    refused(whole, ("the model names the encoder", "'hub:evil/model'"))


def test_a_checkpoint_path_in_a_model_is_ignored(copied: Path) -> None:
    config = json.loads((copied / "config.json").read_text())
    config["parameters"]["checkpoint"] = "/tmp/elsewhere"
    (copied / "config.json").write_text(json.dumps(config))
    assert coterie.load(copied).checkpoint is None


def mutate(data: bytes, draw: random.Random) -> bytes:
    """The bytes with a few of them changed, cut out, doubled or exchanged for others."""
    out = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(out) or 1)
        match draw.randrange(4):
            case 0:
                out[place : place + 1] = bytes([draw.randrange(256)])
            case 1:
                del out[place : place + draw.randint(1, 40)]
            case 2:
                out[place:place] = out[place : place + draw.randint(1, 40)]
            case 3:
                out[place : place + 4] = draw.choice([b"null", b"-1", b"1e9", b"{}", b"[[[", b'"'])
    return bytes(out)


def test_damaged_folders_are_refused_in_words(copied: Path, request) -> None:
    draw, tries = random.Random(0), 3_000 if request.config.getoption("--slow") else 150
    files = [copied / n for n in ("config.json", "model.safetensors", "encoder/encoder.json")]
    files.append(copied / "encoder" / "encoder.safetensors")
    original = {file: file.read_bytes() for file in files}
    refusals = 0
    for _ in range(tries):
        file = draw.choice(files)
        file.write_bytes(mutate(original[file], draw))
        try:
            coterie.load(copied)
        except CoterieError:
            refusals += 1
        finally:
            file.write_bytes(original[file])
    assert refusals > tries / 3
    coterie.load(copied)


@pytest.mark.parametrize("folder", sorted(GOLDEN.iterdir()), ids=lambda path: path.name)
def test_models_of_every_format_load_and_predict_as_when_they_were_made(folder: Path) -> None:
    model = coterie.load(folder / "model")
    known = json.loads((folder / "predictions.json").read_text("utf-8"))
    assert model.predict(list(known)).tolist() == list(known.values())


def test_there_is_a_folder_for_every_format() -> None:
    from coterie.base.storage import FORMAT

    formats = {
        json.loads((path / "model" / "config.json").read_text())["format"]
        for path in GOLDEN.iterdir()
    }
    assert formats == set(range(1, FORMAT + 1))
