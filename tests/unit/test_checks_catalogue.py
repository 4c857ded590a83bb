"""Every known mistake is caught and named; the package's own implementations pass; the texts are complete."""

import inspect

import pytest

import transformer_edu as te
from tests.unit.checked import CHECKS, OWN
from transformer_edu import checks
from transformer_edu.checks import CheckFailed, Mistake
from transformer_edu.checks.components import parameter_count as parameters_check

EVERY = [(name, mistake) for name in checks.components() for mistake in checks.catalogue(name)]


pytestmark = pytest.mark.usefixtures("as_readers_run_it")


def test_there_is_a_check_for_every_component():
    assert list(CHECKS) == checks.components()
    assert list(OWN) == checks.components()


@pytest.mark.parametrize("name", CHECKS)
def test_the_packages_own_implementation_passes(name, capsys):
    CHECKS[name](OWN[name])
    line = capsys.readouterr().out
    assert line.startswith(f"✓ {name}: ")
    assert line.endswith(" checks passed\n")


@pytest.mark.parametrize(("name", "mistake"), EVERY, ids=[f"{name}: {mistake.name}" for name, mistake in EVERY])
def test_every_known_mistake_is_caught_and_named(name: str, mistake: Mistake):
    with pytest.raises(CheckFailed) as failure:
        CHECKS[name](mistake.wrong)
    error = failure.value
    assert error.mistake is mistake
    assert error.component == name
    for text in (error.trial, mistake.name, mistake.symptom, mistake.why, mistake.hint, "Diagnosis:", "Hint:"):
        assert text in str(error)
    assert_readable(str(error))


def assert_readable(message: str):
    assert ("expected" in message and "got" in message) or "should" in message
    assert max(map(len, message.splitlines())) <= 150, "a line is too long to read"
    assert len(message.splitlines()) <= 40, "the example is not small"


@pytest.mark.parametrize("name", CHECKS)
def test_the_texts_of_a_catalogue_are_complete_and_distinct(name):
    mistakes = checks.catalogue(name)
    assert len(mistakes) >= 5
    assert len({mistake.name for mistake in mistakes}) == len(mistakes)
    for mistake in mistakes:
        assert not mistake.name.endswith(".")
        assert not mistake.symptom.endswith(".")
        assert mistake.why.endswith((".", "!", ")"))
        assert mistake.hint.endswith((".", "?", ")"))


def test_a_catalogue_is_a_copy():
    checks.catalogue("softmax").clear()
    assert checks.catalogue("softmax")


def test_an_unknown_component_is_refused_with_the_list_of_names():
    with pytest.raises(ValueError, match=r"component must be one of .*'softmax'.*got 'tokenizer'"):
        checks.catalogue("tokenizer")


def test_the_count_formula_is_the_real_models_count():
    for fields in ({}, {"norm": "pre"}, {"tie_embeddings": "target"}, {"tie_embeddings": "all"}, {"final_norm": True}):
        config = te.TransformerConfig(9, 9, d_model=8, num_heads=2, d_ff=12, num_layers=2, **fields)
        assert parameters_check.count(config) == sum(p.numel() for p in te.Transformer(config).parameters())


def test_all_public_checks_are_covered_here():
    public = {name for name in checks.__all__ if name.startswith("check_")}
    used = {"check_multi_head_split"} | {check.__name__ for check in CHECKS.values() if inspect.isfunction(check)}
    assert public <= used
