"""One case for each interactive figure, as a chapter opens it. A new figure is here by itself."""

from dataclasses import dataclass

from transformer_edu.book.figures import Figure, MergeStepper, NormPlacement, TokenBudgetBatches, assets

HOSTILE = "</b><img src=x onerror=alert(1)>&lt;"  # a token that tries to be markup
WRITTEN = assets.script_json(HOSTILE)[1:-1]  # as the state in a page holds it
TOKENS = {  # of figures that do not show a cat
    "cache-stepper": "chat",
    "context-explorer": "le petit chat noir ne dort pas",
    "head-atlas": "white",
    "mask-lab": "chien",
    "next-word": "·upon",
    "residual-stream": "chat",
    "sentence-translator": "·Stadt",
}
OF_TEXT = {
    "token-budget-batches": lambda: TokenBudgetBatches([f"{HOSTILE} the cat " * 3] * 2),
    "merge-stepper": lambda: MergeStepper(f"{HOSTILE} cat", step=36, new_word=HOSTILE),
    "norm-placement": lambda: NormPlacement(measure="length", tokens=(HOSTILE, "black")),
}
NUMBERS_ALONE = {  # or letters alone
    *(
        "block-years",
        "induction",
        "parameter-map",
        "path-length-racer",
        "position-explorer",
        "rotary-explorer",
        "reward",
        "running-cost",
    ),
    *("softmax-lab", "symptom-finder"),
}
# Controls that change nothing that is said but their own value, where a reader of the default state meets them.
QUIET = {}


@dataclass(frozen=True)
class Case:
    """A figure by its name."""

    name: str

    def make(self):
        return Figure.registry[self.name]()

    @property
    def quiet(self):
        return QUIET.get(self.name, [])

    def hostile(self):
        """The HTML with HOSTILE in place of a token."""
        if self.name in OF_TEXT:
            return OF_TEXT[self.name]().html()
        html, token = self.make().html(), f'"{TOKENS.get(self.name, "cat")}"'
        assert token in html, f"{self.name} shows no {token}: name a token of it in TOKENS"
        return html.replace(token, f'"{WRITTEN}"')


CASES = {name: Case(name) for name in sorted(Figure.registry)}
