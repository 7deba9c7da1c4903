"""A masked language model from a sentence encoder, fitted to the user's own texts.

Contextual substitution needs a model that knows which words fit a gap. Sentence encoders come
without the head for it, so it is trained here, together with a copy of the encoder, and written as
a transformers folder. Reading order: settings, network, loss and score, training, writing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie._files import write_json
from coterie._folders import held, replace_folder
from coterie._progress import make_progress
from coterie._random import derive_seed, numpy_generator, torch_seeded
from coterie._types import Terms
from coterie._validation import check_device, check_integer, check_number, checked, need
from coterie.augmentation.base import bits, text_keys
from coterie.blocks.token_loss import token_cross_entropy
from coterie.corpus import texts_from
from coterie.encoders import DEFAULT, SentenceEncoder, load_encoder
from coterie.encoders.sentence import without_bars
from coterie.engine import Batch, Run, Stage, TrainingData, steps_for, train
from coterie.errors import DataError, UsageError

KEEP, REPLACE = 0.1, 0.1  # of the chosen tokens, as BERT has it; the others become the mask
TOP = 5
OPTIMIZATIONS = ("one-pass", "fused-adam", "device-tokens")  # the number of masks varies: no graphs
FEWEST, MOST, EPOCHS = 200, 5_000, 20  # training steps by default


@dataclass(frozen=True, kw_only=True)
class HeadSettings:
    """How a head is trained.

    Parameters
    ----------
    batch_size : int, default=128
    steps : int, optional
        Default: 20 epochs, but 200 steps at least and 5,000 at most.
    lr : float, default=5e-5
        Learning rate of the copy of the encoder; 0 leaves it as it is.
    head_lr : float, default=1e-3
    mask_rate : float, default=0.15
        Share of tokens to guess.
    held_out : float, default=0.05
        Share of the different texts that are only used for the test.
    max_length : int, default=64
    random_state : int, default=0
    device, precision : str, default="auto"
        On a GPU the encoder runs in bfloat16 unless ``precision`` says otherwise.
    verbose : int, default=0
    """

    batch_size: int = 128
    steps: int | None = None
    lr: float = 5e-5
    head_lr: float = 1e-3
    mask_rate: float = 0.15
    held_out: float = 0.05
    max_length: int = 64
    random_state: int = 0
    device: str = "auto"
    precision: str = "auto"
    verbose: int = 0

    def check(self) -> None:
        """Refuse what cannot work, before anything is loaded."""
        for name in ("batch_size", "max_length"):
            check_integer(name, getattr(self, name))
        if self.steps is not None:
            check_integer("steps", self.steps, 1)
        for name in ("lr", "head_lr"):
            check_number(name, getattr(self, name))
        for name in ("mask_rate", "held_out"):
            if not 0 < getattr(self, name) < 1:
                raise UsageError(f"{name} should be between 0 and 1, got {getattr(self, name)!r}.")


class MaskedHead(nn.Module):
    """From the vector of a token to a vector beside the word embeddings, and a bias per word.

    Parameters
    ----------
    width : int
    counts : Tensor of shape (vocabulary,)
        How often each token occurs; the biases begin as logarithms of shares.
    eps : float
        Of the normalisation.
    """

    def __init__(self, width: int, counts: Tensor, eps: float) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width)
        nn.init.eye_(self.dense.weight)
        nn.init.zeros_(self.dense.bias)
        self.norm = nn.LayerNorm(width, eps=eps)
        self.bias = nn.Parameter(((counts + 0.1) / (counts.sum() + 0.1 * len(counts))).log())

    def forward(self, hidden: Tensor) -> Tensor:
        features: Tensor = self.norm(F.gelu(self.dense(hidden)))
        return features


class MaskedNet(nn.Module):
    """An encoder and a head for hidden words."""

    def __init__(self, encoder: SentenceEncoder, counts: Tensor, rate: float) -> None:
        super().__init__()
        tokenizer = encoder.tokenizer
        if tokenizer.mask_token_id is None:
            raise UsageError("encoder: its tokenizer has no mask, so no masked head can be fitted.")
        self.encoder, self.rate = encoder, rate
        config = encoder.model[0].auto_model.config
        self.head = MaskedHead(config.hidden_size, counts, getattr(config, "layer_norm_eps", 1e-12))
        self.mask_id = int(tokenizer.mask_token_id)
        special = torch.zeros(len(counts), dtype=torch.bool)
        special[list(tokenizer.all_special_ids)] = True
        self.register_buffer("special", special)
        self.special: Tensor

    @property
    def table(self) -> Tensor:
        """Word embeddings, shape (vocabulary, width)."""
        weight: Tensor = self.encoder.model[0].auto_model.get_input_embeddings().weight
        return weight

    def features(self, ids: Tensor, mask: Tensor, at: Tensor) -> Tensor:
        """What the head makes of the tokens at the places ``at``, shape (places, width)."""
        dtype = self.encoder.compute_dtype
        with torch.autocast(ids.device.type, dtype=dtype, enabled=dtype is not None):
            backbone: Any = self.encoder.model[0].auto_model
            hidden = backbone(input_ids=ids, attention_mask=mask).last_hidden_state
        made: Tensor = self.head(hidden[at].float())
        return made


def hide(ids: Tensor, may: Tensor, rate: float, mask_id: int, size: int) -> tuple[Tensor, Tensor]:
    """Choose tokens to guess and hide most of them: 80% masked, 10% replaced, 10% as they are.

    Parameters
    ----------
    ids : Tensor of shape (n, width)
    may : Tensor of bool of the same shape
        Which tokens may be chosen.
    rate : float
    mask_id, size : int
        Of the vocabulary.

    Returns
    -------
    tuple of Tensors
        The changed tokens, and which were chosen.
    """
    picked = may & (torch.rand(ids.shape, device=ids.device) < rate)
    fate = torch.rand(ids.shape, device=ids.device)
    other = torch.randint(size, ids.shape, device=ids.device)
    hidden = torch.where(picked & (fate >= KEEP + REPLACE), mask_id, ids)
    return torch.where(picked & (fate < REPLACE), other, hidden), picked


def masked_loss(net: MaskedNet, batch: Batch) -> Terms:
    """Mean over the chosen tokens of minus the log probability of the true one."""
    ids, mask = batch.features["input_ids"], batch.features["attention_mask"]
    may = (mask == 1) & ~net.special[ids]
    shown, picked = hide(ids, may, net.rate, net.mask_id, len(net.table))
    features = net.features(shown, mask, picked)
    loss = token_cross_entropy(
        features, net.table, net.head.bias, ids[picked], net.encoder.compute_dtype
    )
    return {"masked": loss}


def hidden_places(texts: Sequence[str], may: Tensor, rate: float) -> Tensor:
    """Which tokens to hide, from the texts alone: a share of those that may be, at least one."""
    keys = text_keys(texts, {"use": "held-out masks"})[:, None]
    scores = bits(keys, 0, np.arange(may.shape[1])[None]).astype(np.float64) / 2.0**64
    drawn = torch.from_numpy(scores).to(may.device).masked_fill(~may, 2.0)
    first = drawn == drawn.min(dim=1, keepdim=True).values
    places: Tensor = may & ((drawn < rate) | first)
    return places


def score(net: MaskedNet, texts: Sequence[str], rate: float, counts: Tensor) -> dict[str, Any]:
    """How often hidden tokens of unseen texts are among the first guesses.

    The tokens of a text are chosen by the text alone, at least one, and all of them are masked.

    Parameters
    ----------
    net : MaskedNet
    texts : sequence of str
    rate : float
        Share of tokens to hide.
    counts : Tensor of shape (vocabulary,)
        Of the tokens of the training texts; guessing the most frequent ones is what to beat.
    """
    items, rows = net.encoder.prepare(list(texts))
    frequent = counts.topk(TOP).indices
    hits = torch.zeros(4, dtype=torch.long)
    total = 0
    for start in range(0, len(texts), 64):
        part = slice(start, start + 64)
        features = items.batch(rows[part])
        device = net.table.device
        ids, mask = (features[k].to(device) for k in ("input_ids", "attention_mask"))
        at = hidden_places(texts[part], (mask == 1) & ~net.special[ids], rate)
        if not at.any():
            continue
        with torch.inference_mode():
            made = net.features(ids.masked_fill(at, net.mask_id), mask, at)
            best = F.linear(made, net.table, net.head.bias).topk(TOP, dim=1).indices
        truth = ids[at][:, None]
        found, usual = best == truth, frequent == truth
        pairs = [found[:, 0].sum(), found.sum(), usual[:, 0].sum(), usual.sum()]
        hits += torch.stack(pairs).cpu()
        total += len(truth)
    names = ("top1", "top5", "frequent_top1", "frequent_top5")
    shares = {n: round(int(h) / max(total, 1), 4) for n, h in zip(names, hits, strict=True)}
    return {**shares, "hidden_tokens": total}


@checked
def train_masked_head(
    texts: Any,
    folder: Path | str,
    *,
    encoder: Any = DEFAULT,
    settings: HeadSettings | None = None,
) -> dict[str, Any]:
    """Fit a masked language model to texts and write it as a transformers folder.

    Parameters
    ----------
    texts : list, Series, array or table
    folder : Path or str
        Where to write; ``augment(texts, "contextual", model=folder)`` takes it.
    encoder : str, default: the default encoder
        A BERT or RoBERTa-like sentence encoder.
    settings : HeadSettings, optional

    Returns
    -------
    dict
        What is also written to ``training.json``: share of hidden tokens of held-out texts that
        are the first guess (``top1``) or among the first five (``top5``), the same for always
        guessing the most frequent tokens (``frequent_top1``, ``frequent_top5``), and settings.
    """
    chosen = settings or HeadSettings()
    chosen.check()
    begun = time.monotonic()
    model = load_encoder(encoder, max_length=chosen.max_length)
    if not isinstance(model, SentenceEncoder):
        raise UsageError(f"encoder={encoder!r}: a masked head needs a transformer.")
    shell = _shell(model)
    learned, tested = split(texts_from(texts), chosen)
    run = Run(
        batch_size=chosen.batch_size,
        seed=chosen.random_state,
        device=check_device(chosen.device),
        precision=chosen.precision,
        optimizations=OPTIMIZATIONS,
        progress=make_progress(chosen.verbose),
    )
    items, rows = model.prepare(learned)
    counts = torch.bincount(torch.from_numpy(items.flat), minlength=shell.config.vocab_size).float()
    with torch_seeded(derive_seed(chosen.random_state, "masked head"), run.device):
        net = MaskedNet(model, counts, chosen.mask_rate).to(run.device)
    stage = _stage(chosen, len(learned))
    train(net, TrainingData(items, rows[None]), [stage], run)
    found = {
        **score(net, tested, chosen.mask_rate, counts.to(run.device)),
        "texts": len(learned),
        "held_out_texts": len(tested),
        "steps": stage.steps,
        "encoder": str(encoder),
        "precision": str(run.encoder_dtype() or torch.float32).removeprefix("torch."),
        "device": run.device.type,
        "seconds": round(time.monotonic() - begun, 1),
        "settings": asdict(chosen),
    }
    _write(net, shell, Path(folder), found)
    return found


def _stage(chosen: HeadSettings, n: int) -> Stage:
    usual = min(MOST, max(FEWEST, steps_for(EPOCHS, n, chosen.batch_size)))
    rates = {"encoder": chosen.lr} if chosen.lr > 0 else {}
    return Stage(
        name="masked head",
        steps=chosen.steps or usual,
        loss=masked_loss,
        lr={**rates, "head": chosen.head_lr},
        clip=1.0,
    )


def split(texts: list[str], chosen: HeadSettings) -> tuple[list[str], list[str]]:
    """Different texts to learn from, and others for the test, at least one of each."""
    distinct = sorted({text for text in texts if text})
    if len(distinct) < 2:
        raise DataError("a masked head needs at least two different texts.")
    order = numpy_generator(chosen.random_state, "held out").permutation(len(distinct))
    tested = min(len(distinct) - 1, max(1, round(chosen.held_out * len(distinct))))
    mixed = [distinct[i] for i in order]
    return mixed[tested:], mixed[:tested]


def _shell(encoder: SentenceEncoder) -> Any:
    """A masked language model of the encoder's kind, weights still random."""
    loader = need("transformers", "train").AutoModelForMaskedLM
    backbone: Any = encoder.model[0].auto_model
    try:
        shell = loader.from_config(backbone.config, trust_remote_code=False)
        _head_of(shell)
    except (AttributeError, ValueError, KeyError) as error:
        raise UsageError(
            f"encoder: {type(backbone).__name__} has no masked head that is known here; take a "
            "BERT or RoBERTa-like encoder (MiniLM, XLM-RoBERTa, CamemBERT)."
        ) from error
    return shell


def _head_of(shell: Any) -> tuple[Any, Any, Any]:
    """Linear map, normalisation and biases of a model's own head."""
    if hasattr(shell, "cls"):
        own = shell.cls.predictions
        return own.transform.dense, own.transform.LayerNorm, own.bias
    return shell.lm_head.dense, shell.lm_head.layer_norm, shell.lm_head.bias


def _write(net: MaskedNet, shell: Any, folder: Path, found: dict[str, Any]) -> None:
    """Put the weights into a model of transformers and save it, with what was measured."""
    backbone: Any = net.encoder.model[0].auto_model
    shell.base_model.load_state_dict(backbone.cpu().state_dict(), strict=False)  # no pooler
    dense, norm, bias = _head_of(shell)
    head = net.head.cpu()
    dense.load_state_dict(head.dense.state_dict())
    norm.load_state_dict(head.norm.state_dict())
    bias.data.copy_(head.bias.data)
    shell.tie_weights()

    def fill(fresh: Path) -> None:
        with without_bars():
            shell.eval().save_pretrained(fresh)
            net.encoder.tokenizer.save_pretrained(fresh)
        write_json(fresh / "training.json", found)

    with held(folder):
        replace_folder(folder, fill)
