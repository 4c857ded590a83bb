"""The three engines that readers have: Chromium and Firefox, driven by Playwright, and WebKit, by its own driver.

An engine that is not installed fails its tests in CI, where .ci/run installs all three, and skips them elsewhere.
"""

import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from transformer_edu.book.figures import headless

PATIENCE = 180_000  # milliseconds until a browser counts as hung; a machine busy tenfold stays far below
FIREFOX = ("firefox-esr", "firefox")
# Nothing moves. A page from disk may read no other file, as in every reader's Firefox.
SETTINGS = {"ui.prefersReducedMotion": 1, "security.fileuri.strict_origin_policy": True}
BETWEEN = Path(__file__).with_name("bidi_firefox.py")
MINI_BROWSER = "webkit2gtk-4*/MiniBrowser"  # somewhere below /usr/lib, by the machine's architecture
THIS_MACHINE_ONLY = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
KEYS = {"Enter": "\ue007", "Space": " ", "ArrowRight": "\ue014", "ArrowDown": "\ue015"}  # as WebDriver names them
STILL = "[Settings]\ngtk-enable-animations=0\n"


def need(engine, *programs):
    """What is not installed is an error in CI, and a reason to skip elsewhere."""
    missing = [program for program in programs if not program]
    if missing and os.environ.get("CI"):
        pytest.fail(f"{engine} is not installed")
    if missing:
        pytest.skip(f"{engine} is not installed (.ci/run names its packages)")


def first_installed(*names):
    """The path of the first of these programs, or None."""
    return next((path for path in map(shutil.which, names) if path), None)


@contextmanager
def chromium(playwright, folder):
    """An installed Chromium, for which there is no other host."""
    browser = headless.launch(playwright, THIS_MACHINE_ONLY, timeout=PATIENCE)
    yield browser
    browser.close()


@contextmanager
def firefox(playwright, folder):
    """An installed Firefox, behind `bidi_firefox.py`, for which a script in `folder` stands."""
    program = first_installed(*FIREFOX)
    need("Firefox", program)
    script = folder / "firefox"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{BETWEEN}" "{program}" "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    browser = playwright.firefox.launch(
        channel="moz-firefox", executable_path=script, firefox_user_prefs=SETTINGS, timeout=PATIENCE
    )
    yield browser
    browser.close()


@contextmanager
def webkit(folder):
    """An installed WebKitGTK, in a window on a screen of its own, as a WebDriver session."""
    driver, screen = shutil.which("WebKitWebDriver"), shutil.which("Xvfb")
    program = next((str(path) for path in Path("/usr/lib").glob(f"*/{MINI_BROWSER}")), None)
    need("WebKit", driver, screen, program)
    (folder / "gtk-3.0").mkdir()
    (folder / "gtk-3.0" / "settings.ini").write_text(STILL, encoding="utf-8")
    with ExitStack() as stack:
        size = ["-screen", "0", "1280x1024x24", "-nolisten", "tcp"]
        server = started(stack, [screen, "-displayfd", "1", *size], stdout=subprocess.PIPE)
        display = f":{server.stdout.readline().decode().strip()}"
        home = {"DISPLAY": display, "XDG_CONFIG_HOME": str(folder), "GDK_BACKEND": "x11"}
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        process = started(stack, [driver, "--host=127.0.0.1", f"--port={port}"], env={**os.environ, **home})
        session = WebDriver(f"http://127.0.0.1:{port}", process, {"binary": program, "args": ["--automation"]})
        yield session
        session("DELETE", "")


def started(stack, command, **options):
    """A process that ends with the stack."""
    process = stack.enter_context(subprocess.Popen(command, stderr=subprocess.DEVNULL, **options))
    stack.callback(process.terminate)
    return process


class WebDriver:
    """A session of the W3C's WebDriver protocol with WebKitGTK."""

    def __init__(self, address, process, options):
        self.address = address
        while not self.is_up():
            assert process.poll() is None, "the driver ended"
            time.sleep(0.1)
        timeouts = {"script": PATIENCE, "pageLoad": PATIENCE}
        wanted = {"alwaysMatch": {"webkitgtk:browserOptions": options, "timeouts": timeouts}}
        self.address += f"/session/{self('POST', '/session', capabilities=wanted)['sessionId']}"

    def is_up(self):
        try:
            return self("GET", "/status")["ready"]
        except urllib.error.URLError:
            return False

    def __call__(self, method, path, **content):
        """Send one command; return its answer."""
        body = json.dumps(content).encode() if method == "POST" else None
        request = urllib.request.Request(self.address + path, body, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["value"]


DRIVEN_BY_PLAYWRIGHT = {"chromium": chromium, "firefox": firefox}
ENGINES = (*DRIVEN_BY_PLAYWRIGHT, "webkit")


class PlaywrightTab:
    """A page in Chromium or Firefox."""

    def __init__(self, browser):
        self.page = browser.new_page(viewport={"width": 1000, "height": 900}, reduced_motion="reduce")
        self.page.set_default_timeout(PATIENCE)

    def open(self, address):
        self.page.goto(address)

    def run(self, script):
        """What an async function without arguments returns."""
        return self.page.evaluate(script)

    def press(self, key):
        self.page.keyboard.press(key)

    def picture(self, path):
        self.page.screenshot(path=path)


class WebkitTab:
    """The window of WebKit."""

    def __init__(self, session):
        self.session = session
        session("POST", "/window/rect", width=1000, height=900)

    def open(self, address):
        self.session("POST", "/url", url=address)

    def run(self, script):
        """What an async function without arguments returns."""
        tell = "const tell = arguments[arguments.length - 1];"
        caught = "(error) => tell({ error: String(error) })"
        call = f"{tell} ({script})().then((value) => tell({{ value }}), {caught});"
        answer = self.session("POST", "/execute/async", script=call, args=[])
        assert "error" not in answer, answer["error"]
        return answer.get("value")

    def press(self, key):
        strokes = [{"type": kind, "value": KEYS[key]} for kind in ("keyDown", "keyUp")]
        self.session("POST", "/actions", actions=[{"type": "key", "id": "keyboard", "actions": strokes}])

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.session("GET", "/screenshot")))


@contextmanager
def tab(engine, playwright, folder):
    """A page in one of the engines."""
    if engine == "webkit":
        with webkit(folder) as session:
            yield WebkitTab(session)
    else:
        with DRIVEN_BY_PLAYWRIGHT[engine](playwright, folder) as browser:
            yield PlaywrightTab(browser)
