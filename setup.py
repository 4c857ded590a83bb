"""Only what pyproject.toml cannot say: an installed package carries recordings/*.json, which have one home."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithRecordings(build_py):
    """Copy the recordings into transformer_edu/recordings of what is being built."""

    def run(self) -> None:
        """Build, then copy; an editable install reads the files where they are."""
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib, "transformer_edu", "recordings")
            for path in sorted(Path("recordings").glob("*.json")):
                self.copy_file(str(path), str(target / path.name))


setup(cmdclass={"build_py": BuildWithRecordings})
