"""Encoders read without the libraries: the same tokens and vectors, and the libraries on demand."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from coterie.encoders import DEFAULT, RaggedTokens, SentenceEncoder, load_encoder, no_cache
from coterie.encoders.base import pack_rows
from coterie.encoders.bert import can_pack, read_light
from encoded import encoded

ODD = [
    "Where is my parcel?", "", "[SEP] hi [MASK] there [CLS]", "naïve café ÀÉÎ", "a" * 150 + " b",
    "日本語のテキスト", "\u200b zero\u00adwidth", "emoji 🎉🎊", "İstanbul", "ﬁ ligature",
    "x" * 5000, "\x00 null", "##ing", "don't", "tab\tnew\nline", "mixed中文text", "ёлка Ё",
    "A\u0301", "a much longer text, " * 40,
]  # fmt: skip
TEXTS = ["apple pear plum", "car", "song guitar drum chorus singer violin", "bus motor"]
INDEX = np.array([0, 1, 2, 3, 2] * 12)  # some 300 tokens: ten rows


def vectors(encoder: SentenceEncoder, texts: list[str]) -> np.ndarray:
    with no_cache():
        return encoded(encoder, texts)


@pytest.mark.parametrize("which", ["default", "mean", "cls"])
def test_tokens_and_vectors_are_those_of_the_libraries(which: str, tiny_encoder: Path) -> None:
    spec = DEFAULT if which == "default" else tiny_encoder
    options = {"max_length": 32, "pooling": "auto" if which == "default" else which}
    light, whole = load_encoder(spec, **options), load_encoder(spec, **options)
    whole.complete()
    assert light.light is not None
    assert whole.light is None
    assert light.prepare(ODD)[0].content() == whole.prepare(ODD)[0].content()
    np.testing.assert_allclose(vectors(light, ODD), vectors(whole, ODD), atol=1e-6)


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
    old = {}
    for name, weight in load_file(folder / "model.safetensors").items():
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma")
        old[name.replace("LayerNorm.bias", "LayerNorm.beta")] = weight
    assert "embeddings.LayerNorm.gamma" in old
    save_file(old, folder / "model.safetensors", {"format": "pt"})
    light = load_encoder(folder, max_length=32)
    assert light.light is not None
    expected = vectors(load_encoder(tiny_encoder, max_length=32), ODD)
    np.testing.assert_array_equal(vectors(light, ODD), expected)


def test_all_batches_have_rows_of_one_width() -> None:
    """Else a step would be recorded for every width that comes up."""
    items = RaggedTokens.build([[7] * 60, [8] * 5], pad=0)
    assert items.packed_batch(np.array([1]))["input_ids"].shape[1] == 64


def test_widths_are_multiples_where_asked_for() -> None:
    items = RaggedTokens.build([[5, 6, 7], [8] * 9], pad=0)
    narrow, wide = items.batch(np.array([0, 1])), items.batch(np.array([0, 1]), 8)
    assert narrow["input_ids"].shape == (2, 9)
    assert wide["input_ids"].shape == (2, 16)
    assert wide["attention_mask"].sum(dim=1).tolist() == [3, 9]
    assert (wide["input_ids"][:, :9] == narrow["input_ids"]).all()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("width", [32, 61])
def test_no_text_lies_across_two_rows_and_none_on_another(seed: int, width: int) -> None:
    lengths = np.random.default_rng(seed).integers(1, 20, 100)
    begins, slots = pack_rows(lengths, width)
    assert (begins // width == (begins + lengths - 1) // width).all()
    taken = np.concatenate([np.arange(b, b + n) for b, n in zip(begins, lengths, strict=True)])
    assert len(np.unique(taken)) == lengths.sum()
    for row in np.unique(begins // width):
        here = begins // width == row
        order = np.argsort(begins[here])
        assert slots[here][order].tolist() == list(range(here.sum()))  # in the order of the tokens
        ends = (begins + lengths)[here][order]
        assert begins[here][order].tolist() == [row * width, *ends[:-1].tolist()]  # without a gap


def test_rows_are_as_full_as_can_be() -> None:
    lengths = np.random.default_rng(0).integers(3, 30, 1200)
    begins, _ = pack_rows(lengths, 32)
    assert begins.max() // 32 + 1 <= 1.06 * lengths.sum() / 32
    assert pack_rows(np.array([20, 20, 12, 12]), 32)[0].max() < 64  # in the order given: 3 rows


def test_a_text_longer_than_a_row_gets_a_wider_row() -> None:
    items = RaggedTokens.build([[1] * 300, [2] * 9], pad=0)
    packed = items.packed_batch(np.array([1, 0]))
    assert packed["input_ids"].shape == (3, 304)
    assert (packed["slots"] >= 0).sum(dim=1).tolist() == [300, 9, 0]


def test_only_known_parts_on_a_gpu_are_packed(tiny_encoder: Path) -> None:
    model = load_encoder(str(tiny_encoder)).model
    cuda, cpu = torch.device("cuda"), torch.device("cpu")
    assert can_pack(model, torch.bfloat16, cuda)
    assert not can_pack(model, torch.bfloat16, cpu)
    assert not can_pack(model, None, cuda)
    model[0].auto_model.config.hidden_act = "relu"
    assert not can_pack(model, torch.bfloat16, cuda)


@pytest.mark.gpu
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_in_half_precision_they_are_nearly_the_same(
    tiny_encoder: Path, pooling: str, fused: bool
) -> None:
    encoder = load_encoder(str(tiny_encoder), pooling=pooling).to("cuda").eval()
    encoder.fused = fused
    items, _ = encoder.prepare(TEXTS)
    items = items.to(torch.device("cuda"))
    gradients, outputs = [], []
    for dtype, batch in ((None, items.batch), (torch.bfloat16, items.packed_batch)):
        encoder.compute_dtype = dtype
        encoder.zero_grad()
        vectors = encoder(batch(INDEX))
        (vectors * torch.linspace(-1, 1, vectors.shape[1], device="cuda")).sum().backward()
        outputs.append(vectors.detach())
        named = encoder.named_parameters()
        gradients.append({k: p.grad.clone() for k, p in named if p.grad is not None})
    torch.testing.assert_close(outputs[0], outputs[1], atol=0.05, rtol=0.05)
    assert gradients[0].keys() == gradients[1].keys()
    for name, expected in gradients[0].items():
        cosine = torch.cosine_similarity(expected.flatten(), gradients[1][name].flatten(), dim=0)
        assert cosine > 0.98 or expected.norm() < 1e-2, (name, float(cosine))
