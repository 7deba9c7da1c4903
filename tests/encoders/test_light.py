"""Encoders read without the libraries: the same tokens and vectors, and the libraries on demand."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from coterie.encoders import DEFAULT, SentenceEncoder, load_encoder, no_cache
from coterie.encoders.light import read_light

ODD = [
    "Where is my parcel?", "", "[SEP] hi [MASK] there [CLS]", "naïve café ÀÉÎ", "a" * 150 + " b",
    "日本語のテキスト", "\u200b zero\u00adwidth", "emoji 🎉🎊", "İstanbul", "ﬁ ligature",
    "x" * 5000, "\x00 null", "##ing", "don't", "tab\tnew\nline", "mixed中文text", "ёлка Ё",
    "A\u0301", "a much longer text, " * 40,
]  # fmt: skip


def vectors(encoder: SentenceEncoder, texts: list[str]) -> np.ndarray:
    items, rows = encoder.prepare(texts)
    with no_cache():
        return encoder.encode(items)[rows]


@pytest.mark.parametrize("which", ["default", "tiny"])
def test_tokens_and_vectors_are_those_of_the_libraries(which: str, tiny_encoder: Path) -> None:
    spec = DEFAULT if which == "default" else tiny_encoder
    options = {"max_length": 32}
    light, whole = load_encoder(spec, **options), load_encoder(spec, **options)
    whole.complete()
    assert light.light is not None
    assert whole.light is None
    assert light.prepare(ODD)[0].content() == whole.prepare(ODD)[0].content()
    np.testing.assert_allclose(vectors(light, ODD), vectors(whole, ODD), atol=1e-6)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_padding_and_pooling_are_those_of_the_libraries(pooling: str, tiny_encoder: Path) -> None:
    light, whole = (load_encoder(tiny_encoder, max_length=32, pooling=pooling) for _ in range(2))
    whole.complete()
    assert light.light is not None
    items, _ = light.prepare(["apple", "apple car song", "car song apple car car"])
    batch = items.batch(np.arange(3))
    assert not batch["attention_mask"].all()
    with torch.no_grad():
        torch.testing.assert_close(light(batch), whole(batch), atol=1e-6, rtol=0)


def test_vectors_need_no_library() -> None:
    code = (
        "import sys; from coterie.encoders import load_encoder, DEFAULT\n"
        "e = load_encoder(DEFAULT); e.encode(e.prepare(['one', 'two'])[0]); e.space()\n"
        "print([m for m in ('transformers', 'sentence_transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_changed_weights_and_switches_go_along(tiny_encoder: Path) -> None:
    encoder = load_encoder(tiny_encoder, max_length=32, pooling="cls").requires_grad_(False)
    assert encoder.light is not None
    before = vectors(encoder, ["apple car"])
    space = encoder.space()
    with torch.no_grad():
        for weight in encoder.parameters():
            weight.mul_(1.5)
    assert encoder.space() != space
    changed = vectors(encoder, ["apple car"])
    assert not np.allclose(before, changed, atol=1e-3)
    assert encoder.model[1].pooling_mode == "cls"  # asked for, and here it is
    assert encoder.light is None
    assert not any(weight.requires_grad for weight in encoder.parameters())
    np.testing.assert_allclose(vectors(encoder, ["apple car"]), changed, atol=1e-6)


def test_training_is_left_to_the_libraries(tiny_encoder: Path) -> None:
    encoder = load_encoder(tiny_encoder, max_length=32)
    encoder.eval()
    assert encoder.light is not None
    encoder.train()
    assert encoder.light is None
    assert encoder.model.training
    assert any(isinstance(part, torch.nn.Dropout) for part in encoder.modules())


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("config.json", {"hidden_act": "relu"}),
        ("config.json", {"model_type": "roberta"}),
        ("config.json", {"position_embedding_type": "relative_key"}),
        ("config.json", {"num_hidden_layers": 3}),
        ("config.json", {"hidden_size": 16}),
        ("config.json", {"num_attention_heads": 0}),
        ("tokenizer_config.json", {"do_lower_case": False}),
        ("tokenizer_config.json", {"tokenizer_class": "RobertaTokenizer"}),
        ("tokenizer_config.json", {"truncation_side": "left"}),
        ("tokenizer.json", {"pre_tokenizer": {"type": "Whitespace"}}),
        ("tokenizer.json", {"post_processor": None}),
        ("sentence_bert_config.json", {"do_lower_case": True}),
        ("1_Pooling/config.json", {"pooling_mode": "max"}),
    ],
)
def test_what_is_unusual_is_left_to_the_libraries(
    tiny_encoder: Path, tmp_path: Path, file: str, change: dict[str, object]
) -> None:
    folder = tmp_path / "changed"
    shutil.copytree(tiny_encoder, folder)
    assert read_light(folder, 32, dict) is not None
    found = json.loads((folder / file).read_text("utf-8")) if (folder / file).exists() else {}
    (folder / file).write_text(json.dumps(found | change), "utf-8")
    assert read_light(folder, 32, dict) is None


def test_more_tokens_than_places_and_broken_weights_are_left_to_the_libraries(
    tiny_encoder: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "changed"
    shutil.copytree(tiny_encoder, folder)
    assert read_light(folder, 64, dict) is not None
    assert read_light(folder, 65, dict) is None
    (folder / "model.safetensors").write_bytes(b"no weights")
    assert read_light(folder, 32, dict) is None
    (folder / "model.safetensors").unlink()
    assert read_light(folder, 32, dict) is None


def test_norms_called_gamma_and_beta_are_read(tiny_encoder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "old-names"
    shutil.copytree(tiny_encoder, folder)
    weights = load_file(folder / "model.safetensors")
    usual = {re.sub("gamma$", "weight", re.sub("beta$", "bias", name)) for name in weights}
    old = {
        re.sub("LayerNorm.weight$", "LayerNorm.gamma",
               re.sub("LayerNorm.bias$", "LayerNorm.beta", name)): weight
        for name, weight in weights.items()
    }  # fmt: skip
    assert set(old) != usual
    save_file(old, folder / "model.safetensors", {"format": "pt"})
    light = load_encoder(folder, max_length=32)
    assert light.light is not None
    expected = vectors(load_encoder(tiny_encoder, max_length=32), ODD)
    np.testing.assert_array_equal(vectors(light, ODD), expected)
