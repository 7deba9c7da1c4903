"""Short runs for figures: a part of a data set, and what was seen while a method trained."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from coterie._util.facts import hardware
from coterie._util.random import numpy_generator
from coterie._util.types import Floats, Ints
from coterie._util.validation import check_device
from coterie.arrays.metrics import silhouette
from coterie.methods.train import Stage, TrainedClusterer
from coterie.models.registry import METHODS, make_method
from coterie.texts import texts_from
from coterie_bench.data import Data
from coterie_bench.datasets import PAIRS, find_pairs
from coterie_bench.figures.picture import COLORS, Lines, Panel, Picture, Points
from coterie_bench.ledger import commit

Measure = Callable[[Any, torch.Tensor], dict[str, float]]
LOOKS = 20  # at most so many in a training


@dataclass(frozen=True, kw_only=True)
class Short:
    """What the runs of figures share.

    Attributes
    ----------
    data : Data
        Labels are for what is drawn, no run sees them.
    parameters : dict
        For every method that has a parameter of the name.
    folder : Path, optional
        Of the benchmarks, for published augmentations.
    seed : int
    device : str
    other : Data, optional
        Another data set, for retrieval among texts that no run has seen.
    """

    data: Data
    parameters: dict[str, Any] = field(default_factory=dict)
    folder: Any = None
    seed: int = 0
    device: str = "auto"
    other: Data | None = None

    def __post_init__(self) -> None:
        # A network has its texts sorted, and labels are compared with it row by row.
        texts = texts_from(self.data.texts)
        rows = sorted(range(len(texts)), key=texts.__getitem__)
        lists: dict[str, Any] = {
            k: [getattr(self.data, k)[i] for i in rows] for k in ("texts", "labels")
        }
        data = replace(self.data, **lists, scored=np.asarray(self.data.scored)[rows])
        object.__setattr__(self, "data", data)

    @property
    def truth(self) -> Ints:
        """True labels as numbers."""
        codes = np.unique(np.asarray(self.data.labels), return_inverse=True)[1]
        return np.asarray(codes.ravel(), dtype=np.int64)

    def make(self, method: str, preset: str | None = None, **own: Any) -> TrainedClusterer:
        """The method, without its guard: a figure shows what training did, good or bad."""
        known = {f.name for f in dataclasses.fields(METHODS[method].cls)}
        given = {k: v for k, v in self.parameters.items() if k in known}
        if "encoder" in METHODS[method].parameters:
            given.pop("encoder", None)
        views = {}
        if "views" in known:
            kinds = ("eda",) if method == "aecl" else ("contextual10", "eda")
            kind = next((k for k in kinds if (self.data.name, k) in PAIRS), None)
            if kind is not None:
                views["views"] = str(find_pairs(self.data.name, kind, self.folder))
        settings = {**views, **given, **own, "guard": False}
        settings |= {"random_state": self.seed, "device": self.device}
        model: Any = make_method(method, self.data.n_clusters, preset, **settings)
        return model  # type: ignore[no-any-return]

    def picture(
        self, head: str, panels: list[Panel], subtitle: str = "", *, columns: int = 3
    ) -> Picture:
        """A picture that says on what it was made."""
        data = self.data
        title = f"{head} \u2013 {data.name}, {len(data.texts):,} texts, seed {self.seed}"
        return Picture(
            title=title, subtitle=subtitle, about=self._about(), panels=panels, columns=columns
        )

    def _about(self) -> str:
        facts = hardware(str(check_device(self.device)))
        machine = facts.get("gpu") or f"{facts['cores']} CPU cores"
        # Folders are of this machine alone: their last part says which encoder it was.
        given = [
            f"{k}={Path(v).name if isinstance(v, str) else v}" for k, v in self.parameters.items()
        ]
        day = time.strftime("%Y-%m-%d", time.gmtime())
        run = f"Run of {day}; {machine}; commit {commit() or 'unknown'}"
        return "; with ".join([run, *[", ".join(given)] * bool(given)]) + "."

    def trace(self, model: TrainedClusterer, measure: Measure) -> list[dict[str, Any]]:
        """Fit ``model`` and return what ``measure`` saw: ``stage``, ``step`` (of all), its values.

        It is called before the first step, about twenty times on the way, and at the end, with the
        network in evaluation mode and the vectors of all texts. Where a stage looks at the whole
        corpus by itself, its own rhythm is kept, and nothing of the training changes.
        """
        watch = _Watch(measure)
        plain = model._training_stages
        # The instance's own attribute goes before the method of its class.
        model.__dict__["_training_stages"] = lambda context: watch.around(plain(context))
        try:
            model.fit(self.data.texts)
        finally:
            del model.__dict__["_training_stages"]
        if watch.seen and watch.seen[-1]["step"] < watch.total and watch.ran_out(model.history_):
            vectors = torch.from_numpy(model.vectors_).to(check_device(self.device))
            watch.see(model.net_, vectors, watch.seen[-1]["stage"], watch.total)
        return watch.seen


class _Watch:
    """Stages that measure before, during and after training."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self.seen: list[dict[str, Any]] = []
        self.total = 0
        self.end = ("", 0)  # of the last stage

    def around(self, stages: Sequence[Stage]) -> list[Stage]:
        self.seen.clear()
        self.total = sum(stage.steps for stage in stages)
        self.end = (stages[-1].name, stages[-1].steps)
        out, before = [], 0
        for stage in stages:
            out.append(self._watched(stage, before))
            before += stage.steps
        return out

    def ran_out(self, history: Any) -> bool:
        """Whether the last stage made all its steps; one that stops early does so at a look."""
        return any((row["stage"], row["step"]) == self.end for row in history.rows)

    def _watched(self, stage: Stage, before: int) -> Stage:
        every = stage.refresh_every or max(1, self.total // LOOKS)
        done = [before]

        def setup(net: Any, vectors: torch.Tensor) -> None:
            if stage.setup is not None:
                stage.setup(net, vectors)
            if before == 0:
                self.see(net, vectors, stage.name, 0)

        def refresh(net: Any, vectors: torch.Tensor) -> None:
            if stage.refresh is not None and stage.refresh_every:  # 0 is never
                stage.refresh(net, vectors)
            done[0] += every
            self.see(net, vectors, stage.name, done[0])

        labels = stage.labels if stage.refresh_every else None  # they could end the stage
        return replace(stage, setup=setup, refresh=refresh, refresh_every=every, labels=labels)

    def see(self, net: Any, vectors: torch.Tensor, stage: str, step: int) -> None:
        training = net.training
        net.eval()
        with torch.no_grad():
            self.seen.append({"stage": stage, "step": step, **self.measure(net, vectors)})
        net.train(training)


def cut(data: Data, limit: int | None, seed: int = 0) -> Data:
    """At most ``limit`` of the scored texts that have words, drawn at random."""
    rows = np.flatnonzero(data.scored)
    rows = rows[[bool(data.texts[i].strip()) for i in rows]]
    if limit is not None and limit < len(rows):
        rows = np.sort(numpy_generator(seed, "figures").permutation(rows)[:limit])
    labels = [data.labels[i] for i in rows]
    k = min(data.n_clusters, len(set(labels)))
    everything = np.ones(len(rows), dtype=bool)
    texts = [data.texts[i] for i in rows]
    return replace(data, texts=texts, labels=labels, n_clusters=k, scored=everything)


def columns_of(seen: Sequence[dict[str, Any]], name: str) -> list[list[float]]:
    """Pairs of step and value, for a line."""
    return [[row["step"], row[name]] for row in seen]


def draw_maps(
    short: Short, method: str, label: str, preset: str | None = None, *, by_stage: bool = False
) -> Picture:
    """Vectors of a method before its first step and after its last.

    Parameters
    ----------
    short : Short
    method, preset : str
    label : str
        The method's name as people write it.
    by_stage : bool
        Also those at the last look of each stage.
    """
    kept: list[Floats] = []

    def measure(net: Any, vectors: torch.Tensor) -> dict[str, float]:
        kept.append(vectors.cpu().numpy())
        if not by_stage:
            del kept[1:-1]
        return {}

    seen = short.trace(short.make(method, preset), measure)
    titles = {0: "before training", len(kept) - 1: f"after training (step {seen[-1]['step']:,})"}
    if by_stage:
        last = {row["stage"]: i for i, row in enumerate(seen)}
        titles |= {i: f"{stage} (step {seen[i]['step']:,})" for stage, i in last.items()}
    panels = [as_points(place(kept[i], short.seed), short.truth, titles[i]) for i in sorted(titles)]
    classes = len(np.unique(short.truth))
    colors = "all" if classes <= len(COLORS) else f"the {len(COLORS)} largest of {classes}"
    subtitle = f"t-SNE; colors: true classes ({colors}{', others grey' * (classes > len(COLORS))})"
    return short.picture(label, list(panels), subtitle)


def first_and_last(short: Short, method: str, preset: str | None = None) -> tuple[Floats, Floats]:
    """Vectors of all texts before the first step of a method and after its last."""
    kept: list[Floats] = []

    def measure(net: Any, vectors: torch.Tensor) -> dict[str, float]:
        kept.append(vectors.cpu().numpy())
        del kept[1:-1]
        return {}

    short.trace(short.make(method, preset), measure)
    return kept[0], kept[-1]


def draw_beside(
    short: Short, methods: dict[str, str], head: str, shown: int, presets: dict[str, str]
) -> Picture:
    """Maps before and after the training of several methods, and the silhouette of the classes.

    Parameters
    ----------
    short : Short
    methods : dict of str to str
        Registry name and the name as people write it.
    head : str
        Of the title.
    shown : int
        Texts on the maps, drawn at random. Training has all, the silhouette at most 5,000.
    presets : dict of str to str
        Of the methods that do not run with their default.
    """
    made = {m[1]: first_and_last(short, m[0], presets.get(m[0])) for m in methods.items()}
    start = next(iter(made.values()))[0]
    titled = {"before training": start, **{label: last for label, (_, last) in made.items()}}
    rows = numpy_generator(short.seed, "map").permutation(len(start))[:shown]
    panels: list[Panel] = [
        as_points(place(vectors[rows], short.seed), short.truth[rows], title)
        for title, vectors in titled.items()
    ]
    compact = {
        label: [[i, silhouette(v, short.truth)] for i, v in enumerate(pair)]
        for label, pair in made.items()
    }
    y, ticks = "silhouette", ["before training", "after"]
    panels.append(Lines(x="", y=y, series=compact, title="true classes", ticks=ticks))
    count = f"{min(shown, len(start)):,} texts"
    about = f"t-SNE of {count} with seed {short.seed}; colors: classes"
    return short.picture(head, panels, about, columns=2 if len(panels) == 4 else 3)


def place(vectors: Floats, seed: int = 0) -> Floats:
    """Two coordinates for each vector; texts that are the same lie on one point."""
    from sklearn.manifold import TSNE

    distinct, back = np.unique(vectors, axis=0, return_inverse=True)
    perplexity = min(30.0, max(1.0, (len(distinct) - 1) / 3))
    layout = TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(distinct)
    return np.asarray(layout[back.ravel()])


def as_points(places: Floats, labels: Ints, title: str) -> Points:
    """A panel with the classes numbered by size; places in thousandths of the map's width."""
    rank = np.empty(int(labels.max()) + 1, dtype=np.int64)
    rank[np.argsort(-np.bincount(labels), kind="stable")] = np.arange(len(rank))
    low, high = places.min(axis=0), places.max(axis=0)
    whole = np.round(1000 * (places - low) / max(float((high - low).max()), 1e-9)).astype(int)
    x, y = whole.T.tolist()
    return Points(x=x, y=y, classes=rank[labels].tolist(), title=title)
