"""The wheel is enough: whoever installs it has all of the package, in a folder where nothing else is."""

import os
import shutil
import subprocess
import sys
import zipfile

import pytest

ALONE = """
import sys
from pathlib import Path

import torch
import transformer_edu
from transformer_edu import checks, pretrained, recordings, widgets

assert Path(sys.argv[1]) in Path(transformer_edu.__file__).parents, transformer_edu.__file__
assert pretrained.load_grammar().translate("the small black cat does not sleep") == "le petit chat noir ne dort pas"
for name in recordings.names():
    recordings.load(name)
for name in sorted(widgets.Figure.registry):
    html = widgets.make_figure(name)._repr_mimebundle_()
    html = html[0] if isinstance(html, tuple) else html
    assert f'data-widget="{name}"' in html["text/html"], name
norm = torch.nn.functional.layer_norm
checks.check_layer_norm(lambda x, gamma, beta, eps=1e-5: norm(x, x.shape[-1:], gamma, beta, eps))
print(len(recordings.names()), len(widgets.Figure.registry))
"""
BUNDLES = "transformer_edu/book/bundles"
NEEDED = {"pyproject.toml", "README.md", "setup.py", "package.json", "package-lock.json", ".npmrc"}
NEEDED |= {"tools/javascript.py", "tools/bundle.js"}
MINE = "import torch\n\nclass Norm(torch.nn.LayerNorm):\n    pass\n"


@pytest.fixture(scope="module")
def wheel(root, tmp_path_factory):
    """The package as a wheel, built from the tracked files alone and without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(root / BUNDLES, folder / "source" / BUNDLES)  # up to date: nothing is fetched to make them
    files = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True).stdout.split(b"\0")
    for name in map(os.fsdecode, filter(None, files)):
        if name.startswith(("transformer_edu/", "LICENSE")) or name in NEEDED:
            (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "source" / name).write_bytes((root / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    subprocess.run([*pip, str(folder), str(folder / "source")], check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The wheel unpacked, as pip puts it where Python looks."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.mark.slow
def test_every_file_of_the_package_is_in_the_wheel(root, wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("transformer_edu/")}
    listed = subprocess.run(
        ["git", "ls-files", "transformer_edu"], cwd=root, check=True, capture_output=True, text=True
    )
    bundles = {f"{BUNDLES}/{path.name}" for path in (root / BUNDLES).iterdir()}
    assert packed == set(listed.stdout.split()) | bundles


@pytest.mark.weekly
@pytest.mark.slow
def test_the_wheel_alone_is_enough(installed, tmp_path):
    def run(*command, given=""):
        environment = os.environ | {"PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env=environment,
            input=given,
            capture_output=True,
            encoding="utf-8",
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("-c", ALONE, str(installed)).split()[0] != "0"
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    command = ("-m", "transformer_edu")
    assert "check" in run(*command, "--help")
    assert "nothing wrong" in run(*command, "check", "mine.py:Norm", "--as", "layer_norm")
    model = installed / "transformer_edu" / "pretrained" / "multi30k-de-en"
    assert run(*command, "translate", "--model", str(model), given="Ein Hund läuft durch den Schnee.\n").startswith(
        "A dog"
    )
