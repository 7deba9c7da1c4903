"""One run: fit on texts alone, then score; and what the line says about machine and software."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from coterie._util.facts import peak_memory
from coterie._util.validation import check_device
from coterie.arrays.metrics import correct, external_scores, silhouette
from coterie.methods.train import TrainedClusterer
from coterie.methods.word_vectors import kind_of
from coterie.models.clusterer import TextClusterer
from coterie_bench.analysis import stage_indices
from coterie_bench.data import Data
from coterie_bench.ledger import Row, facts


def fitted_texts(data: Data) -> list[str]:
    """The texts that a method may see."""
    if data.train is None:
        return data.texts
    return [text for text, fits in zip(data.texts, data.train, strict=True) if fits]


def score_fit(model: TextClusterer, data: Data, device: str) -> Row:
    """Fit on the texts alone, then score."""
    device = str(check_device(device))
    _forget_peak(device)
    begun = time.perf_counter()
    model.fit(fitted_texts(data))
    total = time.perf_counter() - begun
    history = model.history_.rows if isinstance(model, TrainedClusterer) else []
    verdict = model.guard_.to_dict() if model.guard_ is not None else None
    return {
        **(_score_all(model, data) if data.train is None else _score_rest(model, data)),
        "signs": None if verdict is None else {k: verdict[k] for k in ("start", "final")},
        "guard": None if verdict is None else {k: verdict[k] for k in ("fired", "reason")},
        "seconds": model.seconds_ | {"other": round(total - sum(model.seconds_.values()), 3)},
        "step_ms": step_ms(history),
        "peak_memory": peak_memory(device),
        "word_vectors": word_vectors_of(model),
        "balance": getattr(model, "balance_", None),
        "stages": stages_of(model, data),
        **facts(device),
    }


WARM = 3  # readings of a stage that do not count: recording, caches, first batches


def step_ms(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Milliseconds of a step in each stage, between the fourth reading of the loss and the last.

    The host waits for the device at every reading, so the times are those of finished work.

    Parameters
    ----------
    rows : sequence of dict
        Of a training history.

    Returns
    -------
    dict of str to float
        Without stages that are too short to tell.

    Examples
    --------
    >>> rows = [{"stage": "a", "step": s, "seconds": 1 + s / 100, "terms": {}}
    ...         for s in (10, 20, 30, 40, 50)]
    >>> step_ms(rows)
    {'a': 10.0}
    """
    stages: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if "terms" in row:
            stages.setdefault(row["stage"], []).append(row)
    found = {}
    for name, read in stages.items():
        if len(read) > WARM + 1:
            first, last = read[WARM], read[-1]
            took, steps = last["seconds"] - first["seconds"], last["step"] - first["step"]
            found[name] = round(1000 * took / steps, 3)
    return found


def stages_of(model: TextClusterer, data: Data) -> list[Row] | None:
    """Indices after each stage, where the method has recorded them."""
    if not getattr(model, "stages_", None) or data.train is not None:
        return None
    return [
        {k: v if v is None or isinstance(v, str) else round(v, 5) for k, v in row.items()}
        for row in stage_indices(model, data.labels)
    ]


def word_vectors_of(model: TextClusterer) -> Row | None:
    """Kind of word vectors that a method learns or reads, with gensim's version if that made them.

    "auto" says nothing by itself: it is skip-gram where gensim is installed, and PPMI elsewhere.
    """
    source = getattr(model, "word_vectors", None)
    encoder = str(model.encoder)
    if source is None and (encoder == "sif" or encoder.startswith("sif:")):
        source = encoder.removeprefix("sif").removeprefix(":") or "auto"
    if source is None:
        return None
    kind = kind_of(source)
    return {"kind": kind, "gensim": version("gensim") if kind == "skipgram" else None}


def _score_all(model: TextClusterer, data: Data) -> Row:
    truth = np.asarray(data.labels)[data.scored]
    start = final = model.labels_[data.scored]
    trained = None
    if isinstance(model, TrainedClusterer):
        trained, start = model.trained_labels_, model.start_labels_[data.scored]
    return {
        "scores": _scores(truth, final, model.vectors_[data.scored]),
        "confidence": _confidence(truth, final, model.probabilities_[data.scored]),
        "start_scores": _rounded(external_scores(truth, start)),
        "trained_scores": None
        if trained is None
        else _rounded(external_scores(truth, trained[data.scored])),
    }


def _score_rest(model: TextClusterer, data: Data) -> Row:
    """Scores of predictions for the texts that were not fitted; the start predicts nothing."""
    rest = data.scored & ~data.train
    texts = [data.texts[i] for i in np.flatnonzero(rest)]
    truth, labels = np.asarray(data.labels)[rest], model.predict(texts)
    scores = _scores(truth, labels, model.transform(texts))
    confidence = _confidence(truth, labels, model.predict_proba(texts))
    sizes = {"n_train": int(data.train.sum()), "n_test": len(texts)}
    return {
        "scores": scores,
        "confidence": confidence,
        "start_scores": None,
        "trained_scores": None,
        **sizes,
    }


def _scores(truth: Any, labels: Any, vectors: Any) -> Row:
    found = _rounded(external_scores(truth, labels) | {"silhouette": silhouette(vectors, labels)})
    return found | {"n_clusters_used": len(np.unique(labels))}


def expected_calibration_error(right: Any, confidence: Any, bins: int = 10) -> float:
    """Mean gap between confidence and the share that is right, over bins of equal width (ECE).

    Each bin counts by its texts.

    Examples
    --------
    >>> round(expected_calibration_error([True, True, False, True], [0.9, 0.9, 0.9, 0.5]), 3)
    0.3
    """
    p = np.clip(np.asarray(confidence, dtype=np.float64), 0.0, 1.0)
    number = np.minimum((p * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(number, weights=p - np.asarray(right, dtype=np.float64), minlength=bins)
    return float(np.abs(gaps).sum() / len(p))


def _auc(right: Any, confidence: Any) -> float:
    """Area under the ROC curve; not a number where all texts are right, or all are wrong."""
    from sklearn.metrics import roc_auc_score

    if right.all() or not right.any():
        return float("nan")
    return float(roc_auc_score(right, confidence))


def _confidence(truth: Any, labels: Any, probabilities: Any) -> Row | None:
    """How well the highest probability tells which texts are right; those in no cluster aside."""
    placed = labels >= 0
    if not placed.any():
        return None
    right = correct(truth[placed], labels[placed])
    confidence = probabilities[placed].max(axis=1)
    return _rounded(
        {
            "ece": expected_calibration_error(right, confidence),
            "auc": _auc(right, confidence),
            "mean": float(confidence.mean()),
            "right": float(right.mean()),
        }
    )


def _rounded(scores: dict[str, float]) -> Row:
    return {k: round(v, 5) if math.isfinite(v) else None for k, v in scores.items()}


def _forget_peak(device: str) -> None:
    """The GPU's peak is then that of one run; that of the process cannot be taken back."""
    if device.startswith("cuda"):
        import torch

        torch.cuda.reset_peak_memory_stats(device)
