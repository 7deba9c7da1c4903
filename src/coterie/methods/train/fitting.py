"""How a method that trains is fitted: views, start solution, network, stages, guard."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie._util.files import plain
from coterie._util.random import derive_seed, torch_seeded
from coterie._util.torch import torch
from coterie._util.types import Floats, Ints
from coterie.arrays.assign import Assigner
from coterie.encoders.base import Rows
from coterie.errors import UsageError
from coterie.methods.augmentation import read_views
from coterie.methods.train.checkpoint import Checkpoint
from coterie.methods.train.data import TrainingData
from coterie.methods.train.guard import Guard
from coterie.methods.train.history import History
from coterie.methods.train.layers import STILL, begin_training
from coterie.methods.train.loop import train
from coterie.methods.train.stage import (
    Run,
    Stage,
    TrainingContext,
    chosen_optimizations,
    count_trained,
)
from coterie.models.fitting import Fitting, Start, labels_of
from coterie.models.guarded import GuardResult
from coterie.models.guidance import Guidance

if TYPE_CHECKING:
    from coterie.methods.train.trained import TrainedClusterer

log = logging.getLogger(__name__)

# These do not change the result.
NOT_IN_FINGERPRINT = {"device", "verbose", "checkpoint", "checkpoint_every"}


class TrainedFitting(Fitting):
    """One fit of a method that trains."""

    model: TrainedClusterer

    def __init__(
        self,
        model: TrainedClusterer,
        X: Any,
        sample_weight: Any = None,
        guidance: Guidance | None = None,
        views: Any = None,
    ) -> None:
        self.given_views = getattr(model, "views", None) if views is None else views
        self.history = History()
        self.trained_labels: Ints | None = None
        self.trained_parameters: dict[str, int] = {}
        super().__init__(model, X, sample_weight, guidance)

    def _views(self, texts: list[str]) -> list[list[str]]:
        return read_views(
            self.given_views,
            texts,
            count=getattr(self.model, "augmentations", 2),
            seed=derive_seed(self.seed, "views"),
            device=self.model.device,
            progress=self.progress,
        )

    def prepare(self) -> None:
        """Train what the start solution needs, where a method asks for it (an autoencoder)."""
        self.history = History(file=_history_file(self.model))
        self.data = TrainingData(self.inputs.items.to(self.device), self.inputs.views)
        context = self._context()
        stages = self.model._pretraining_stages(context)
        if not stages:
            return
        self.encoder.complete()
        self._vectors = None
        with torch_seeded(derive_seed(self.seed, "build", "pretraining"), self.device):
            net = self.model._build_pretraining_network(self.encoder, context).to(self.device)
        with self.phase("pretrain"):
            train(net, self.data, stages, self._run("pretraining"))

    def finish(self, start: Start) -> None:
        """Train from the start solution on, and keep it if the guard says so."""
        model, context = self.model, self._context()
        stages = model._training_stages(context)
        assigner, labels, vectors = start.assigner, start.labels, start.vectors
        judged, net = None, None
        if stages:
            guard = Guard(vectors, labels, model._k, self.seed, start.texts, self.encoder)
            before, tune = copy.deepcopy(self.encoder).cpu(), getattr(model, "tune", "full")
            data = self.data
            if tune == "frozen" and self.encoder.kind == "sentence":
                data = self._frozen(data)
            with torch_seeded(derive_seed(self.seed, "build"), self.device):
                begin_training(self.encoder, tune)
                net = model._build_network(self.encoder, assigner, context).to(self.device)
            assigner, vectors = self._train(net, stages, data, vectors)
            labels = labels_of(assigner, vectors)
            self.trained_labels = self.inputs.spread(labels, -1)
            judged = guard.judge(labels)
            if judged.fired and model.guard:
                log.warning("the start solution is returned: %s", judged.reason)
                assigner, labels, vectors = start.assigner, start.labels, start.vectors
                self.encoder = before.to(self.device)
        self._keep_training(start, judged, net)
        self._set_attributes(assigner, labels, vectors)

    def _context(self) -> TrainingContext:
        n_views, n = self.inputs.views.shape
        seed = derive_seed(self.seed, "stages")
        rows = self.inputs.views[0]
        return TrainingContext(n, n_views, seed, self.inputs.texts, rows)

    def _frozen(self, data: TrainingData) -> TrainingData:
        """Vectors of all views in the place of their tokens: the encoder will not change them."""
        if len(data.views) < 2:
            raise UsageError(
                "`tune='frozen'` computes embeddings once, without dropout, so two views of a "
                "text would be the same: give `views='eda'`, or pairs of texts, or use "
                "`tune='heads'`."
            )
        with self.phase("encode views"):
            every = np.arange(len(data.items))
            vectors = self.encoder.encode(data.items, every, progress=self.progress)
        return TrainingData(Rows(vectors).to(self.device), data.views)

    def _train(
        self, net: torch.nn.Module, stages: list[Stage], data: TrainingData, vectors: Floats
    ) -> tuple[Assigner, Floats]:
        """The clustering after the stages, and the vectors of the distinct texts then."""
        self.trained_parameters = count_trained(net, stages)
        log.info("numbers that are trained: %s", self.trained_parameters)
        with self.phase("train"):
            train(net, data, stages, self._run())
        with self.phase("finish"):
            if getattr(self.model, "tune", "full") not in STILL:
                rows = np.arange(len(vectors))
                vectors = self.encoder.encode(data.items, rows, progress=self.progress)
            seed = derive_seed(self.seed, "finish")
            return self.model._final_assigner(net, vectors, self.weights, seed), vectors

    def _keep_training(
        self, start: Start, judged: GuardResult | None, net: torch.nn.Module | None
    ) -> None:
        """Set what the model tells about its training."""
        for name, value in {
            "net_": net,
            "guard_": judged,
            "history_": self.history,
            "start_labels_": self.inputs.spread(start.labels, -1),
            "trained_labels_": self.trained_labels,
            "trained_parameters_": self.trained_parameters,
        }.items():
            setattr(self.model, name, value)

    def _run(self, part: str = "") -> Run:
        model = self.model
        checkpoint = None
        if model.checkpoint is not None:
            folder = Path(model.checkpoint)
            if part:
                folder = folder.with_name(f"{folder.name}-{part}")
            checkpoint = Checkpoint(folder, self._fingerprint(), model.checkpoint_every)
        return Run(
            batch_size=model.batch_size,
            seed=self.seed,
            device=self.device,
            precision=model.precision,
            optimizations=chosen_optimizations(model.optimizations),
            progress=self.progress,
            checkpoint=checkpoint,
            history=self.history,
        )

    def _fingerprint(self) -> str:
        """Digest of everything that decides the result: method, parameters, seed and inputs."""
        settings = {
            k: v for k, v in self.model._parameters().items() if k not in NOT_IN_FINGERPRINT
        }
        digest = hashlib.sha256(self.model.name.encode())
        digest.update(json.dumps(settings, sort_keys=True, default=plain).encode())
        digest.update(str(self.seed).encode() + self.inputs.views.tobytes())
        digest.update(self.inputs.items.content())
        if self.known is not None:
            digest.update(repr(self.known.names).encode() + self.known.seeds.tobytes())
        return digest.hexdigest()


def _history_file(model: TrainedClusterer) -> Path | None:
    if model.checkpoint is None:
        return None
    folder = Path(model.checkpoint)
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder.with_name("history.jsonl")
