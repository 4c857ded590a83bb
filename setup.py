"""What pyproject.toml cannot say: before anything is packed, each figure's modules are joined into one text."""

import sys
from pathlib import Path

from setuptools import setup

sys.path.insert(0, str(Path(__file__).parent / "tools"))
from javascript import bundle

bundle()
setup()
