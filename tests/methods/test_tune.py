"""Every method that trains a sentence encoder, with every way to tune it."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

import coterie
from coterie import METHODS
from coterie.encoders import load_encoder
from coterie.errors import UsageError
from coterie.methods.train import Run, TunedClusterer, fitting
from coterie.models.registry import BUILT_IN
from interrupted import fit_with_interrupts
from said import raises

FAST = {
    "sccl": {"steps": 24, "labels_from": "head"},
    "aecl": {"epochs": 9, "contrast_epochs": 6, "label_epochs": 1},
    "deccrl": {"steps": 24, "word_dim": 20},
    "rstc": {"steps": 24, "label_steps": 16},
    "cluster-bert": {"labels_from": "head", "adapt_epochs": 5, "rounds": 1, "harden_epochs": 1},
}
TUNES = ("full", "last-1", "heads", "frozen")
STILL = ("heads", "frozen")


def make(name: str, tune: str, encoder: Path | str, **more) -> TunedClusterer:
    """The method, small, and without a guard, so that what is trained is kept."""
    settings = {
        "encoder": str(encoder),
        "tune": tune,
        "random_state": 0,
        "device": "cpu",
        "lr": 1e-3,
        "head_lr": 5e-3,
        "batch_size": 30,
        "max_length": 16,
        "guard": False,
    }
    return METHODS[name].make(3, **{**settings, **FAST[name], **more})


@pytest.fixture(scope="module")
def fits(tiny_encoder: Path, topics) -> dict[tuple[str, str], TunedClusterer]:
    return {}


REFUSED = {("cluster-bert", "frozen")}
QUICK = ("sccl", "full", "frozen")  # the others are the same code
CASES = [
    pytest.param((name, tune), marks=[] if {name, tune} & set(QUICK) else pytest.mark.slow)
    for name in FAST
    for tune in TUNES
    if (name, tune) not in REFUSED
]


def views_for(tune: str, texts: list[str]) -> list[list[str]] | None:
    """Views in other words where a frozen encoder needs them."""
    cuts = (slice(1, None), slice(None, -1))
    return [[" ".join(t.split()[c]) for t in texts] for c in cuts] if tune == "frozen" else None


def fit_once(key: tuple[str, str], fits, tiny_encoder: Path, topics) -> TunedClusterer:
    """The method tuned in this way; fitted for the first test that asks, and never changed."""
    if key not in fits:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fitting, "Run", partial(Run, log_every=1))
            fits[key] = make(*key, tiny_encoder).fit(topics[0], views=views_for(key[1], topics[0]))
    return fits[key]


@pytest.fixture(params=CASES, ids=lambda case: "-".join(case))
def fitted(request: pytest.FixtureRequest, fits, tiny_encoder: Path, topics) -> TunedClusterer:
    return fit_once(request.param, fits, tiny_encoder, topics)


def test_all_methods_that_train_a_sentence_encoder_are_here() -> None:
    found = {name for name, recipe in BUILT_IN.items() if issubclass(recipe.cls, TunedClusterer)}
    assert {METHODS[name].cls for name in found} == {METHODS[name].cls for name in FAST}
    others = [recipe.cls for name, recipe in BUILT_IN.items() if name not in found]
    assert not any(hasattr(cls, "tune") for cls in others)


@pytest.mark.parametrize(
    ("name", "more"), [("aecl", {}), ("rstc", {}), ("sccl", {"frequency": "corpus"})]
)
def test_a_frozen_encoder_trains_with_the_cache_on(
    name: str, more: dict, tiny_encoder: Path, topics, tmp_path: Path, monkeypatch
) -> None:
    """From 64 texts on vectors go to the disk; those of a frozen encoder are vectors already."""
    views = views_for("frozen", topics[0])
    without = make(name, "frozen", tiny_encoder, **more).fit(topics[0], views=views)
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path))
    model = make(name, "frozen", tiny_encoder, **more).fit(topics[0], views=views)
    np.testing.assert_array_equal(model.labels_, without.labels_)


@pytest.mark.full
def test_the_right_parameters_move_and_all_others_are_the_same_bits(
    fitted: TunedClusterer, tiny_encoder: Path
) -> None:
    before = load_encoder(str(tiny_encoder)).train().state_dict()
    after = fitted.encoder_.state_dict()
    assert after.keys() == before.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    may = {
        "full": lambda name: "pooler" not in name,
        "last-1": lambda name: ".layer.1." in name,
        "heads": lambda name: False,
        "frozen": lambda name: False,
    }[fitted.tune]
    expected = {name for name in before if may(name)}
    # A shift of all keys leaves attention as it is, so rounding decides whether that bias moves.
    assert changed <= expected
    assert {n for n in expected - changed if "self.key.bias" not in n and "type" not in n} == set()


def test_the_numbers_that_were_trained_are_told(fitted: TunedClusterer, tiny_encoder: Path) -> None:
    state = load_encoder(str(tiny_encoder)).train().state_dict()
    layer = sum(v.numel() for k, v in state.items() if ".layer.1." in k)
    expected = {
        "full": sum(v.numel() for v in state.values()),
        "last-1": layer,
        "heads": 0,
        "frozen": 0,
    }
    told = dict(fitted.trained_parameters_)
    assert told.pop("encoder") == expected[fitted.tune]
    parts = {name: fitted.net_.get_submodule(name) for name in told}
    assert told == {k: sum(p.numel() for p in part.parameters()) for k, part in parts.items()}
    assert told


def test_the_loss_falls(fitted: TunedClusterer) -> None:
    stages = {"aecl": "contrast", "cluster-bert": "adapt", "rstc": "labels"}
    stage = stages.get(fitted.name, "joint")
    losses = fitted.history_.losses(stage)
    assert len(losses) >= 12  # a row for each step
    assert np.mean(losses[-4:]) < np.mean(losses[:4])


def test_save_and_load_predict_the_same(fitted: TunedClusterer, topics, tmp_path: Path) -> None:
    np.testing.assert_array_equal(fitted.predict(topics[0]), fitted.labels_)
    fitted.save(tmp_path / "model")
    again = coterie.load(tmp_path / "model")
    assert again.tune == fitted.tune
    np.testing.assert_array_equal(again.predict(topics[0]), fitted.labels_)
    np.testing.assert_allclose(
        again.predict_proba(topics[0]), fitted.probabilities_, atol=1e-5, rtol=0
    )
    # Weights are in the folder only where they are no longer those of the encoder named.
    weights = list((tmp_path / "model").rglob("encoder/model.safetensors"))
    assert bool(weights) == (fitted.tune not in STILL)


@pytest.mark.full
@pytest.mark.parametrize("case", [("sccl", "last-1"), ("aecl", "heads"), ("rstc", "frozen")])
def test_an_interrupted_fit_continues_to_the_same_result(
    case: tuple[str, str], fits, tiny_encoder: Path, topics, tmp_path: Path
) -> None:
    whole = fit_once(case, fits, tiny_encoder, topics)
    model = make(*case, tiny_encoder, checkpoint=tmp_path / "c", checkpoint_every=0.0)
    assert fit_with_interrupts(model, topics[0], views=views_for(case[1], topics[0]))
    np.testing.assert_array_equal(model.probabilities_, whole.probabilities_)
    for key, tensor in whole.encoder_.state_dict().items():
        assert torch.equal(tensor, model.encoder_.state_dict()[key]), key


def test_heads_and_kmeans_on_the_vectors_contradict_each_other(tiny_encoder: Path, topics) -> None:
    for name, tune in (("sccl", "heads"), ("sccl", "frozen"), ("cluster-bert", "heads")):
        with raises(UsageError, "does not change the", f"`tune={tune!r}`"):
            make(name, tune, tiny_encoder, labels_from="kmeans").fit(topics[0])


def test_a_frozen_encoder_runs_once_and_training_sees_its_vectors(
    tiny_encoder: Path, topics, monkeypatch
) -> None:
    from coterie.encoders import SentenceEncoder

    passed, original = [], SentenceEncoder.forward

    def forward(self, features):
        passed.append(set(features))
        return original(self, features)

    monkeypatch.setattr(SentenceEncoder, "forward", forward)
    texts, views = topics[0], views_for("frozen", topics[0])
    make("sccl", "frozen", tiny_encoder, steps=24).fit(texts, views=views)
    encoded = [names for names in passed if "vectors" not in names]
    assert len(passed) - len(encoded) == 24
    passed.clear()
    make("sccl", "frozen", tiny_encoder, steps=48).fit(texts, views=views)
    assert len([names for names in passed if "vectors" not in names]) <= len(encoded)


def test_a_frozen_encoder_wants_other_words_and_methods_that_look_at_vectors_alone(
    tiny_encoder: Path, topics
) -> None:
    with raises(UsageError, "computes embeddings"):
        make("sccl", "frozen", tiny_encoder).fit(topics[0])
    with raises(UsageError, "uses the inside of", "cluster-bert"):
        make("cluster-bert", "frozen", tiny_encoder).fit(topics[0])


@pytest.mark.parametrize("tune", STILL)
def test_counted_words_may_stay_as_they_are(tune: str, topics) -> None:
    model = METHODS["sccl"].make(
        3, encoder="tfidf", tune=tune, labels_from="head", steps=5, random_state=0, guard=False
    )
    vectors = model.fit(topics[0]).distinct_vectors_
    start = METHODS["kmeans"].make(3, encoder="tfidf", random_state=0).fit(topics[0])
    np.testing.assert_array_equal(vectors, start.distinct_vectors_)
