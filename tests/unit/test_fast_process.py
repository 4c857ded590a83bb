"""What a training command tells its process is taken back, and changes no product beyond rounding."""

import pytest
import torch

from transformer_edu.fast import process


@pytest.fixture
def as_on_amd(monkeypatch):
    monkeypatch.setattr(process, "_mkl_is_slow", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def precision():
    return torch.get_float32_matmul_precision()


def test_products_are_handed_over_where_that_is_quicker_and_only_inside(as_on_amd):
    a, b = torch.randn(300, 512), torch.randn(512, 200)
    with process.quick_products() as quick:
        assert quick == (precision() == "medium")
        torch.testing.assert_close(a @ b, (a.double() @ b.double()).float(), rtol=1e-4, atol=1e-3)
    assert precision() == "highest"


def test_a_processor_that_makes_use_of_lower_precision_is_left_alone(as_on_amd, monkeypatch):
    monkeypatch.setattr(process, "_product_error", lambda: 0.1)
    with process.quick_products() as quick:
        assert not quick
        assert precision() == "highest"


def test_an_error_inside_takes_the_setting_back_too(as_on_amd):
    with pytest.raises(KeyError), process.quick_products():
        raise KeyError
    assert precision() == "highest"


def test_what_somebody_has_chosen_stays(as_on_amd):
    torch.set_float32_matmul_precision("high")
    try:
        with process.quick_products() as quick:
            assert (quick, precision()) == (False, "high")
    finally:
        torch.set_float32_matmul_precision("highest")


def test_other_processors_and_graphics_processors_are_left_alone(as_on_amd, monkeypatch):
    for place, name, value in ((process, "_mkl_is_slow", False), (torch.cuda, "is_available", True)):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, lambda value=value: value)
            with process.quick_products() as quick:
                assert (quick, precision()) == (False, "highest")


def test_what_the_product_tells_is_the_largest_error():
    assert process._product_error() < process.EXACT
