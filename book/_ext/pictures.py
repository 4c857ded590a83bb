"""Sphinx extension: a chapter's pictures in one size of type.

The plots are drawn at 144 dots an inch, so that they are sharp on any screen. A browser takes each dot for a pixel and
would show a small plot with huge letters beside a large one with small letters. Here each picture gets the width, in
CSS pixels, at which its type is as large as that of all others.

In the finished book they are WebP files without a loss, a little over half as large as the PNG files of the notebooks,
and each that has a dark twin in book/dark stands beside it: the theme shows the one or the other.
"""

import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from PIL import Image
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

DOTS_PER_PIXEL = 144 / 96
SHOWN = re.compile(r'((?:src|href)="[^"]*\b_images/[\w-]+)\.png"')
IMAGE = re.compile(r'<img [^>]*\bsrc="([^"]*\b_images/)([0-9a-f]{16})([0-9a-f]{48})\.webp"[^>]*>')
TWINS = Path("book", "dark")  # files named after the first sixteen digits of the light picture's hash


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
        mended = SHOWN.sub(r'\1.webp"', text)
        if app.builder.name == "html":
            mended = IMAGE.sub(lambda image: with_twin(app, image), mended)
        if text != mended:
            path.write_text(mended, encoding="utf-8")


def with_twin(app: Sphinx, image: re.Match[str]) -> str:
    """A picture and its dark twin, of which a page fetches the one that it shows."""
    _, start, rest = image.groups()
    twin, light = Path(app.srcdir, TWINS, f"{start}.webp"), Path(app.outdir, "_images", f"{start}{rest}.webp")
    if not twin.exists() or "only-light" in image[0]:  # a page that this build has left as it was has its twins
        return image[0]
    dark = light.with_stem(f"dark-{start}")
    shutil.copyfile(twin, dark)
    with Image.open(light) as picture:
        size = f'loading="lazy" width="{picture.width}" height="{picture.height}"'
    one = image[0].replace("<img ", f'<img class="only-light" {size} ', 1)
    other = image[0].replace("<img ", f'<img class="only-dark" {size} ', 1)
    return one + other.replace(image[1] + light.name, image[1] + dark.name)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform, and the last step."""
    app.add_post_transform(SizePictures)
    app.connect("build-finished", write_webp)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
