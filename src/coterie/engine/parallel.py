"""Several processes train one network: each encodes its share of every batch.

``torchrun --nproc-per-node N`` starts the same command N times. Each process holds the whole
network and the whole corpus. Of a batch it encodes its own rows; the vectors of all are gathered,
and every process computes the loss of the whole batch from them, with its heads. So contrasts see
all negatives, and no loss has to know of any of this.

The gradient with respect to the gathered vectors is the same everywhere. Each process takes that
of its own rows, times N, back through its encoder; the mean over the processes is then the
gradient of the batch. Parts that all processes compute alike, such as heads, have the same gradient
everywhere, which the mean leaves as it is.

Random numbers are the same in all processes, but for the encoder's dropout.
"""

from __future__ import annotations

import atexit
import os
import zlib
from typing import Any, TypeVar

import numpy as np

from coterie import _ranks
from coterie._progress import Progress
from coterie._random import derive_seed
from coterie._torch import Tensor, nn, torch
from coterie._types import Features, Floats, Ints
from coterie.encoders.base import Encoder, Items
from coterie.errors import DataError, UsageError

T = TypeVar("T")
NOT_YET = ("graphs", "packing")  # optimizations that know of one process only


def join(device: torch.device) -> torch.device:
    """Meet the other processes, if there are any; returns the device of this one."""
    if _ranks.started() == 1:
        return device
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    if device.type == "cuda":
        if device.index >= torch.cuda.device_count():
            raise UsageError(
                f"torchrun started more processes than the {torch.cuda.device_count()} GPUs "
                "here; use --nproc-per-node with that number."
            )
        torch.cuda.set_device(device)
    if not torch.distributed.is_initialized():
        backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
        torch.distributed.init_process_group(backend)
        atexit.register(torch.distributed.destroy_process_group)
    return device


def size() -> int:
    """How many processes work together."""
    dist = torch.distributed
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Number of this process; 0 writes files."""
    return torch.distributed.get_rank() if size() > 1 else 0


def same(value: T) -> T:
    """The value that the first process has."""
    if size() == 1:
        return value
    held = [value]
    torch.distributed.broadcast_object_list(held)
    return held[0]


def wait() -> None:
    """Go on when all processes have come here."""
    if size() > 1:
        torch.distributed.barrier()


def anyone(wish: bool) -> bool:
    """Whether it is true in one of the processes; the same in all."""
    if size() == 1:
        return wish
    count = torch.tensor(int(wish))
    torch.distributed.all_reduce(count)
    return bool(count)


def check_same(digest: str) -> None:
    """Reject processes with different texts or settings."""
    if size() == 1:
        return
    digests: list[Any] = [None] * size()
    torch.distributed.all_gather_object(digests, digest)
    if len(set(digests)) > 1:
        raise DataError(
            "the processes of torchrun were given different texts or settings; all must fit the "
            "same. For separate fits start separate processes without torchrun."
        )


def align(net: nn.Module) -> None:
    """Give all processes the weights and buffers of the first."""
    if size() > 1:
        for tensor in net.state_dict().values():
            torch.distributed.broadcast(tensor, 0)


def average_gradients(net: nn.Module) -> None:
    """Replace each gradient by its mean over the processes, all in one message."""
    if size() == 1:
        return
    gradients = [p.grad for p in net.parameters() if p.grad is not None]
    flat = torch.cat([g.flatten() for g in gradients])
    torch.distributed.all_reduce(flat)
    flat /= size()
    for gradient, mean in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(mean.view_as(gradient))


def apply(encoder: nn.Module, features: Features, index: Tensor) -> Tensor:
    """Vectors of all inputs of a batch, each process encoding its share.

    Parameters
    ----------
    encoder : Encoder
    features : dict of str to Tensor
        Of m inputs, one row each.
    index : Tensor
        Names the batch: dropout differs from batch to batch and from process to process, and does
        not touch the random numbers that the processes share.

    Returns
    -------
    Tensor of shape (m, d)
    """
    m = len(next(iter(features.values())))
    if size() == 1 or m < size():
        vectors: Tensor = encoder(features)
        return vectors
    bounds = [m * i // size() for i in range(size() + 1)]
    own = slice(bounds[rank()], bounds[rank() + 1])
    device = index.device
    name = zlib.crc32(index.cpu().numpy().tobytes())
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(derive_seed(torch.initial_seed(), name, rank()))
        share = encoder({key: tensor[own] for key, tensor in features.items()})
    gathered: Tensor = _Gather.apply(share, bounds)  # type: ignore[no-untyped-call]
    return gathered


class _Gather(torch.autograd.Function):
    """Rows of all processes, one after the other; the gradient of the own rows, times N."""

    @staticmethod
    def forward(ctx: Any, share: Tensor, bounds: list[int]) -> Tensor:
        ctx.own = slice(bounds[rank()], bounds[rank() + 1])
        counts = np.diff(bounds).tolist()
        padded = share.new_zeros(max(counts), *share.shape[1:])  # all must be of one shape
        padded[: len(share)] = share
        parts = [torch.empty_like(padded) for _ in counts]
        torch.distributed.all_gather(parts, padded)
        return torch.cat([part[:n] for part, n in zip(parts, counts, strict=True)])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return size() * grad[ctx.own], None


def encode_all(
    encoder: Encoder, items: Items, index: Ints, *, progress: Progress | None = None
) -> Floats:
    """Vectors as :meth:`Encoder.encode` gives them, each process doing its share of the texts.

    Texts are dealt out by length, so that all have as much to do. On a CPU, where batches hold
    texts of one length, the numbers are those of one process to the last bit.
    """
    if size() == 1 or encoder.kind != "sentence":  # a bag of words takes no time
        return encoder.encode(items, index, progress=progress)
    mine = np.argsort(items.lengths[index], kind="stable")[rank() :: size()]
    out = torch.zeros(len(index), encoder.dim)
    out[torch.from_numpy(mine)] = torch.from_numpy(
        encoder.encode(items, index[mine], progress=progress)
    )
    torch.distributed.all_reduce(out)  # each row is zero but in one process
    return np.asarray(out.numpy(), dtype=np.float32)
