"""What every method must do; a new one is covered as soon as it is in ``BUILT_IN``.

Other packages run these tests on their methods: they import them, and give the fixtures below.
"""

import ast
import copy
import dataclasses
import inspect
import json
import pickle
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from subprocess import PIPE
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

import coterie
from coterie import METHODS, make_method
from coterie.arrays.assign import CenterAssigner, MappedAssigner, NeighborAssigner
from coterie.errors import DataError, UsageError
from coterie.methods.train import Run, TrainedClusterer, fitting, train
from coterie.models.clusterer import TextClusterer, WeightedClusterer
from coterie.models.edited import edited
from coterie.models.registry import BUILT_IN, Methods, Recipe
from interrupted import fit_with_interrupts
from said import raises


def documented(cls: type) -> dict[str, str]:
    """Parameters of a numpydoc docstring with the text behind their colon."""
    _, found, after = inspect.getdoc(cls).partition("Parameters\n----------\n")
    section = after.split("\n\n")[0] if found else ""  # a class without parameters of its own
    heads = [line for line in section.splitlines() if not line.startswith(" ")]
    pairs = [line.partition(" : ") for line in heads]
    return {name.strip(): kind for names, _, kind in pairs for name in names.split(",")}


def first_of_each(methods: Mapping[str, Recipe]) -> list[str]:
    """A method of each class, for what cannot depend on parameters such as the linkage."""
    return list({recipe.cls: name for name, recipe in reversed(methods.items())}.values())[::-1]


CLASSES = list(dict.fromkeys(recipe.cls for recipe in BUILT_IN.values()))
FIRST = first_of_each(BUILT_IN)
STAND_INS = ("kmeans", "sccl", "dec")
QUICK = {"batch_size": 30, "epochs": 10, "head_lr": 1e-2, "lr": 1e-3, "steps": 30}
FAST = {  # of classes that need other small settings than QUICK, so that a fit takes a second
    "aecl": {
        "epochs": 13,
        "contrast_epochs": 1,
        "label_epochs": 10,
        "lr": 1e-3,
        "head_lr": 1e-2,
        "batch_size": 30,
    },
    "adsl": {"ae_steps": 60, "ae_layers": (60, 20), "ae_lr": 1e-3, "epochs": 16, "batch_size": 30},
    "cluster-bert": {"batch_size": 30, "lr": 1e-3, "head_lr": 1e-2},
    "deccrl": {"steps": 30, "lr": 1e-3, "head_lr": 1e-2, "batch_size": 30, "word_dim": 20},
    "rstc": {"steps": 60, "lr": 1e-3, "head_lr": 1e-2, "batch_size": 30, "refresh_every": 10},
    "dec": {"ae_layers": (40, 10), "ae_steps": 60, "steps": 20, "refresh_every": 5},
    "idec": {"ae_layers": (40, 10), "ae_steps": 60, "steps": 20, "refresh_every": 5},
    "autoencoder": {"ae_layers": (40, 10), "ae_steps": 60},
    "consensus": {"n_members": 4},
}


def quick(cls: type) -> dict[str, Any]:
    """Settings of a class with which a fit takes a second."""
    known = {field.name for field in dataclasses.fields(cls)}
    return FAST.get(cls.name, {name: QUICK[name] for name in QUICK if name in known})


def fast(name: str, n_clusters: int = 3, **more) -> TextClusterer:
    recipe = METHODS[name]
    parameters = {"random_state": 0, **quick(recipe.cls), **more}
    if "encoder" not in recipe.parameters:
        parameters.setdefault("encoder", "tfidf")
    return recipe.make(n_clusters, **parameters)


@pytest.fixture(params=BUILT_IN)
def name(request: pytest.FixtureRequest) -> str:
    if METHODS[request.param].parameters.get("reduce") == "umap":
        if not request.config.getoption("--slow"):  # it is compiled for a quarter of a minute
            pytest.skip("takes minutes: run with --slow")
        pytest.importorskip("umap")
    return request.param


@pytest.fixture(params=FIRST)
def one_of_each(request: pytest.FixtureRequest) -> str:
    """A method of each class."""
    return request.param


@pytest.fixture(params=CLASSES, ids=lambda cls: cls.__name__)
def cls(request: pytest.FixtureRequest) -> type[TextClusterer]:
    """Each class."""
    return request.param


@pytest.fixture(params=STAND_INS)
def stand_in(request: pytest.FixtureRequest) -> str:
    """A method for what all classes leave to their base class."""
    return request.param


@pytest.fixture(scope="module")
def fitted(topics) -> dict[str, TextClusterer]:
    return {}


def fit_once(name: str, fitted: dict, topics) -> TextClusterer:
    if name not in fitted:
        fitted[name] = fast(name).fit(topics[0])
    return fitted[name]


SHORT = {
    "steps": 2,
    "epochs": 2,
    "ae_steps": 2,
    "adapt_epochs": 1,
    "rounds": 1,
    "harden_epochs": 1,
    "n_init": 1,
    "contrast_epochs": 1,
    "label_epochs": 1,
}


def brief(model: TextClusterer) -> TextClusterer:
    """The same with hardly any training: the checks look at manners, not at clusters."""
    return model.set_params(**{n: v for n, v in SHORT.items() if hasattr(model, n)})


def checked(names: Iterable[str]) -> list[TextClusterer]:
    """Those of the methods that take vectors, with hardly any training."""
    return [
        brief(fast(name, encoder="precomputed"))
        for name in names
        if "encoder" not in METHODS[name].parameters
        and METHODS[name].parameters.get("reduce") is None
    ]


@parametrize_with_checks(checked(STAND_INS))
def test_scikit_learn_contract(estimator, check) -> None:
    check(estimator)


@pytest.mark.full
@parametrize_with_checks(checked(name for name in FIRST if name not in STAND_INS))
def test_scikit_learn_contract_of_all_others(estimator, check) -> None:
    check(estimator)


def test_finds_obvious_topics(name: str, fitted, topics) -> None:
    _, truth = topics
    score = adjusted_rand_score(truth, fit_once(name, fitted, topics).labels_)
    assert score > (0.3 if name in ("average", "gmm") else 0.85)


def test_labels_are_numbered_by_size_and_all_used(one_of_each: str, fitted, topics) -> None:
    sizes = np.bincount(fit_once(one_of_each, fitted, topics).labels_)
    assert len(sizes) == 3 and (np.diff(sizes) <= 0).all() and sizes.min() > 0


def test_prediction_repeats_the_labels_of_training(name: str, fitted, topics) -> None:
    model = fit_once(name, fitted, topics)
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)


def test_probabilities_agree_with_labels(name: str, fitted, topics) -> None:
    model = fit_once(name, fitted, topics)
    probabilities = model.predict_proba(topics[0])
    np.testing.assert_array_equal(probabilities.argmax(axis=1), model.labels_)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(probabilities, model.probabilities_, atol=1e-6)


def test_centers_are_as_wide_as_vectors_or_missing(name: str, fitted, topics) -> None:
    """Of one space with ``transform``; a model without centers has no such attribute."""
    model = fit_once(name, fitted, topics)
    if hasattr(model, "cluster_centers_"):
        width = model.transform(topics[0][:1]).shape[1]
        assert model.cluster_centers_.shape == (model.n_clusters_, width)
    else:
        with pytest.raises(AttributeError, match=r"cluster_centers_: .* no centers .* labels_"):
            model.cluster_centers_  # noqa: B018
    for one in (model, fast(name), type(model)()):
        dict(inspect.getmembers(one))  # reads every attribute
    assert not hasattr(fast(name), "cluster_centers_")


def test_the_number_of_clusters_is_found(stand_in: str, topics) -> None:
    """By the same estimate as the command's."""
    model = brief(fast(stand_in, "auto", device="cpu")).fit(topics[0])
    choice = coterie.choose_n_clusters(topics[0], random_state=0, encoder="tfidf")
    assert model.n_clusters == "auto"
    assert model.n_clusters_ == choice.n_clusters == len(set(model.labels_))
    assert model.n_clusters_choice_ == choice


WEIGHTED = [name for name in FIRST if issubclass(METHODS[name].cls, WeightedClusterer)]


@pytest.mark.parametrize(
    "method", dict.fromkeys(["kmeans", "spherical-kmeans", "ward", "average", *WEIGHTED])
)
def test_weights_are_repetitions_and_zero_leaves_out(method: str, topics) -> None:
    x = fast("kmeans").fit(topics[0]).vectors_
    weights = np.array([0, 1, 2, 1, 1, 3] * 15)
    weighted = fast(method, encoder="precomputed").fit(x, sample_weight=weights)
    repeated = fast(method, encoder="precomputed").fit(np.repeat(x, weights, axis=0))
    np.testing.assert_array_equal(weighted.predict(x), repeated.predict(x))
    np.testing.assert_array_equal(weighted.labels_, weighted.predict(x))
    assert weighted.n_clusters_ == 3 == len(set(weighted.labels_[weights > 0]))


def test_weights_move_centers(topics) -> None:
    x = fast("kmeans").fit(topics[0]).vectors_
    plain = fast("kmeans", 1, encoder="precomputed").fit(x)
    weighted = fast("kmeans", 1, encoder="precomputed").fit(x, sample_weight=np.arange(90.0))
    np.testing.assert_allclose(plain.cluster_centers_[0], x.mean(axis=0), atol=1e-6)
    expected = np.average(x, axis=0, weights=np.arange(90.0))
    np.testing.assert_allclose(weighted.cluster_centers_[0], expected, atol=1e-6)


def test_weights_that_cannot_be_used_are_refused(topics) -> None:
    with pytest.raises(UsageError) as error:
        fast("gmm").fit(topics[0], sample_weight=np.ones(90))
    assert "sample_weight needs" in str(error.value)
    assert not has_fit_parameter(fast("sccl"), "sample_weight")
    with raises(DataError, "ask for at most", "2 different texts"):
        fast("kmeans").fit(topics[0], sample_weight=[1, 1] + [0] * 88)
    for wrong in (np.ones(89), -np.ones(90), np.full(90, np.nan)):
        with pytest.raises(ValueError, match="sample_weight"):
            fast("kmeans").fit(topics[0], sample_weight=wrong)


def test_output_in_tables(topics) -> None:
    pd = pytest.importorskip("pandas")
    model = fast("kmeans").fit(topics[0])
    plain = model.transform(topics[0])
    rows = pd.Series(topics[0], index=range(100, 190))
    table = model.set_output(transform="pandas").transform(rows)
    assert table.columns.tolist() == model.get_feature_names_out().tolist()
    assert table.columns[0] == "twostep0" and table.index.tolist() == list(rows.index)
    np.testing.assert_array_equal(table.to_numpy(), plain)


def test_what_a_pipeline_learns_does_not_shape_the_clusters(topics) -> None:
    """Labels of equal texts may differ there, and texts may be empty."""
    texts = [*topics[0], topics[0][0], ""]
    y = [int("apple" in text) for text in texts[:90]] + [1 - ("apple" in topics[0][0]), 1]
    pipe = make_pipeline(fast("kmeans"), LogisticRegression()).fit(texts, y)
    assert pipe.score(texts, y) > 0.8
    alone = fast("kmeans").fit(texts)
    np.testing.assert_array_equal(pipe[0].labels_, alone.labels_)
    np.testing.assert_array_equal(fast("kmeans").fit_transform(texts, y), alone.transform(texts))
    with raises(DataError, "have the same text"):  # labels are known classes
        fast("kmeans").fit(texts, labels=y)


@pytest.mark.parametrize("kind", ["nearest text", "another space", "edited"])
def test_no_centers_where_the_rule_has_none(kind: str, topics) -> None:
    model = fast("kmeans").fit(topics[0])
    assigner, vectors = model.assigner_, model.distinct_vectors_
    few = np.eye(5, vectors.shape[1], dtype=np.float32)
    model.assigner_ = {
        "nearest text": NeighborAssigner(vectors, model.labels_[: len(vectors)]),
        "another space": MappedAssigner(
            CenterAssigner(assigner.centers @ few.T), few, np.zeros(5, np.float32)
        ),
        "edited": edited(assigner, 3),
    }[kind]
    assert not hasattr(model, "cluster_centers_")


def test_one_text_alone_gets_the_label_it_gets_in_a_crowd(name: str, fitted, topics) -> None:
    model = fit_once(name, fitted, topics)
    new = ["ripe pear juice", "bus driver brake", "violin concert tune", "apple apple", "fuel"]
    crowd = model.predict(new + topics[0])[: len(new)]
    assert [int(model.predict([text])[0]) for text in new] == crowd.tolist()


def test_a_second_fit_in_another_order_is_identical_and_leaves_all_else_alone(
    one_of_each: str, fitted, topics
) -> None:
    """Parameters, data, and the random state of torch stay as they were."""
    first = fit_once(one_of_each, fitted, topics)
    order = np.random.default_rng(3).permutation(90)
    texts = [topics[0][i] for i in order]
    given, again = list(texts), fast(one_of_each)
    parameters = again.get_params()
    torch.manual_seed(12345)  # a seed no other test uses, else both states may coincide
    before = torch.get_rng_state()
    again.fit(texts)
    assert torch.equal(before, torch.get_rng_state())
    assert again.get_params() == parameters and texts == given
    for name in ("labels_", "probabilities_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(first, name)[order])


def test_identical_and_empty_texts(one_of_each: str, topics) -> None:
    texts = [*topics[0], topics[0][0], "  ", topics[0][0].upper(), None, "?!"]
    model = brief(fast(one_of_each)).fit(texts)
    assert model.labels_[90] == model.labels_[0] == model.labels_[92]
    assert model.labels_[[91, 93, 94]].tolist() == [-1, -1, -1]
    assert (model.labels_[:91] >= 0).all()
    probabilities = model.predict_proba(texts)
    assert probabilities[[91, 93, 94]].sum() == 0
    np.testing.assert_array_equal(model.predict(texts), model.labels_)
    assert not model.transform(texts)[91].any()


READER = """
import json, sys, coterie
from pathlib import Path
for line in sys.stdin:
    folder = Path(line.strip())
    model = coterie.load(folder / "model")
    texts = json.loads((folder / "texts.json").read_text())
    print(json.dumps([model.predict(texts).tolist(), type(model).__name__]), flush=True)
"""


@pytest.fixture(scope="module")
def reader(warm_python: list[str]) -> Iterator[subprocess.Popen]:
    """Another process, which has fitted nothing: it loads what it is told and predicts."""
    command = [*warm_python, "-c", READER]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        yield process
        process.stdin.close()


def test_save_and_load_in_a_fresh_process(
    name: str, fitted, topics, tmp_path: Path, reader: subprocess.Popen
) -> None:
    model = fit_once(name, fitted, topics)
    model.save(tmp_path / "model")
    (tmp_path / "texts.json").write_text(json.dumps(topics[0]))
    reader.stdin.write(f"{tmp_path}\n")
    reader.stdin.flush()
    labels, kind = json.loads(reader.stdout.readline())
    assert labels == model.labels_.tolist()
    assert kind == type(model).__name__
    files = {p.suffix for p in (tmp_path / "model").rglob("*") if p.is_file()}
    assert files <= {".json", ".safetensors", ".txt"}


def test_survives_pickle_and_clone(one_of_each: str, fitted, topics) -> None:
    model = fit_once(one_of_each, fitted, topics)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    np.testing.assert_array_equal(again.predict(topics[0]), model.labels_)
    copy = clone(model)
    assert copy.get_params() == model.get_params() and not hasattr(copy, "labels_")


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        ("one string", UsageError, ("list of texts", "got str")),
        ([], DataError, ("X is empty (n_samples=0")),
        (["", None], DataError, ("texts are empty: there is nothing to cluster", "2")),
        (["one text"], DataError, ("ask for at most", "`n_clusters=3`", "1 different text")),
        (
            ["a cat", "a cat", "the dog", "a  cat"],
            DataError,
            ("ask for at most", "`n_clusters=3`", "2 different texts", "as the encoder reads"),
        ),
    ],
)
def test_impossible_input_is_refused_clearly(stand_in: str, texts, error, message) -> None:
    with raises(error, message):
        fast(stand_in).fit(texts)


@pytest.mark.parametrize("n_clusters", [0, -1, 2.5, "many", None, True])
def test_impossible_numbers_of_clusters_are_refused(stand_in: str, n_clusters) -> None:
    with raises(UsageError, "should be an integer of", "n_clusters"):
        fast(stand_in, n_clusters).fit(["a cat", "the dog", "my house"])


def test_every_choice_and_every_number_refuses_nonsense(cls: type) -> None:
    hints = get_type_hints(cls)
    for field in dataclasses.fields(cls):
        kind = hints[field.name]
        choice, number = get_origin(kind) is Literal, {int, float} & {kind, *get_args(kind)}
        if field.name in ("n_clusters", "verbose") or not (choice or number):
            continue
        for wrong in ("nonsense", *((-1, float("nan")) if number else ())):
            with pytest.raises(UsageError, match=field.name):
                cls(**{"n_clusters": 2, field.name: wrong}).fit(["a cat", "the dog"])


def trained(names: Iterable[str]) -> list[str]:
    """Those that train a network from the start solution on."""
    base = TrainedClusterer._training_stages
    return [name for name in learning(names) if METHODS[name].cls._training_stages is not base]


def learning(names: Iterable[str]) -> list[str]:
    """Also those that train something before they cluster."""
    return [name for name in names if issubclass(METHODS[name].cls, TrainedClusterer)]


@pytest.fixture(params=trained(FIRST))
def trains(request: pytest.FixtureRequest) -> str:
    """A method of each class that trains from the start solution on."""
    return request.param


@pytest.fixture(params=learning(FIRST))
def learns(request: pytest.FixtureRequest) -> str:
    """A method of each class that trains anything."""
    return request.param


@pytest.mark.full
def test_an_interrupted_fit_continues_to_the_same_result(
    trains: str, fitted, topics, tmp_path: Path
) -> None:
    whole = fit_once(trains, fitted, topics)
    model = fast(trains, checkpoint=tmp_path / "c", checkpoint_every=0.0)
    assert fit_with_interrupts(model, topics[0])
    np.testing.assert_array_equal(model.probabilities_, whole.probabilities_)
    for name, tensor in whole.net_.state_dict().items():
        assert torch.equal(tensor, model.net_.state_dict()[name]), name
    with raises(DataError, "belongs to another"):
        model.fit([text.replace("apple", "pear") for text in topics[0]])


def falls(losses: list[float]) -> bool:
    part = len(losses) // 3
    return float(np.mean(losses[-part:])) < float(np.mean(losses[:part]))


# Targets run ahead of what is trained: these losses may rise.
CHASED = {("aecl", "cluster"), ("dec", "sharpen")}
STILL = {"dec": "encoder.decoder"}  # only for the autoencoder


def test_training_lowers_the_losses_and_moves_every_part(
    learns: str, topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, moved = fast(learns, guard=False), {}

    def watched(net: torch.nn.Module, *given: Any) -> Any:
        before = copy.deepcopy(net.state_dict())
        train(net, *given)
        moved.update({n: not torch.equal(p, before[n]) for n, p in net.named_parameters()})

    monkeypatch.setattr(fitting, "train", watched)
    monkeypatch.setattr(fitting, "Run", partial(Run, log_every=1))
    model.fit(topics[0])
    for stage in {row["stage"] for row in model.history_.rows}:
        assert falls(model.history_.losses(stage)) or (model.name, stage) in CHASED, stage
    for name, changed in moved.items():
        if not name.endswith("key.bias"):  # a shift of all keys changes no softmax
            assert changed != name.startswith(STILL.get(model.name, "none")), name


@pytest.mark.gpu
def test_a_gpu_finds_obvious_topics(one_of_each: str, topics) -> None:
    labels = fast(one_of_each, device="cuda").fit(topics[0]).labels_
    assert adjusted_rand_score(topics[1], labels) > 0.85


@pytest.mark.parametrize("n_clusters", [1, 4])
def test_one_cluster_and_as_many_clusters_as_texts(name: str, n_clusters: int) -> None:
    texts = ["red apple", "fast car", "loud song", "cold water"]
    if n_clusters == 4 and name.startswith("umap"):
        pytest.skip("UMAP needs more texts than that")
    model = brief(fast(name, n_clusters)).fit(texts)
    assert sorted(set(model.labels_.tolist())) == list(range(n_clusters))
    np.testing.assert_array_equal(model.predict(texts), model.labels_)


def test_unfitted_models_say_so(stand_in: str, tmp_path: Path) -> None:
    model = fast(stand_in)
    for call in (lambda: model.predict(["a"]), lambda: model.save(tmp_path / "x")):
        with pytest.raises(NotFittedError):
            call()


def test_docstring_lists_exactly_its_own_fields(cls: type) -> None:
    every = {f.name for f in dataclasses.fields(cls)}
    assert documented(cls).keys() == inspect.get_annotations(cls).keys() & every


def test_the_docstring_of_the_base_lists_the_fields_of_all() -> None:
    every = {f.name for f in dataclasses.fields(TextClusterer)}
    assert documented(TextClusterer).keys() == every


def test_defaults_in_the_docstring_are_the_defaults(cls: type) -> None:
    defaults = {f.name: f.default for f in dataclasses.fields(cls)}
    for name, kind in documented(cls).items():
        if "default=" in kind:
            written = kind.split("default=")[1].strip()
            assert ast.literal_eval(written) == defaults[name], name


def test_presets_name_real_parameters_only(cls: type) -> None:
    assert cls().n_clusters == "auto"
    known = {f.name for f in dataclasses.fields(cls)}
    for preset, parameters in cls.presets.items():
        assert parameters.keys() <= known
        assert cls.from_preset(preset, n_clusters=5).n_clusters == 5
    with raises(UsageError, "should be one of", "preset"):
        cls.from_preset("nonsense")


def test_methods_of_other_packages_are_found_and_broken_ones_left_out(monkeypatch, caplog) -> None:
    class Entry(NamedTuple):
        value: str

        def load(self) -> dict[str, Recipe]:
            if self.value == "broken":
                raise ImportError("no module")
            return {"new": BUILT_IN["ward"], "auto": BUILT_IN["gmm"]}

    found = [Entry("broken"), Entry("good")]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: found)
    methods = Methods()
    assert list(methods) == [*BUILT_IN, "new"] and methods["auto"] == BUILT_IN["auto"]
    assert "the methods of broken cannot be used: no module" in caplog.text


def test_methods_are_made_by_name() -> None:
    assert make_method("sccl", 7, steps=3).steps == 3
    assert make_method("ward", 7).cluster == "ward"
    with raises(UsageError, "should be one of"):
        make_method("scl", 7)


def test_public_names_resolve() -> None:
    for public in coterie.__all__:
        assert getattr(coterie, public) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        coterie.nonsense  # noqa: B018
