"""Steps recorded once and replayed: a whole training step as one CUDA graph.

A step of a small encoder is some two thousand short kernels. Launching them one by one takes the
host several times as long as the GPU takes to run them. A graph launches them at once. It works on
fixed places in memory, so there is one graph for each shape of a batch, and a batch is copied to
those places first. Random numbers continue from replay to replay as they would without a graph.
"""

from __future__ import annotations

import gc
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from coterie._util.torch import Tensor, torch
from coterie.methods.train.data import Batch

log = logging.getLogger(__name__)

WARM = 3  # plain steps before the first recording: they make the optimiser's moments
OFTEN = 2  # plain steps of a shape before it is recorded; rare shapes stay plain
MAX_GRAPHS = 24  # graphs held at once

Shapes = tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Recorded:
    """A graph, the batch it reads and the values it writes."""

    graph: torch.cuda.CUDAGraph
    batch: Batch
    values: Tensor


class Recorder:
    """Runs steps, and replays those of shapes that come often.

    Parameters
    ----------
    work : callable (Batch) -> Tensor
        A whole step: loss, gradients, update. Returns what is to be read of it. It must not look
        at a value on the host; if it does, no graph can be made and all steps stay plain.
    device : torch.device
        A GPU.
    """

    def __init__(self, work: Callable[[Batch], Tensor], device: torch.device) -> None:
        self.work, self.device = work, device
        self.seen: Counter[Shapes] = Counter()
        self.recorded: dict[Shapes, Recorded] = {}
        self.stream = torch.cuda.Stream(device)
        self.pool = torch.cuda.graph_pool_handle()
        self.broken = False

    def __call__(self, batch: Batch) -> Tensor:
        """Do one step; the result is overwritten by a later one."""
        key = shapes(batch)
        found = self.recorded.get(key)
        if found is None and self._due(key):
            found = self._record(batch)
        if found is None:
            self.seen[key] += 1
            return self.work(batch)
        for place, tensor in zip(tensors(found.batch), tensors(batch), strict=True):
            place.copy_(tensor)
        found.graph.replay()
        return found.values

    def _due(self, key: Shapes) -> bool:
        enough = self.seen.total() >= WARM and self.seen[key] >= OFTEN
        return enough and not self.broken and len(self.recorded) < MAX_GRAPHS

    def _record(self, batch: Batch) -> Recorded | None:
        """Record the step for batches of this shape; nothing is computed yet."""
        still = replace(
            batch,
            index=batch.index.clone(),
            groups=batch.groups.clone(),
            features={name: tensor.clone() for name, tensor in batch.features.items()},
        )
        graph = torch.cuda.CUDAGraph()
        try:
            with (
                no_collection(),
                torch.cuda.graph(
                    graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"
                ),
            ):
                values = self.work(still)
        except RuntimeError as error:
            self.broken = True
            generator = torch.cuda.default_generators[torch.cuda.current_device()]
            generator.graphsafe_set_state(generator.clone_state())  # else it waits for the end
            log.warning("no graph of a step, training stays plain: %s", str(error).split("\n")[0])
            return None
        found = self.recorded[shapes(batch)] = Recorded(graph, still, values)
        return found


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep Python from collecting garbage meanwhile.

    Among the garbage may be the graphs of an earlier fit, and to free one while another is being
    recorded breaks the recording.
    """
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def shapes(batch: Batch) -> Shapes:
    """What must be alike for two batches to share a graph."""
    own = (("index", tuple(batch.index.shape)), ("views", (batch.n_views,)))
    return own + tuple((name, tuple(t.shape)) for name, t in batch.features.items())


def tensors(batch: Batch) -> list[Tensor]:
    """All that a step reads of a batch, in a fixed order."""
    return [batch.index, batch.groups, *batch.features.values()]
