"""pick_device: the GPU where there is one, and the environment variable before both."""

import pytest
import torch

from transformer_edu import pick_device
from transformer_edu.support.device import check_device_works


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


def test_a_device_is_tried_only_if_it_was_asked_for(monkeypatch):
    for wanted in ("", "cpu"):
        monkeypatch.setenv("TRANSFORMER_EDU_DEVICE", wanted)
        check_device_works()
    monkeypatch.setenv("TRANSFORMER_EDU_DEVICE", "meta")
    with pytest.raises(ValueError, match="TRANSFORMER_EDU_DEVICE must name a device that can be used here, got 'meta'"):
        check_device_works()
