"""All methods by name; a new one is a file beside this one and a line in ``METHODS``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coterie._validation import check_choice
from coterie.base import TextClusterer, method_of
from coterie.methods.sccl import SCCL
from coterie.methods.two_step import TwoStep

__all__ = ["METHODS", "SCCL", "Recipe", "TwoStep", "load", "make_method"]


@dataclass(frozen=True)
class Recipe:
    """A class with the parameters that make it the method of that name."""

    cls: type[TextClusterer]
    summary: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def make(self, n_clusters: int, preset: str | None = None, **parameters: Any) -> TextClusterer:
        """The estimator, from a preset of its class or not; ``parameters`` have the last word."""
        chosen = {**self.parameters, **parameters}
        if preset is None:
            return self.cls(n_clusters, **chosen)
        return self.cls.from_preset(preset, n_clusters=n_clusters, **chosen)


METHODS: dict[str, Recipe] = {
    "sccl": Recipe(SCCL, "contrast of views and sharpening of clusters, training the encoder"),
    "kmeans": Recipe(TwoStep, "encoder, then k-means"),
    "spherical-kmeans": Recipe(
        TwoStep, "encoder, then k-means by cosine", {"cluster": "spherical-kmeans"}
    ),
    "umap-kmeans": Recipe(TwoStep, "encoder, UMAP, then k-means", {"reduce": "umap"}),
    "average": Recipe(
        TwoStep, "encoder, then average linkage; for many clusters of all sizes",
        {"cluster": "average"},
    ),
    "ward": Recipe(TwoStep, "encoder, then Ward's linkage", {"cluster": "ward"}),
    "tfidf-kmeans": Recipe(TwoStep, "rare words, then k-means", {"encoder": "tfidf"}),
    "bow-kmeans": Recipe(TwoStep, "word counts, then k-means", {"encoder": "bow"}),
}  # fmt: skip


def make_method(name: str, n_clusters: int, preset: str | None = None, **parameters: Any) -> Any:
    """The estimator of a method by its name, such as ``make_method("sccl", 12)``."""
    check_choice("method", name, METHODS)
    return METHODS[name].make(n_clusters, preset, **parameters)


def load(folder: str | Path) -> TextClusterer:
    """Read a saved model of any method."""
    classes = {recipe.cls.name: recipe.cls for recipe in METHODS.values()}
    name = check_choice(f"the method of {folder}", method_of(Path(folder)), classes)
    return classes[name].load(folder)
