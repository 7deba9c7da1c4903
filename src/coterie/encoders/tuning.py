"""How much of an encoder training changes: all of it, its last layers, or nothing.

"heads" and "frozen" both leave the encoder alone. "heads" runs it in every step, with dropout;
"frozen" runs it once over all texts and views, and a step then costs next to nothing.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from coterie._torch import nn
from coterie.encoders.base import Encoder
from coterie.errors import UsageError

REMEDY = "use tune='full' or tune='heads'"
STILL = ("heads", "frozen")  # ways that leave the encoder as it is


class Tuning(NamedTuple):
    """A ``tune`` parameter as read: its kind, and how many layers for the kind "last"."""

    kind: str
    layers: int = 0


def read_tune(tune: Any) -> Tuning:
    """Take a ``tune`` parameter apart, or say what it may be.

    Examples
    --------
    >>> read_tune("last-2")
    Tuning(kind='last', layers=2)
    """
    if tune in ("full", *STILL):
        return Tuning(tune)
    found = re.fullmatch(r"last-([1-9]\d*)", tune) if isinstance(tune, str) else None
    if found is None:
        raise UsageError(
            "tune should be full, heads, frozen, or last-N with a number of layers (last-2); got "
            f"{tune!r}."
        )
    return Tuning("last", int(found[1]))


def check_tune(encoder: Encoder, tune: str) -> None:
    """Reject a ``tune`` that this encoder has no layers for."""
    kind, wanted = read_tune(tune)
    if kind in ("full", *STILL):
        return
    if encoder.kind != "sentence":
        raise UsageError(f"tune={tune!r}: a {encoder.kind!r} encoder has no layers; {REMEDY}.")
    layers = find_layers(encoder)
    if not layers:
        name = type(_backbone(encoder)).__name__
        raise UsageError(f"tune={tune!r}: the layers of a {name} were not found; {REMEDY}.")
    if wanted > len(layers):
        raise UsageError(
            f"tune={tune!r}: the encoder has {len(layers)} layers; ask for at most that many."
        )


def begin_training(encoder: Encoder, tune: str) -> None:
    """Make the encoder ready to be trained; one that stays as it is keeps its pointer."""
    pointer = encoder.pointer()
    encoder.make_trainable()
    if tune in STILL and pointer is not None:
        held: Any = encoder
        held._pointer = pointer


def put_tune(encoder: Encoder, tune: str) -> None:
    """Note what is to move."""
    check_tune(encoder, tune)
    tuned: Any = encoder
    tuned.tuning = read_tune(tune)


def moving(module: nn.Module) -> list[nn.Parameter]:
    """Parameters of a part of a network that training changes.

    All of them, unless the part is an encoder that :func:`put_tune` has seen.
    """
    tuning: Tuning | None = getattr(module, "tuning", None)
    if tuning is None or tuning.kind == "full":
        return list(module.parameters())
    if tuning.kind in STILL:
        return []
    encoder: Any = module
    upper = [*find_layers(encoder)[-tuning.layers :], *list(encoder.model)[1:]]
    return [parameter for part in upper for parameter in part.parameters()]


def find_layers(encoder: Any) -> list[nn.Module]:
    """Layers of a sentence encoder's transformer, the lowest first; none if they are not found."""
    backbone = _backbone(encoder)
    number = getattr(backbone.config, "num_hidden_layers", 0)
    for module in backbone.modules():
        if isinstance(module, nn.ModuleList) and len(module) == number > 0:
            return list(module)
    return []


def _backbone(encoder: Any) -> Any:
    return encoder.model[0].auto_model
