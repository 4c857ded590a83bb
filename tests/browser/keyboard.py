"""A reader who has a keyboard and nothing else: go from stop to stop with Tab."""

import time

MOST_TABS = 30
LOOKS = 25  # a model's answer may come some frames after the key
PATIENCE = 3  # seconds, however many frames they are: a busy machine computes later
MOST_STOPS = 60  # of one round through a figure
NAME = "(node.ariaLabel || node.labels?.[0]?.textContent || node.textContent)"  # of an element, as in the tests' words
STOP = f"""(() => {{
    const node = document.activeElement;
    if (!node.closest(".te-root")) return null;
    const kind = node.getAttribute("role") ?? (node.matches("select") ? "select" : node.type ?? "link");
    if (["", "link", "list", "region"].includes(kind)) return {{ kind, off: true }};  // it leads away, or only scrolls
    const group = node.closest("[role=grid], [role=radiogroup], [role=tablist], [role=listbox]");
    // The words on offer are one control, as the choices of a group are: which are there hangs on where the caret is.
    const name = node.closest(".te-sentence-offers") ? "of words" : group?.getAttribute("aria-label") ?? {NAME};
    // In a line that is wrong already, one word in the place of another may change nothing of what is wrong with it.
    const wrong = node.closest(".te-sentence-offers")
        && document.querySelector(".te-sentence-input[aria-invalid=true]");
    return {{ kind, name: `${{kind}} ${{name}}`, off: node.ariaDisabled === "true" || Boolean(wrong) }};
}})()"""
SAID = f"""new Promise((drawn) => requestAnimationFrame(() => setTimeout(() => drawn([
    [...document.querySelectorAll("[aria-live]")].map((one) => one.textContent).join(),
    (node => node.closest(".te-root") && {NAME} + (node.value ?? ""))(document.activeElement),
]))))"""
AT_ONCE = "window.setTimeout = ((real) => (action, _, ...more) => real(action, 0, ...more))(window.setTimeout);"
ONE_LOT = "Math.random = () => 0.5;"
KEYS = {
    "radio": ["ArrowRight", "ArrowLeft"],
    "tab": ["ArrowRight", "ArrowLeft"],
    "range": ["ArrowRight", "ArrowLeft"],
    "select": ["ArrowDown", "ArrowUp"],
    "checkbox": ["Space"],
    "button": ["Enter"],
    "text": ["3"],
    "textarea": ["b"],
}
WALK = ["ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft"]  # in a grid or a map, whose places have names


def focused(page):
    """The name of the focused element: its aria-label, its label's text, or its own text."""
    return str(page.evaluate(f"(node => {NAME})(document.activeElement)"))


def tab_to(page, selector):
    """Press Tab, at least once, until the focused element matches a CSS selector."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"Tab never reached {selector}")


def speaks(page, stop):
    """Whether a key at this stop changes what a screen reader says: the live region, or the place in a grid."""
    for key in KEYS.get(stop["kind"], WALK):
        before = page.evaluate(SAID)
        page.keyboard.press(key)
        began, looks = time.monotonic(), 0
        while looks < LOOKS or time.monotonic() < began + PATIENCE:
            looks += 1
            after = page.evaluate(SAID)
            assert after[1] is not None, f"{stop['name']}: {key} takes the focus out of the figure"
            if after[0] != before[0] or (stop["kind"] not in KEYS and after[1] != before[1]):
                return True
    return False


def silent_controls(page):
    """The stops of Tab at which no key changes anything that is said, in two rounds through the figure."""
    page.evaluate(AT_ONCE)  # announcements wait until the reader rests
    page.evaluate(ONE_LOT)  # whoever was named already, and is drawn again, is rightly named without a word
    heard: dict[str, bool] = {}
    for _ in range(2):
        page.evaluate("document.activeElement.blur()")
        for _ in range(MOST_STOPS):
            page.keyboard.press("Tab")
            stop = page.evaluate(STOP)
            if stop is None and heard:
                break
            if stop is None:
                continue  # the browser's own stops come first
            if not (stop["off"] or heard.get(stop["name"])):
                heard[stop["name"]] = speaks(page, stop)
    assert heard, "Tab reaches nothing"
    return [name for name, spoke in heard.items() if not spoke]
