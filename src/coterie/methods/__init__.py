"""All methods by name; a new one is a file in this package and a line in ``METHODS``.

The papers have a file each; methods that they compare with are in ``baselines/``. The files are
imported when a method is made, so that listing methods takes no time.
"""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from coterie._validation import check_choice, check_path, checked, did_you_mean
from coterie.errors import MissingError, UsageError

if TYPE_CHECKING:  # the classes of METHODS, for type checkers and editors
    from coterie.base import TextClusterer
    from coterie.methods.adsl import ADSL as ADSL
    from coterie.methods.aecl import AECL as AECL
    from coterie.methods.auto import Auto as Auto
    from coterie.methods.baselines.autoencoders import DEC as DEC
    from coterie.methods.baselines.autoencoders import IDEC as IDEC
    from coterie.methods.baselines.autoencoders import KATE as KATE
    from coterie.methods.baselines.autoencoders import Autoencoder as Autoencoder
    from coterie.methods.baselines.autoencoders import SelfTrain as SelfTrain
    from coterie.methods.baselines.classical import Consensus as Consensus
    from coterie.methods.baselines.classical import TwoStep as TwoStep
    from coterie.methods.baselines.hac_sd import HACSD as HACSD
    from coterie.methods.baselines.lda import LDA as LDA
    from coterie.methods.baselines.stcc import STCC as STCC
    from coterie.methods.baselines.vascl import VaSCL as VaSCL
    from coterie.methods.cluster_bert import ClusterBERT as ClusterBERT
    from coterie.methods.deccrl import DECCRL as DECCRL
    from coterie.methods.rstc import RSTC as RSTC
    from coterie.methods.sccl import SCCL as SCCL


Number = int | Literal["auto"]  # of clusters


@dataclass(frozen=True)
class Recipe:
    """A class with the parameters that make it the method of that name.

    Attributes
    ----------
    class_name, module : str
        The class, and the module of this package that holds it.
    summary : str
    parameters : dict
    """

    class_name: str
    module: str
    summary: str
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def cls(self) -> type[TextClusterer]:
        """The class, imported now."""
        try:
            module = importlib.import_module(f"coterie.methods.{self.module}")
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise MissingError(
                f"{self.class_name} trains a network, which needs torch: pip install torch"
            ) from error
        found: type[TextClusterer] = getattr(module, self.class_name)
        return found

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
        for name in chosen.keys() - known.keys() - {"seed"}:
            hint = did_you_mean(name, known)
            raise UsageError(f"{self.class_name} has no parameter {name!r}.{hint}")
        made: TextClusterer = (
            cls(n_clusters, **chosen)
            if preset is None
            else cls.from_preset(preset, n_clusters=n_clusters, **chosen)
        )
        return made


AUTOENCODERS, CLASSICAL = "baselines.autoencoders", "baselines.classical"


def _two_step(summary: str, **parameters: Any) -> Recipe:
    return Recipe("TwoStep", CLASSICAL, summary, parameters)


METHODS: dict[str, Recipe] = {
    "auto": Recipe("Auto", "auto", "consensus of k-means runs after k-NN smoothing; the default"),
    "aecl": Recipe("AECL", "aecl", "attention between texts, pseudo-labels; trains the encoder"),
    "sccl": Recipe("SCCL", "sccl", "contrastive loss with self-training; trains the encoder"),
    "cluster-bert": Recipe(
        "ClusterBERT",
        "cluster_bert",
        "denoising autoencoder, then k-means labels; trains the encoder",
    ),
    "deccrl": Recipe(
        "DECCRL", "deccrl", "as sccl, and reconstructs words from topics; gives topics"
    ),
    "adsl": Recipe(
        "ADSL",
        "adsl",
        "a network over words learns soft labels and corrects them",
        {"encoder": "words"},
    ),
    "rstc": Recipe(
        "RSTC", "rstc", "optimal transport labels, contrastive loss; trains the encoder"
    ),
    "dec": Recipe("DEC", AUTOENCODERS, "autoencoder on the embeddings, then self-training"),
    "idec": Recipe("IDEC", AUTOENCODERS, "as dec, and codes still reconstruct the embeddings"),
    "self-train": Recipe(
        "SelfTrain", AUTOENCODERS, "word vectors, autoencoder, then as dec", {"encoder": "sif"}
    ),
    "autoencoder": Recipe(
        "Autoencoder", AUTOENCODERS, "autoencoder on the embeddings, then k-means"
    ),
    "kate": Recipe(
        "KATE",
        AUTOENCODERS,
        "competitive autoencoder on a bag of words, then k-means",
        {"encoder": "log-counts"},
    ),
    "lda": Recipe(
        "LDA",
        "baselines.lda",
        "a topic of words for each cluster; gives topics",
        {"encoder": "lda"},
    ),
    "vascl": Recipe(
        "VaSCL", "baselines.vascl", "contrastive loss, virtual augmentations; trains the encoder"
    ),
    "tsdae": Recipe(
        "ClusterBERT",
        "cluster_bert",
        "denoising autoencoder; trains the encoder",
        {"rounds": 0, "harden_epochs": 0, "lr": 3e-5, "head_lr": 3e-5},
    ),
    "stcc": Recipe(
        "STCC",
        "baselines.stcc",
        "a network over words learns binary codes of TF-IDF",
        {"encoder": "word-cnn"},
    ),
    "hac-sd": Recipe(
        "HACSD", "baselines.hac_sd", "encoder, then linkage of the most similar pairs"
    ),
    "consensus": Recipe("Consensus", CLASSICAL, "encoder, then a consensus of several clusterings"),
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
    "sif-kmeans": _two_step("weighted means of word vectors, then k-means", encoder="sif"),
}
SAVED_BY = {"two-step": "kmeans"}  # a method for the name of a class that is none itself
CLASSES = sorted({recipe.class_name for recipe in METHODS.values()})
__all__ = [*CLASSES, "METHODS", "Recipe", "load", "make_method"]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> type[TextClusterer]:
        for recipe in METHODS.values():
            if recipe.class_name == name:
                return recipe.cls
        raise AttributeError(f"module 'coterie.methods' has no attribute {name!r}")


@checked
def make_method(
    name: str, n_clusters: Number = "auto", preset: str | None = None, **parameters: object
) -> TextClusterer:
    """The estimator of a method by its name, such as ``make_method("sccl", 12)``."""
    check_choice("method", name, METHODS)
    return METHODS[name].make(n_clusters, preset, **parameters)


@checked
def load(folder: str | Path) -> TextClusterer:
    """Read a saved model of any method, or the model of a run."""
    from coterie.base import method_of

    path = check_path("folder", folder)
    if not (path / "config.json").exists() and (path / "model" / "config.json").exists():
        path /= "model"
    name = method_of(path)
    method = check_choice(f"the method of {folder}", SAVED_BY.get(name, name), METHODS)
    return METHODS[method].cls.load(path)
