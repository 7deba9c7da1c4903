"""Fitting the masked language model, and writing it as a transformers folder."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from coterie._errors import DataError, UsageError, param
from coterie._files import write_json
from coterie._folders import replace_folder
from coterie._progress import make_progress
from coterie._random import derive_seed, numpy_generator, torch_seeded
from coterie._validation import check_device, check_integer, check_number, need
from coterie.corpus import texts_from
from coterie.encoders import DEFAULT, SentenceEncoder, load_encoder
from coterie.encoders.sentence import without_bars
from coterie.engine import Run, Stage, TrainingData, steps_for, train
from coterie.masked_words.net import MaskedNet, masked_loss, score

SHORTCUTS = ("one-pass", "fused-adam", "device-tokens")  # the number of masks varies: no graphs
FEWEST, MOST, EPOCHS = 200, 5_000, 20  # training steps, if nothing is said


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
        On a GPU the encoder runs in bfloat16 unless told otherwise.
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


def train_masked_head(
    texts: Any,
    folder: Path | str,
    *,
    more: Any = (),
    encoder: Any = DEFAULT,
    settings: HeadSettings | None = None,
) -> dict[str, Any]:
    """Fit a masked language model to texts and write it as a transformers folder.

    Parameters
    ----------
    texts : list, Series, array or table
    folder : Path or str
        Where to write; ``augment(texts, "contextual", model=folder)`` takes it.
    more : list of texts, optional
        Further texts to learn from, such as other texts of the same field.
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
        raise UsageError(f"{param('encoder', encoder)}: a masked head needs a transformer.")
    shell = _shell(model)
    learned, tested = split([*texts_from(texts), *(texts_from(more) if len(more) else [])], chosen)
    run = Run(
        batch_size=chosen.batch_size,
        seed=chosen.random_state,
        device=check_device(chosen.device),
        precision=chosen.precision,
        shortcuts=SHORTCUTS,
        progress=make_progress(chosen.verbose),
    )
    items, rows = model.prepare(learned)
    counts = torch.bincount(items.flat.long(), minlength=shell.config.vocab_size).float()
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
            f"encoder: {type(backbone).__name__} has no masked head that coterie knows; take a "
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

    replace_folder(folder, fill)
