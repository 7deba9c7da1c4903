"""Encoding in 8 bits: the numbers it promises, no influence of company, and the way back."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from coterie import SCCL, Auto, TwoStep, cluster, load, sample
from coterie.encoders import DEFAULT, int8, load_encoder, no_cache
from coterie.encoders.int8 import SIZES, Int8Bert, largest_weight, read_plain, round_weights
from coterie.errors import MissingError
from encoded import encoded
from said import raises

ODD = [
    "Where is my parcel?", "", "[SEP] hi [MASK] there [CLS]", "naïve café ÀÉÎ", "a" * 150 + " b",
    "日本語のテキスト", "\u200b zero\u00adwidth", "emoji 🎉🎊", "İstanbul", "ﬁ ligature",
    "x" * 5000, "\x00 null", "##ing", "don't", "tab\tnew\nline", "mixed中文text", "ёлка Ё",
    "A\u0301", "a much longer text, " * 40,
]  # fmt: skip


@pytest.fixture
def exact():
    return load_encoder(DEFAULT)


@pytest.fixture
def rounded():
    encoder = load_encoder(DEFAULT)
    encoder.encode_precision = "int8"
    assert encoder.precision_here() == "int8"
    return encoder


def rounded_input(x, *, gelu=False):
    """A vector as whole numbers times a scale, worked number by number."""
    zero = 16 if gelu else 128
    size = max([2.72, *x] if gelu else [1e-6, *map(abs, x)])
    scale = np.float32(size) / np.float32(255 - zero)
    return [round(float(v / scale)) for v in x], scale


def slow_linear(weights, name, x, *, gelu=False):
    matrix, scales = round_weights(weights[f"{name}.weight"], largest_weight())
    whole, scale = rounded_input(x, gelu=gelu)
    sums = [sum(a * int(b) for a, b in zip(whole, column, strict=True)) for column in matrix.T]
    return np.array(sums) * scale * scales + weights[f"{name}.bias"]


def slow_layer(weights, part, x, heads, eps):
    """One layer of one text, token by token; ``x`` is (length, d)."""
    from scipy.special import erf

    def norm(v, name):
        v = (v - v.mean()) / np.sqrt(v.var() + eps)
        return v * weights[f"{part}.{name}.weight"] + weights[f"{part}.{name}.bias"]

    q, k, v = (
        np.array([slow_linear(weights, f"{part}.attention.self.{name}", token) for token in x])
        for name in ("query", "key", "value")
    )
    width = x.shape[1] // heads
    mixed = np.empty_like(q)
    for head in range(heads):
        own = slice(head * width, (head + 1) * width)
        for i in range(len(x)):
            share = np.exp(k[:, own] @ q[i, own] / np.sqrt(width))
            mixed[i, own] = share / share.sum() @ v[:, own]
    out = []
    for token, one in zip(x, mixed, strict=True):
        behind = slow_linear(weights, f"{part}.attention.output.dense", one)
        y = norm(token + behind, "attention.output.LayerNorm")
        inner = slow_linear(weights, f"{part}.intermediate.dense", y)
        inner = 0.5 * inner * (1 + erf(inner / np.sqrt(2)))
        y = norm(
            y + slow_linear(weights, f"{part}.output.dense", inner, gelu=True), "output.LayerNorm"
        )
        out.append(y)
    return np.array(out)


def test_a_layer_is_what_loops_make_of_it(tiny_encoder) -> None:
    plain = read_plain(tiny_encoder, 32)
    weights, (layers, heads, eps) = plain.weights, [plain.config[name] for name in SIZES[:3]]
    ids = np.array([[2, 7, 9, 3], [2, 5, 5, 3]])
    before, after, *_ = Int8Bert(weights, layers, heads, eps, 1).layers(ids)
    for row in range(2):
        slow = slow_layer(weights, "encoder.layer.0", before[row], heads, eps)
        np.testing.assert_allclose(after[row], slow, atol=1e-4)


def test_rounding_by_hand() -> None:
    weight = np.array([[6.3, -1.0, 0.26], [0.0, 0.0, 0.0]], dtype=np.float32)
    whole, scale = round_weights(weight, 63)
    assert whole.dtype == np.int8 and whole.tolist() == [[63, 0], [-10, 0], [3, 0]]
    np.testing.assert_allclose(scale, [0.1, 1.0])
    assert rounded_input([1.27, -0.5, 0.004]) == ([127, -50, 0], pytest.approx(0.01))
    assert rounded_input([4.78, -0.1], gelu=True) == ([239, -5], pytest.approx(0.02))


def test_vectors_are_close_and_do_not_depend_on_company(exact, rounded) -> None:
    texts = [*sample().texts[:150], "a", "word " * 200]
    with no_cache():
        fine, coarse = encoded(exact, texts), encoded(rounded, texts)
        cosine = (fine * coarse).sum(axis=1)  # both have length one
        assert cosine.mean() > 0.99 and cosine.min() > 0.98
        assert not np.array_equal(fine, coarse)
        for row in (0, 77, 150, 151):
            np.testing.assert_array_equal(encoded(rounded, [texts[row]])[0], coarse[row])
    assert exact.space() != rounded.space()  # kept apart on disk


@pytest.mark.full
@pytest.mark.parametrize("largest", [63, 127])
def test_other_processors_make_other_vectors(monkeypatch, exact, rounded, largest) -> None:
    here = rounded.space()
    monkeypatch.setattr(int8, "largest_weight", lambda: largest)
    other = load_encoder(DEFAULT)
    other.encode_precision = "int8"
    texts = sample().texts[:50]
    with no_cache():
        cosine = (encoded(exact, texts) * encoded(other, texts)).sum(axis=1)
    assert cosine.mean() > (0.996 if largest == 127 else 0.99) and cosine.min() > 0.97
    assert (other.space() == here) == (largest == largest_weight())


def test_views_are_those_of_the_same_pass(exact, rounded) -> None:
    weights = np.random.default_rng(0).random(exact.n_tokens, dtype=np.float32)
    items, _ = rounded.prepare(sample().texts[:40])
    with no_cache():
        views = rounded.encode_views(items, weights)
        np.testing.assert_allclose(views[0], rounded.encode(items), atol=1e-6)
        for fine, coarse in zip(exact.encode_views(items, weights), views, strict=True):
            norms = np.linalg.norm(fine, axis=1) * np.linalg.norm(coarse, axis=1)
            assert ((fine * coarse).sum(axis=1) / norms).min() > 0.98


def test_saving_the_encoder_changes_no_vector(tmp_path) -> None:
    texts = sample().texts[:40]
    model = TwoStep(4, random_state=0).fit(texts)
    with no_cache():
        before = model.transform(texts)
        model.save(tmp_path / "m", include_encoder=True)
        np.testing.assert_array_equal(model.transform(texts), before)
        np.testing.assert_array_equal(load(tmp_path / "m").transform(texts), before)


@pytest.mark.parametrize("method", [Auto, TwoStep])
def test_labels_stay_when_texts_come_alone_and_after_loading(tmp_path, method) -> None:
    texts = sample().texts[:120]
    model = method(8, random_state=0).fit(texts)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    inner = getattr(again.encoder_, "inner", again.encoder_)
    assert inner.encode_precision == "int8"
    np.testing.assert_array_equal(again.predict(texts), model.labels_)
    with no_cache():
        assert [int(again.predict([text])[0]) for text in texts[:8]] == model.labels_[:8].tolist()


def test_what_trains_stays_in_float32(tiny_encoder, topics) -> None:
    model = SCCL(
        3, encoder=tiny_encoder, max_length=32, steps=2, batch_size=16, random_state=0
    ).fit(topics[0])
    assert model.encoder_.encode_precision == "float32"


def test_where_onnxruntime_fails_float32_is_used_and_said(
    tmp_path, monkeypatch, tiny_encoder, topics, caplog
) -> None:
    monkeypatch.setattr("onnxruntime.InferenceSession", lambda *a, **k: 1 / 0)
    asked = {"method": "kmeans", "encoder": str(tiny_encoder), "settings": {"max_length": 32}}
    run = cluster(topics[0], 3, **asked, folder=tmp_path / "a")
    assert caplog.text.count("encoded in float32") == 1
    assert run.manifest["encoder"]["precision"] == "float32"
    same = cluster(topics[0], 3, **asked, precision="float32")
    np.testing.assert_array_equal(run.labels, same.labels)


def test_float32_without_the_libraries_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with raises(MissingError, "pip install 'coterie[train]'"):
        TwoStep(2, precision="float32").fit(["one text", "another text", "a third"])


def test_the_manifest_says_which_precision(tmp_path, tiny_encoder, topics) -> None:
    asked = {"encoder": str(tiny_encoder), "settings": {"max_length": 32}}
    run = cluster(topics[0], 3, **asked, folder=tmp_path / "a")
    assert run.manifest["encoder"]["precision"] == "int8"


# Reading the folder ---------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["default", "tiny"])
def test_tokens_are_those_of_the_libraries(which: str, tiny_encoder: Path) -> None:
    spec = DEFAULT if which == "default" else tiny_encoder
    plain, whole = load_encoder(spec, max_length=32), load_encoder(spec, max_length=32)
    assert plain.plain is not None
    whole.make_trainable()
    assert whole.plain is None
    assert plain.prepare(ODD)[0].content() == whole.prepare(ODD)[0].content()


def test_vectors_need_no_library() -> None:
    code = (
        "import sys; from coterie.encoders import load_encoder, DEFAULT\n"
        "e = load_encoder(DEFAULT); e.encode_precision = 'int8'\n"
        "e.encode(e.prepare(['one', 'two'])[0]); e.space()\n"
        "print([m for m in ('transformers', 'sentence_transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("config.json", {"hidden_act": "relu"}),
        ("config.json", {"model_type": "roberta"}),
        ("config.json", {"position_embedding_type": "relative_key"}),
        ("config.json", {"num_hidden_layers": 3}),
        ("tokenizer_config.json", {"do_lower_case": False}),
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
    assert read_plain(folder, 64) is not None
    assert read_plain(folder, 65) is None  # more tokens than places
    found = json.loads((folder / file).read_text("utf-8")) if (folder / file).exists() else {}
    (folder / file).write_text(json.dumps(found | change), "utf-8")
    assert read_plain(folder, 32) is None


def test_norms_called_gamma_and_beta_are_read(tiny_encoder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "old-names"
    shutil.copytree(tiny_encoder, folder)
    old = {}
    for name, weight in load_file(folder / "model.safetensors").items():
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma")
        old[name.replace("LayerNorm.bias", "LayerNorm.beta")] = weight
    assert "embeddings.LayerNorm.gamma" in old
    save_file(old, folder / "model.safetensors", {"format": "pt"})
    found, expected = read_plain(folder, 32), read_plain(tiny_encoder, 32)
    for name, weight in expected.weights.items():
        np.testing.assert_array_equal(found.weights[name], weight)
