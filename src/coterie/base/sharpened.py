"""The base of methods that sharpen clusters of codes: DEC and what grew out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from coterie._types import Floats, Terms
from coterie._validation import check_fields
from coterie.base.coded import AutoencoderClusterer
from coterie.base.facts import TrainingContext
from coterie.blocks.assign import Assigner, StudentTAssigner
from coterie.blocks.student_t import StudentTHead, kl_to_target, log_target
from coterie.engine import Batch, Stage, steps_for

EPOCHS, MOST = 100, 8000  # where the number of steps is not given


class DECNet(nn.Module):
    """The encoder, the centers, and the target of every text as of the last look at all."""

    log_p: Tensor

    def __init__(self, encoder: Any, centers: Tensor, n: int, alpha: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.assign = StudentTHead(centers, alpha)
        self.register_buffer("log_p", torch.zeros(n, len(centers)))


def sharpen(net: DECNet, codes: Tensor) -> None:
    """Take new targets from the codes of the whole corpus, Eq. (3) of DEC."""
    with torch.no_grad():
        net.log_p.copy_(log_target(net.assign(codes)))


@dataclass(eq=False, repr=False, kw_only=True)
class DECClusterer(AutoencoderClusterer):
    """Clusters of codes, made sharper by their own sure assignments.

    Parameters
    ----------
    alpha : float, default=1.0
        Degrees of freedom of the Student-t kernel.
    lr : float, default=1e-4
        Learning rate of the network and of the centers.
    refresh_every : int, default=140
        Steps between two looks at the whole corpus, which give new targets.
    steps : int, optional
        Most training batches after the autoencoder. Default: 100 epochs, at most 8,000.
    tol : float, default=1e-3
        Stop when a smaller share of labels changed between two looks.
    """

    alpha: float = 1.0
    lr: float = 1e-4
    refresh_every: int = 140
    steps: int | None = None
    tol: float = 1e-3

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_fields(
            self, integers={"refresh_every": 1, "steps": 0}, above=["alpha"], least=["lr", "tol"]
        )

    def _build_network(self, encoder: Any, start: Any, context: TrainingContext) -> DECNet:
        return DECNet(encoder, torch.from_numpy(start.centers), context.n, self.alpha)

    def _training_stages(self, context: TrainingContext) -> list[Stage]:
        steps = self.steps
        if steps is None:
            steps = min(MOST, steps_for(EPOCHS, context.n, self.batch_size))
        if steps == 0:
            return []
        return [
            Stage(
                name="sharpen",
                steps=steps,
                loss=self._loss,
                lr=dict.fromkeys(self._trained_parts(), self.lr),
                setup=sharpen,
                refresh=sharpen,
                labels=lambda net, codes: net.assign(codes).argmax(dim=1),
                refresh_every=self.refresh_every,
                stop_below=self.tol,
            )
        ]

    def _trained_parts(self) -> list[str]:
        """What is trained."""
        return ["encoder.coder", "assign"]

    def _loss(self, net: Any, batch: Batch) -> Terms:
        """The divergence of the assignment from its target, Eq. (2) of DEC."""
        log_q = net.assign(net.encoder(batch.features))  # (n, k)
        return {"cluster": kl_to_target(net.log_p[batch.index], log_q)}

    def _final_assigner(self, net: Any, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        return StudentTAssigner(net.assign.centers.detach().cpu().numpy(), self.alpha)
