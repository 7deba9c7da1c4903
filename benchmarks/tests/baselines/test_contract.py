"""What every method of coterie must do, for the methods of the benchmarks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import test_contract as contract
from coterie.models.clusterer import TextClusterer
from coterie_bench.baselines import METHODS
from test_contract import (  # noqa: F401 - the fixtures and the tests of each method
    fitted,
    reader,
    test_defaults_in_the_docstring_are_the_defaults,
    test_docstring_lists_exactly_its_own_fields,
    test_every_choice_and_every_number_refuses_nonsense,
    test_finds_obvious_topics,
    test_identical_and_empty_texts,
    test_labels_are_numbered_by_size_and_all_used,
    test_one_cluster_and_as_many_clusters_as_texts,
    test_one_text_alone_gets_the_label_it_gets_in_a_crowd,
    test_prediction_repeats_the_labels_of_training,
    test_presets_name_real_parameters_only,
    test_probabilities_agree_with_labels,
    test_save_and_load_in_a_fresh_process,
    test_survives_pickle_and_clone,
    test_training_lowers_the_losses_and_moves_every_part,
)

OWN = [name for name in METHODS if METHODS[name].path.startswith("coterie_bench")]
contract.METHODS = METHODS
contract.FAST |= {
    "self-train": {
        "ae_layers": (100,),
        "ae_steps": 100,
        "steps": 20,
        "refresh_every": 5,
        "word_vectors": "ppmi",
        "word_dim": 20,
    },
    "kate": {"epochs": 40, "lr": 1e-2},
    "stcc": {"steps": 60, "lr": 5e-3, "n_bits": 6, "word_dim": 16, "word_vectors": "ppmi"},
    "vascl": {"steps": 20, "lr": 1e-3, "head_lr": 1e-2, "batch_size": 30},
}
contract.CHASED |= {("self-train", "sharpen")}
contract.STILL |= {"self-train": "encoder.decoder"}


@pytest.fixture(params=OWN)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=OWN)
def one_of_each(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=[METHODS[name].cls for name in OWN], ids=lambda cls: cls.__name__)
def cls(request: pytest.FixtureRequest) -> type[TextClusterer]:
    return request.param


@pytest.fixture(params=contract.learning(OWN))
def learns(request: pytest.FixtureRequest) -> str:
    return request.param


@parametrize_with_checks(contract.checked(OWN))
def test_scikit_learn_contract(estimator, check) -> None:
    check(estimator)
