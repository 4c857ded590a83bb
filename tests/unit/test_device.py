"""pick_device: the GPU where there is one, and the environment variable before both."""

import pytest
import torch

from transformer_edu import pick_device


@pytest.mark.parametrize(("available", "expected"), [(True, "cuda"), (False, "cpu")])
def test_the_gpu_is_taken_where_there_is_one(monkeypatch, available, expected):
    monkeypatch.delenv("TRANSFORMER_EDU_DEVICE", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    assert pick_device().type == expected


@pytest.mark.parametrize(
    ("wanted", "expected"), [("cpu", "cpu"), (" meta ", "meta"), ("cuda:1", "cuda:1"), ("", "cpu")]
)
def test_the_environment_variable_decides(monkeypatch, wanted, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("TRANSFORMER_EDU_DEVICE", wanted)
    assert str(pick_device()) == expected
