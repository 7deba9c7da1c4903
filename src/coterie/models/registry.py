"""All methods by name; a new one is a file in this package and a line in ``BUILT_IN``.

Installed packages add methods by entry points of the group ``coterie.methods``; each is a mapping
of names to recipes. The files are imported when a method is made, so that listing methods takes no
time.
"""

from __future__ import annotations

import inspect
import logging
import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from coterie._util.validation import check_choice, check_path, did_you_mean
from coterie.errors import MissingError, UsageError

if TYPE_CHECKING:
    from coterie.models.clusterer import TextClusterer

log = logging.getLogger(__name__)

Number = int | Literal["auto"]  # of clusters
GROUP = "coterie.methods"  # of entry points


@dataclass(frozen=True)
class Recipe:
    """A class with the parameters that make it the method of that name.

    Attributes
    ----------
    path : str
        Module and class, such as "coterie.methods.sccl:SCCL".
    summary : str
    parameters : dict
    """

    path: str
    summary: str
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def class_name(self) -> str:
        """Name of the class, which is not imported for it."""
        return self.path.partition(":")[2]

    @property
    def cls(self) -> type[TextClusterer]:
        """The class, imported now."""
        try:
            cls: type[TextClusterer] = pkgutil.resolve_name(self.path)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise MissingError(
                f"{self.class_name} trains a network, which needs torch: pip install torch"
            ) from error
        return cls

    @property
    def references(self) -> list[str]:
        """The papers, as the section *References* of the class's docstring has them."""
        section = (inspect.getdoc(self.cls) or "").partition("References\n----------\n")[2]
        papers = re.split(r"\.\. \[\d+\] ", section.partition("\n\n")[0])[1:]
        return [" ".join(paper.split()) for paper in papers]

    def make(
        self, n_clusters: Number = "auto", preset: str | None = None, **parameters: object
    ) -> TextClusterer:
        """The estimator, from a preset of its class or not; ``parameters`` have the last word."""
        chosen: dict[str, Any] = {**self.parameters, **parameters}
        cls: Any = self.cls
        known = inspect.signature(cls).parameters
        for name in chosen.keys() - known.keys():
            hint = did_you_mean(name, known)
            raise UsageError(f"{self.class_name} has no parameter {name!r}.{hint}")
        made: TextClusterer = (
            cls(n_clusters, **chosen)
            if preset is None
            else cls.from_preset(preset, n_clusters=n_clusters, **chosen)
        )
        return made


def _two_step(summary: str, **parameters: Any) -> Recipe:
    return Recipe("coterie.models.two_step:TwoStep", summary, parameters)


BUILT_IN: dict[str, Recipe] = {
    "auto": Recipe(
        "coterie.models.auto:Auto", "consensus of k-means runs after k-NN smoothing; the default"
    ),
    "aecl": Recipe(
        "coterie.methods.aecl:AECL", "attention between texts, pseudo-labels; trains the encoder"
    ),
    "sccl": Recipe(
        "coterie.methods.sccl:SCCL", "contrastive loss with self-training; trains the encoder"
    ),
    "cluster-bert": Recipe(
        "coterie.methods.cluster_bert:ClusterBERT",
        "denoising autoencoder, then k-means labels; trains the encoder",
    ),
    "deccrl": Recipe(
        "coterie.methods.deccrl:DECCRL",
        "as sccl, and reconstructs words from topics; gives topics",
    ),
    "adsl": Recipe(
        "coterie.methods.adsl:ADSL",
        "a network over words learns soft labels and corrects them",
        {"encoder": "words"},
    ),
    "rstc": Recipe(
        "coterie.methods.rstc:RSTC",
        "optimal transport labels, contrastive loss; trains the encoder",
    ),
    "dec": Recipe("coterie.methods.dec:DEC", "autoencoder on the embeddings, then self-training"),
    "idec": Recipe(
        "coterie.methods.dec:IDEC", "as dec, and codes still reconstruct the embeddings"
    ),
    "autoencoder": Recipe(
        "coterie.methods.dec:Autoencoder", "autoencoder on the embeddings, then k-means"
    ),
    "consensus": Recipe(
        "coterie.models.two_step:Consensus", "encoder, then a consensus of several clusterings"
    ),
    "kmeans": _two_step("encoder, then k-means"),
    "spherical-kmeans": _two_step("encoder, then k-means by cosine", cluster="spherical-kmeans"),
    "umap-kmeans": _two_step("encoder, UMAP, then k-means", reduce="umap"),
    "average": _two_step(
        "encoder, then average linkage; many clusters of all sizes", cluster="average"
    ),
    "ward": _two_step("encoder, then Ward's linkage", cluster="ward"),
    "gmm": _two_step("encoder, then a mixture of Gaussians", cluster="gmm"),
    "umap-hdbscan": _two_step("encoder, UMAP, then HDBSCAN", reduce="umap", cluster="hdbscan"),
    "tfidf-kmeans": _two_step("TF-IDF, then k-means", encoder="tfidf"),
    "bow-kmeans": _two_step("word counts, then k-means", encoder="bow"),
}
SAVED_BY = {"two-step": "kmeans"}  # a method for the name of a class that is none itself
CLASSES = {recipe.class_name: recipe for recipe in BUILT_IN.values()}
__all__ = ["BUILT_IN", "METHODS", "Recipe", "load", "make_method"]


class Methods(Mapping[str, Recipe]):
    """The methods of this package, and those that installed packages add, found when needed."""

    def __getitem__(self, name: str) -> Recipe:
        return BUILT_IN[name] if name in BUILT_IN else self._added[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*BUILT_IN, *self._added))

    def __len__(self) -> int:
        return len(BUILT_IN) + len(self._added)

    @cached_property
    def _added(self) -> dict[str, Recipe]:
        from importlib.metadata import entry_points

        added: dict[str, Recipe] = {}
        for entry in entry_points(group=GROUP):
            try:
                added |= entry.load()
            except Exception as error:  # of another package: our methods work without it
                log.warning("the methods of %s cannot be used: %s", entry.value, error)
        return {name: recipe for name, recipe in added.items() if name not in BUILT_IN}


METHODS = Methods()


def make_method(
    name: str, n_clusters: Number = "auto", preset: str | None = None, **parameters: object
) -> TextClusterer:
    """The estimator of a method by its name, such as ``make_method("sccl", 12)``."""
    return METHODS[check_choice("method", name, METHODS)].make(n_clusters, preset, **parameters)


def load(folder: str | Path) -> TextClusterer:
    """Read a saved model of any method, or the model of a run."""
    from coterie.models.storage import method_of

    path = check_path("folder", folder)
    if not (path / "config.json").exists() and (path / "model" / "config.json").exists():
        path /= "model"
    name = method_of(path)
    method = check_choice(f"the method of {folder}", SAVED_BY.get(name, name), METHODS)
    return METHODS[method].cls.load(path)
