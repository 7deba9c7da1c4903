"""How much of an encoder training changes: all of it, its last layers, or nothing.

"heads" and "frozen" both leave the encoder alone. "heads" runs it in every step, with dropout;
"frozen" runs it once over all texts and views, and a step then costs next to nothing.
"""

from __future__ import annotations

import re
from typing import Any

from coterie._util.torch import nn
from coterie.encoders.base import Encoder
from coterie.errors import UsageError

REMEDY = "use tune='full' or tune='heads'"
STILL = ("heads", "frozen")  # ways that leave the encoder as it is


def moving_layers(tune: Any) -> int | None:
    """How many of the last layers a ``tune`` parameter lets move; None are all, and what is below.

    Examples
    --------
    >>> moving_layers("last-2"), moving_layers("heads"), moving_layers("full")
    (2, 0, None)
    """
    if tune == "full":
        return None
    if tune in STILL:
        return 0
    last = re.fullmatch(r"last-([1-9]\d*)", tune) if isinstance(tune, str) else None
    if last is None:
        raise UsageError(
            "tune should be full, heads, frozen, or last-N with a number of layers (last-2); got "
            f"{tune!r}."
        )
    return int(last[1])


def check_tune(encoder: Encoder, tune: str) -> None:
    """Reject a ``tune`` that this encoder has no layers for."""
    wanted = moving_layers(tune)
    if not wanted:
        return
    if encoder.kind != "sentence":
        raise UsageError(f"tune={tune!r}: a {encoder.kind!r} encoder has no layers; {REMEDY}.")
    layers = find_layers(encoder)
    if wanted > len(layers):
        raise UsageError(
            f"tune={tune!r}: the encoder has {len(layers)} layers that are known; {REMEDY}."
        )


def begin_training(encoder: Encoder, tune: str) -> None:
    """Make the encoder ready to be trained; one that stays as it is keeps its pointer."""
    held: Any = encoder
    pointer = encoder.pointer()
    encoder.make_trainable()
    if tune in STILL and pointer is not None:
        held._pointer = pointer
    held.moving_layers = moving_layers(tune)


def moving(module: nn.Module) -> list[nn.Parameter]:
    """Parameters of a part of a network that training changes.

    All of them, unless the part is an encoder that :func:`begin_training` has seen.
    """
    number: int | None = getattr(module, "moving_layers", None)
    if number is None:
        return list(module.parameters())
    if number == 0:
        return []
    encoder: Any = module
    upper = [*find_layers(encoder)[-number:], *list(encoder.model)[1:]]
    return [parameter for part in upper for parameter in part.parameters()]


def find_layers(encoder: Any) -> list[nn.Module]:
    """Layers of a sentence encoder's transformer, the lowest first; none if they are not found."""
    backbone = encoder.model[0].auto_model
    number = getattr(backbone.config, "num_hidden_layers", 0)
    for module in backbone.modules():
        if isinstance(module, nn.ModuleList) and len(module) == number > 0:
            return list(module)
    return []
