"""A head that names hidden words: its loss, its test, and the folder it is written to."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import coterie
from coterie.encoders import load_encoder
from coterie.engine import TrainingData
from coterie.errors import DataError, UsageError
from coterie_bench.masked_words import (
    HeadSettings,
    MaskedNet,
    hidden_places,
    hide,
    masked_loss,
    score,
    split,
    train_masked_head,
)

FAST = HeadSettings(steps=150, batch_size=32, lr=3e-3, head_lr=3e-3, device="cpu", held_out=0.2)
CPU = torch.device("cpu")


def make_net(folder: Path, texts: list[str], rate: float = 0.5) -> tuple[MaskedNet, TrainingData]:
    encoder = load_encoder(str(folder))
    items, rows = encoder.prepare(texts)
    counts = torch.bincount(torch.from_numpy(items.flat), minlength=35).float()
    return MaskedNet(encoder, counts, rate).eval(), TrainingData(items, rows[None])


def test_tokens_are_hidden_as_bert_hides_them() -> None:
    torch.manual_seed(0)
    ids = torch.randint(10, 1_000, (200, 100))
    may = torch.ones_like(ids, dtype=torch.bool)
    may[:, 0] = False
    shown, picked = hide(ids, may, 0.15, 4, 1_000)
    assert not picked[:, 0].any() and (shown[~picked] == ids[~picked]).all()
    assert abs(float(picked[:, 1:].float().mean()) - 0.15) < 0.01
    masked = shown[picked] == 4
    kept = shown[picked] == ids[picked]
    assert abs(float(masked.float().mean()) - 0.8) < 0.03
    assert abs(float(kept.float().mean()) - 0.1) < 0.03


def test_the_loss_is_the_mean_over_the_hidden_tokens(tiny_encoder: Path, topics) -> None:
    net, data = make_net(tiny_encoder, topics[0][:6])
    batch = data.batch(np.arange(6), (0,), CPU)
    torch.manual_seed(1)
    found = masked_loss(net, batch)["masked"]
    torch.manual_seed(1)
    ids, mask = batch.features["input_ids"], batch.features["attention_mask"]
    may = (mask == 1) & ~net.special[ids]
    shown, picked = hide(ids, may, net.rate, net.mask_id, len(net.table))
    hidden = net.encoder.model[0].auto_model(shown, attention_mask=mask).last_hidden_state
    losses = []
    for i, j in picked.nonzero().tolist():
        made = net.head.norm(torch.nn.functional.gelu(net.head.dense(hidden[i, j])))
        logits = (net.table @ made + net.head.bias).tolist()
        losses.append(np.log(np.exp(logits).sum()) - logits[int(ids[i, j])])
    assert len(losses) > 3
    assert found.item() == pytest.approx(np.mean(losses), rel=1e-5)


def test_the_test_counts_guesses(tiny_encoder: Path, topics) -> None:
    texts = topics[0][:9]
    net, _ = make_net(tiny_encoder, texts)
    counts = torch.zeros(35)
    counts[5:10] = torch.arange(5.0, 0.0, -1)
    found = score(net, texts, 0.4, counts)
    first = five = usual = total = 0
    for text in texts:
        ids = torch.tensor([net.encoder.tokenizer(text)["input_ids"]])
        at = hidden_places([text], ~net.special[ids], 0.4)
        assert at.any() and not (at & net.special[ids]).any()
        with torch.inference_mode():
            made = net.features(ids.masked_fill(at, net.mask_id), torch.ones_like(ids), at)
        for row, truth in zip(made, ids[at].tolist(), strict=True):
            with torch.inference_mode():
                ranked = (net.table @ row + net.head.bias).argsort(descending=True).tolist()
            first, five, total = (
                first + (ranked[0] == truth),
                five + (truth in ranked[:5]),
                total + 1,
            )
            usual += truth == 5
    assert found["hidden_tokens"] == total
    assert (found["top1"], found["top5"]) == (round(first / total, 4), round(five / total, 4))
    assert found["frequent_top1"] == round(usual / total, 4)


def test_held_out_texts_are_never_learned() -> None:
    texts = [f"text {i}" for i in range(50)] * 2 + [""]
    learned, tested = split(texts, HeadSettings(held_out=0.1))
    assert len(tested) == 5 and len(learned) == 45 and not set(learned) & set(tested)
    assert split(texts[::-1], HeadSettings(held_out=0.1)) == (learned, tested)
    with pytest.raises(DataError, match="two different"):
        split(["same", "same"], HeadSettings())


def test_training_learns_and_the_folder_is_the_trained_model(
    tiny_encoder: Path, topics, tmp_path: Path
) -> None:
    from transformers import AutoModelForMaskedLM

    folder = tmp_path / "head"
    # One word over and over, so that a gap can be filled from its neighbours.
    words = sorted({word for text in topics[0] for word in text.split()})
    texts = [" ".join([word] * n) for word in words for n in range(4, 12)]
    found = train_masked_head(texts, folder, encoder=str(tiny_encoder), settings=FAST)
    assert found["top1"] > found["frequent_top1"] + 0.2 and found["top5"] >= found["top1"]
    stored = json.loads((folder / "training.json").read_text())
    assert stored["top1"] == found["top1"] and stored["settings"]["steps"] == FAST.steps
    model = AutoModelForMaskedLM.from_pretrained(folder).eval()
    encoder = load_encoder(str(tiny_encoder))
    text = encoder.tokenizer(f"{words[1]} [MASK] {words[1]} {words[1]}", return_tensors="pt")
    with torch.inference_mode():
        best = model(**text).logits[0, 2].topk(3).indices.tolist()
    assert words[1] in encoder.tokenizer.convert_ids_to_tokens(best)
    made = coterie.augment(texts[:20], "contextual", model=str(folder), device="cpu")
    assert made.unchanged == 0


def test_the_head_in_the_folder_gives_the_scores_of_the_net(
    tiny_encoder: Path, topics, tmp_path: Path
) -> None:
    from transformers import AutoModelForMaskedLM

    from coterie_bench.masked_words import _shell, _write

    net, data = make_net(tiny_encoder, topics[0][:4])
    torch.nn.init.normal_(net.head.dense.weight, std=0.2)
    torch.nn.init.normal_(net.head.norm.weight)
    batch = data.batch(np.arange(4), (0,), CPU).features
    ids, mask = batch["input_ids"], batch["attention_mask"]
    with torch.inference_mode():
        made = net.features(ids, mask, mask == 1)
        wanted = made @ net.table.T + net.head.bias
    _write(net, _shell(net.encoder), tmp_path / "head", {})
    model = AutoModelForMaskedLM.from_pretrained(tmp_path / "head").eval()
    with torch.inference_mode():
        found = model(input_ids=ids, attention_mask=mask).logits[mask == 1]
    assert torch.allclose(found, wanted, atol=1e-4)


def test_what_cannot_work_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="encoder"):
        train_masked_head(["a b", "c d"], tmp_path, encoder="tfidf")
    with pytest.raises(UsageError, match="mask_rate"):
        train_masked_head(["a b", "c d"], tmp_path, settings=HeadSettings(mask_rate=1.0))


@pytest.mark.gpu
def test_training_on_a_gpu_runs_in_bfloat16(tiny_encoder: Path, topics, tmp_path: Path) -> None:
    settings = HeadSettings(steps=20, batch_size=16, device="cuda")
    found = train_masked_head(
        topics[0], tmp_path / "head", encoder=str(tiny_encoder), settings=settings
    )
    assert found["precision"] == "bfloat16" and found["hidden_tokens"] > 0
    made = coterie.augment(topics[0], "contextual", model=str(tmp_path / "head"), device="cuda")
    assert made.unchanged == 0
