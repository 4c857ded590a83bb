"""Sphinx extension: a chapter's pictures in one size of type.

The plots are drawn at 144 dots an inch, so that they are sharp on any screen. A browser takes each dot for a pixel and
would show a small plot with huge letters beside a large one with small letters. Here each picture gets the width, in
CSS pixels, at which its type is as large as that of all others.

In the finished book they are WebP files without a loss, a little over half as large as the PNG files of the notebooks.
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from PIL import Image
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

DOTS_PER_PIXEL = 144 / 96
SHOWN = re.compile(r'((?:src|href)="[^"]*\b_images/[\w-]+)\.png"')


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


def write_webp(app: Sphinx, error: Exception | None) -> None:
    """Put WebP files in the place of PNG files, in the folder and in the pages."""
    if error or app.builder.format != "html":
        return
    for png in Path(app.outdir, "_images").glob("*.png"):
        with Image.open(png) as picture:
            colours = "RGBA" if picture.mode in ("RGBA", "LA") or "transparency" in picture.info else "RGB"
            picture.convert(colours).save(png.with_suffix(".webp"), lossless=True, quality=80)
        png.unlink()
    for path in Path(app.outdir).rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        if text != (mended := SHOWN.sub(r'\1.webp"', text)):
            path.write_text(mended, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform, and the last step."""
    app.add_post_transform(SizePictures)
    app.connect("build-finished", write_webp)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
