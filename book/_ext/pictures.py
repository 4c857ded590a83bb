"""Sphinx extension: a chapter's pictures in one size of type.

The plots are drawn at 144 dots an inch, so that they are sharp on any screen. A browser takes each dot for a pixel and
would show a small plot with huge letters beside a large one with small letters. Here each picture gets the width, in
CSS pixels, at which its type is as large as that of all others.
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from PIL import Image
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

DOTS_PER_PIXEL = 144 / 96


class SizePictures(SphinxPostTransform):
    """Give each PNG of a cell's output its width."""

    default_priority = 400
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Read the sizes of the pictures of this page."""
        for image in self.document.findall(nodes.image):
            path = Path(self.app.srcdir, image["uri"])
            if "width" not in image and path.suffix == ".png" and path.exists():
                with Image.open(path) as picture:
                    image["width"] = f"{round(picture.width / DOTS_PER_PIXEL)}px"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform."""
    app.add_post_transform(SizePictures)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
