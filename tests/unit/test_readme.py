"""What the README shows of the package runs, and prints what stands beside it."""

import re

import matplotlib.pyplot as plt
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("at_readers_speed")]


def test_the_example_runs_and_prints_what_stands_there(root, capsys):
    text = (root / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(code, {})
    plt.close("all")
    written, shape, translation = capsys.readouterr().out.splitlines()
    assert f"# {written}" in code
    assert shape == "torch.Size([1, 4, 3, 4])"
    assert translation == "le petit chat noir ne dort pas"
