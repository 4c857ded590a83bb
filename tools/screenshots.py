"""Take the README's pictures of the built book: book/_static/readme/NAME.png.

python tools/screenshots.py
"""

from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from transformer_edu.book.figures import headless
from transformer_edu.support.files import write_atomically

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "book" / "_static" / "readme"
# file name: page, what to show (a figure's name, or nothing for the top of the page), colour scheme
PICTURES = {
    "front-page": ("book/intro.html", "", "light"),
    "attention-stepper": ("notebooks/06-attention.html", "attention-stepper", "dark"),
}


def take(browser: Browser, name: str, page_name: str, figure: str, scheme: str) -> Path:
    """Photograph one page, or one figure on it, at twice the usual sharpness."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 800},
        color_scheme="dark" if scheme == "dark" else "light",
        device_scale_factor=2,
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto((ROOT / "_build" / "html" / page_name).as_uri())
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(1000)  # formulas and figures draw after loading
    path = TARGET / f"{name}.png"
    target = page.locator(f'[data-widget="{figure}"]').first if figure else page
    write_atomically(path, target.screenshot())
    context.close()
    return path


def main() -> None:
    """Take all pictures."""
    with sync_playwright() as playwright:
        browser = headless.launch(playwright)
        for name, (page_name, figure, scheme) in PICTURES.items():
            path = take(browser, name, page_name, figure, scheme)
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} KiB")
        browser.close()


if __name__ == "__main__":
    main()
