"""Vectors on disk: found again, kept apart, bounded, whole, and never of a trained encoder."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from coterie import SCCL
from coterie.encoders import SentenceEncoder, cache, load_encoder, no_cache
from encoded import encoded


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many items each call really worked on."""
    seen: list[int] = []
    real = SentenceEncoder._work

    def count(self, items, index, *rest):
        seen.append(len(index))
        return real(self, items, index, *rest)

    monkeypatch.setattr(SentenceEncoder, "_work", count)
    return seen


def test_only_new_texts_are_worked(folder, worked, tiny_encoder, topics) -> None:
    texts = topics[0]
    encoded(load_encoder(tiny_encoder), texts[:70])
    mixed = encoded(load_encoder(tiny_encoder), texts)
    again = encoded(load_encoder(tiny_encoder), texts[::-1])
    assert worked == [70, 20]
    np.testing.assert_array_equal(again[::-1], mixed)
    with no_cache():
        np.testing.assert_allclose(mixed, encoded(load_encoder(tiny_encoder), texts), atol=1e-6)
    assert len(worked) == 3


@pytest.mark.parametrize("other", [{"normalize": True}, {"pooling": "cls"}, {"max_length": 4}])
def test_other_settings_are_kept_apart(folder, tiny_encoder, topics, other) -> None:
    encoded(load_encoder(tiny_encoder), topics[0])
    kept = encoded(load_encoder(tiny_encoder, **other), topics[0])
    with no_cache():
        fresh = encoded(load_encoder(tiny_encoder, **other), topics[0])
    np.testing.assert_allclose(kept, fresh, atol=1e-6)


def test_a_trained_encoder_is_never_kept(folder, tiny_encoder, topics) -> None:
    encoder = load_encoder(tiny_encoder)
    encoder.make_trainable()
    assert encoder.space() is None
    encoded(encoder, topics[0])
    assert not folder.exists()
    model = SCCL(3, encoder=tiny_encoder, steps=2, batch_size=16, random_state=0, guard=False)
    model.fit(topics[0])
    # Of the start, before training: its vectors, and the views that the guard compares with.
    assert len(list(folder.rglob("*.safetensors"))) == 2
    with no_cache():
        fresh = model.transform(topics[0])
    np.testing.assert_allclose(model.transform(topics[0]), fresh, atol=1e-6)


def test_few_texts_leave_no_file(folder, tiny_encoder, topics) -> None:
    encoded(load_encoder(tiny_encoder), topics[0][: cache.FEW - 1])
    assert not folder.exists()


@pytest.mark.parametrize("harm", ["cut", "foreign"])
def test_what_a_damaged_file_held_is_made_anew(folder, worked, tiny_encoder, topics, harm) -> None:
    first = encoded(load_encoder(tiny_encoder), topics[0])
    (shard,) = folder.rglob("*.safetensors")
    whole = shard.read_bytes()
    shard.write_bytes(whole[: len(whole) // 2] if harm == "cut" else b"\x80\x04K\x01.")
    for _ in range(2):
        np.testing.assert_array_equal(encoded(load_encoder(tiny_encoder), topics[0]), first)
    assert worked == [90, 90]


def test_the_longest_unused_goes_first(folder, worked, tiny_encoder, topics, monkeypatch) -> None:
    texts = [*topics[0], *(f"{t} apple" for t in topics[0]), *(f"{t} car" for t in topics[0])]
    encoder = load_encoder(tiny_encoder)
    encoded(encoder, texts[:90])
    (first,) = folder.rglob("*.safetensors")
    encoded(encoder, texts[90:180])
    (second,) = set(folder.rglob("*.safetensors")) - {first}
    os.utime(first, (1, 1))
    os.utime(second, (2, 2))
    encoded(encoder, texts[:90])  # used: now the second is the older one
    monkeypatch.setenv("COTERIE_CACHE_LIMIT", str(int(2.5 * first.stat().st_size)))
    encoded(encoder, texts[180:])
    left = set(folder.rglob("*.safetensors"))
    assert first in left and second not in left and len(left) == 2


def test_a_folder_that_cannot_be_written_costs_no_run_and_is_told_once(
    tmp_path, monkeypatch, tiny_encoder, topics, caplog
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr("coterie.encoders.base.KEEP_EVERY", 0)
    assert encoded(load_encoder(tiny_encoder), topics[0]).shape == (90, 32)
    assert caplog.text.count("nothing is kept") == 1


@pytest.mark.full
def test_a_killed_process_loses_seconds_of_work(folder, worked, tiny_encoder, topics) -> None:
    code = (
        "import os, sys; from coterie.encoders import base, load_encoder\n"
        "from coterie._util.progress import Progress\n"
        "class Kill(Progress):\n"
        "    def advance(self, done): done > 40 and os.kill(os.getpid(), 9)\n"
        "base.KEEP_EVERY = 0; e = load_encoder(sys.argv[1])\n"
        "e.tokens_per_batch = 32; e.encode(e.prepare(sys.argv[2].split(';'))[0], progress=Kill())"
    )
    command = [sys.executable, "-c", code, str(tiny_encoder), ";".join(topics[0])]
    assert subprocess.run(command, check=False).returncode == -9
    kept = encoded(load_encoder(tiny_encoder), topics[0])
    assert 0 < worked[0] <= 90 - 32  # the batch that was being made, and those after it
    with no_cache():
        np.testing.assert_allclose(kept, encoded(load_encoder(tiny_encoder), topics[0]), atol=1e-6)


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COTERIE_CACHE", "off")
    assert not cache.is_on()
    monkeypatch.delenv("COTERIE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.is_on() and cache.place() == tmp_path / "coterie"
