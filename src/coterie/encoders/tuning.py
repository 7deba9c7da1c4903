"""How much of an encoder training changes: all of it, its last layers, a low-rank part, nothing.

"heads" and "frozen" both leave the encoder alone. "heads" runs it in every step, with dropout;
"frozen" runs it once over all texts and views, and a step then costs next to nothing.

"lora" is low-rank adaptation (Hu et al., 2022): beside a frozen matrix ``W`` of shape (out, in)
stands a product of two thin ones, ``W + scale * up @ down``. ``up`` starts at zero, so nothing
changes until it is trained. At the end the product is added to ``W`` and the two are gone: a
trained encoder is an ordinary one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from coterie._torch import F, Tensor, nn, torch
from coterie.encoders.base import Encoder
from coterie.errors import UsageError

RANK = 8
ALPHA = 16.0  # the product counts ALPHA / RANK times
ADAPTED = {"query", "value", "q_proj", "v_proj", "q_lin", "v_lin", "q", "v"}  # maps that get one
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
    >>> read_tune("lora").kind
    'lora'
    """
    if tune in ("full", *STILL, "lora"):
        return Tuning(tune)
    found = re.fullmatch(r"last-([1-9]\d*)", tune) if isinstance(tune, str) else None
    if found is None:
        raise UsageError(
            "tune should be full, lora, heads, frozen, or last-N with a number of layers "
            f"(last-2); got {tune!r}."
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
    """Note what is to move, and place the low-rank parts; nothing that is computed changes."""
    check_tune(encoder, tune)
    tuned: Any = encoder
    tuned.tuning = read_tune(tune)
    if tuned.tuning.kind == "lora":
        for parent, name, linear in _adapted(encoder):
            setattr(parent, name, LowRank(linear))


@contextmanager
def ending(encoder: Encoder) -> Iterator[None]:
    """Leave an ordinary encoder behind, also where training breaks off.

    The low-rank parts are added to the matrices beside them.
    """
    try:
        yield
    finally:
        tuned: Any = encoder
        tuned.tuning = None
        for parent in list(encoder.modules()):
            for name, child in list(parent.named_children()):
                if isinstance(child, LowRank):
                    setattr(parent, name, child.merged())


def moving(module: nn.Module) -> list[nn.Parameter]:
    """Parameters of a part of a network that training changes.

    All of them, unless the part is an encoder that :func:`put_tune` has seen.
    """
    tuning: Tuning | None = getattr(module, "tuning", None)
    if tuning is None or tuning.kind == "full":
        return list(module.parameters())
    if tuning.kind in STILL:
        return []
    if tuning.kind == "lora":
        return [p for m in module.modules() if isinstance(m, LowRank) for p in (m.down, m.up)]
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


def full_weight(linear: Any) -> Tensor:
    """The matrix that a linear map applies, its low-rank part added where it has one."""
    weight: Tensor = linear.weight
    return linear.weight + linear.product() if isinstance(linear, LowRank) else weight


class LowRank(nn.Linear):
    """A frozen linear map with a trained product of two thin matrices beside it.

    Parameters
    ----------
    linear : nn.Linear
        Its weight and bias are taken over, not copied.
    rank : int, default=8
    alpha : float, default=16.0
    """

    def __init__(self, linear: nn.Linear, rank: int = RANK, alpha: float = ALPHA) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias
        self.scale = alpha / rank
        bound = linear.in_features**-0.5
        self.down = nn.Parameter(linear.weight.new_empty(rank, linear.in_features))
        self.up = nn.Parameter(linear.weight.new_zeros(linear.out_features, rank))
        nn.init.uniform_(self.down, -bound, bound)
        self.train(linear.training)

    def forward(self, x: Tensor) -> Tensor:
        # Two thin products: a full one would cost the gradient of the whole matrix.
        thin = F.linear(F.linear(x, self.down), self.up)
        return F.linear(x, self.weight, self.bias) + self.scale * thin

    def product(self) -> Tensor:
        """What is added to the weight, shape (out, in)."""
        return self.scale * self.up @ self.down

    def merged(self) -> nn.Linear:
        """An ordinary linear map that does the same."""
        plain = nn.Linear.__new__(nn.Linear)
        nn.Module.__init__(plain)
        plain.in_features, plain.out_features = self.in_features, self.out_features
        with torch.no_grad():
            plain.weight = nn.Parameter(full_weight(self), requires_grad=False)
        plain.bias = self.bias
        plain.train(self.training)
        return plain


def _backbone(encoder: Any) -> Any:
    return encoder.model[0].auto_model


def _adapted(encoder: Encoder) -> list[tuple[nn.Module, str, nn.Linear]]:
    """Linear maps to adapt: queries and values; all maps of the layers where none has the name."""
    found = [
        (parent, name, child)
        for layer in find_layers(encoder)
        for parent in layer.modules()
        for name, child in parent.named_children()
        if isinstance(child, nn.Linear)
    ]
    return [entry for entry in found if entry[1] in ADAPTED] or found
