"""Problem set 1: embeddings and positions (chapters 3 and 4)."""

import torch

from transformer_edu.book.exercises.classroom.problems import Mistake, Problem, ProblemSet


def merge_cases(numbers, choices):
    """Texts in which a pair stands often, overlaps with itself, or is not there."""

    def text(length):
        return ["abc"[place] for place in numbers.integers(0, 2, length).tolist()]

    hidden = [(text(12), ["a", "b"]), (text(15), ["c", "c"]), (text(20), ["b", "a"])]
    return {
        "examples": [(list("abcab"), ["a", "b"]), (list("caaab"), ["a", "a"])],
        "longer texts": [*hidden, (list("abcabc"), ["b", "b"])],
        "a pair of the same letter": [(list(text), ["a", "a"]) for text in ("aaa", "aaaa", "aaaaa", "baaab")],
    }


LOOKING_LEFT = """
    merged = []
    at = len(tokens) - 1
    while at >= 0:
        if at > 0 and [tokens[at - 1], tokens[at]] == list(pair):
            merged.append(tokens[at - 1] + "<<mark>>" + tokens[at])
            at -= 2
        else:
            merged.append(tokens[at])
            at -= 1
    return merged[::-1]
"""
LOOKING_RIGHT = """
    merged = []
    at = 0
    while at < len(tokens):
        if tokens[at : at + 2] == list(pair):
            merged.append(tokens[at] + "<<mark>>" + tokens[at + 1])
            at += 2
        else:
            merged.append(tokens[at])
            at += 1
    return merged
"""
MERGE = Problem(
    name="merge_pair",
    title="Merge a pair of tokens",
    points={"examples": 1, "longer texts": 2, "a pair of the same letter": 1},
    slots={
        "mark": ["_", "+", "·", "~"],
    },
    statement=r"""
        Byte-pair encoding puts two neighbouring tokens together. Ours joins them **with a `<<mark>>` between**, so
        that one still sees where they were joined, and it looks for them **from right to left**: in `['a', 'a', 'a']`
        the *last* two are the first pair that it finds. No token takes part in two merges, and a `<<mark>>` that is
        already in a token means nothing.

        The tokens come back in the order of the text; the list that was given is left as it is.
    """,
    head='''
def merge_pair(tokens: list[str], pair: list[str]) -> list[str]:
    """Join every occurrence of `pair` in `tokens`, looking from right to left, with "<<mark>>" between the two."""
''',
    body=LOOKING_LEFT,
    cases=merge_cases,
    mistakes=(
        Mistake(
            "the two are joined with nothing between",
            'tokens[at - 1] + "<<mark>>" + tokens[at]',
            "tokens[at - 1] + tokens[at]",
            "The mark between the two parts is missing.",
            'What should stand between "a" and "b"?',
        ),
        Mistake(
            "the tokens come back in reverse",
            "merged[::-1]",
            "merged",
            "Whoever looks from right to left collects from right to left; the text reads from left to right.",
            "Print what you collect, before you return it.",
        ),
        Mistake(
            "a merged token is used once more",
            "at -= 2",
            "at -= 1",
            "After a merge two tokens are used up, not one: the left one is found again and written twice.",
            "How many tokens has a merge used?",
        ),
        Mistake(
            "it looks from left to right",
            LOOKING_LEFT,
            LOOKING_RIGHT,
            "Of three equal tokens the first two are merged, and not the last two.",
            "Which pair does your loop find first in ['a', 'a', 'a']?",
        ),
        Mistake(
            "the first token is never looked at",
            "while at >= 0:",
            "while at > 0:",
            "The loop ends before it has come to place 0.",
            "What is the last value of `at` for which your loop runs?",
        ),
    ),
)


def embed_cases(numbers, choices):
    """Ids with and without padding, and tables of several widths."""

    def case(vocab, width, *shape):
        return numbers.integers(0, vocab - 1, *shape), numbers.normal(vocab, width)

    pad = choices["pad"]
    padded, table = case(9, 4, 2, 5)
    padded[0, 3:] = pad
    padded[1, 4:] = pad
    first, other = case(7, 4, 1, 3)
    first[0, 2] = pad
    return {
        "examples": [(first, other)],
        "sentences without padding": [(ids.clamp(min=5), one) for ids, one in (case(9, 6, 3, 4), case(8, 16, 1, 6))],
        "padding": [(padded, table)],
    }


EMBED = Problem(
    name="embed",
    title="From ids to vectors",
    points={"examples": 1, "sentences without padding": 2, "padding": 1},
    slots={"pad": [1, 2, 3, 4], "power": [{"code": "0.25", "words": "¼"}, {"code": "0.75", "words": "¾"}]},
    statement=r"""
        `table` has one row for each token of the vocabulary, `(vocab, d_model)`; `ids` is `(batch, len)`. Return
        `(batch, len, d_model)`: the row of each id, **times $d_\mathrm{model}^{<<power.code>>}$** (not the square
        root that the paper takes). Padding, whose id is **<<pad>>**, becomes a vector of zeros, through which no
        gradient comes back to the table.
    """,
    head='''
def embed(ids: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """ids (batch, len), table (vocab, d_model) -> (batch, len, d_model); rows of padding (id <<pad>>) are zeros."""
''',
    body="""
    d_model = table.shape[-1]
    rows = table[ids] * d_model**<<power.code>>
    return rows * (ids != <<pad>>).unsqueeze(-1)
""",
    cases=embed_cases,
    gradient=True,
    mistakes=(
        Mistake(
            "the rows are not scaled",
            " * d_model**<<power.code>>",
            "",
            "The factor is missing: beside the positions, the embeddings would be too small.",
            "What are the rows multiplied by?",
        ),
        Mistake(
            "the rows are multiplied by √d_model",
            "d_model**<<power.code>>",
            "d_model**0.5",
            "That is the paper's factor; this problem asks for another power.",
            "Read the statement's power once more.",
        ),
        Mistake(
            "the rows are divided by the factor",
            "* d_model**<<power.code>>",
            "/ d_model**<<power.code>>",
            "Embeddings start small and are made larger, not smaller.",
            "Should the vectors grow or shrink with d_model?",
        ),
        Mistake(
            "padding keeps its row of the table",
            "rows * (ids != <<pad>>).unsqueeze(-1)",
            "rows",
            "Padding is a token like any other here, with a vector of its own.",
            "What should the vector of id <<pad>> be?",
            passes=("sentences without padding",),
        ),
        Mistake(
            "only padding is kept",
            "ids != <<pad>>",
            "ids == <<pad>>",
            "The mask is turned around: it is 1 where the zeros should be.",
            "For which ids should the factor be 1?",
        ),
        Mistake(
            "the gradient is cut off",
            "table[ids]",
            "table.detach()[ids]",
            "The numbers are right, and nothing flows back: a table that gets no gradient does not learn.",
            "Is there a detach(), .data, torch.tensor(...) or no_grad between the table and what you return?",
        ),
    ),
)


def table_cases(numbers, choices):
    """Tables of several sizes; long ones, where the base shows."""
    return {
        "examples": [(3, 4), (2, 6)],
        "other sizes": [(numbers.integer(5, 9), 8), (numbers.integer(10, 20), 2), (1, 12)],
        "long tables": [(numbers.integer(150, 200), 16), (numbers.integer(300, 400), 10)],
    }


TABLE = Problem(
    name="position_table",
    title="Sines and cosines",
    points={"examples": 1, "other sizes": 2, "long tables": 1},
    slots={
        "base": [500, 1000, 2000, 5000, 20000],
        "order": [
            {
                "words": "the first half of the columns are the **sines**, the second half the **cosines**",
                "code": "[angles.sin(), angles.cos()]",
                "swapped": "[angles.cos(), angles.sin()]",
            },
            {
                "words": "the first half of the columns are the **cosines**, the second half the **sines**",
                "code": "[angles.cos(), angles.sin()]",
                "swapped": "[angles.sin(), angles.cos()]",
            },
        ],
        "start": [1, 2, 5],
    },
    statement=r"""
        A table of positions `(max_len, d_model)` as in the paper, with three changes. The base is **<<base>>** and
        not 10,000. The first row is position **<<start>>** and not 0. And sines and cosines do not alternate:
        <<order.words>>.

        Pair $i$ (for $i = 0 \dots d_\mathrm{model}/2 - 1$) has the angle $\mathrm{pos} \cdot
        <<base>>^{-2i/d_\mathrm{model}}$.
    """,
    head='''
def position_table(max_len: int, d_model: int) -> torch.Tensor:
    """Positions from <<start>> on -> (max_len, d_model)."""
''',
    body="""
    position = torch.arange(<<start>>, <<start>> + max_len).float().unsqueeze(1)  # (max_len, 1)
    pair = torch.arange(d_model // 2).float()  # (d_model / 2,)
    angles = position * <<base>> ** (-2 * pair / d_model)
    return torch.cat(<<order.code>>, dim=-1)
""",
    cases=table_cases,
    mistakes=(
        Mistake(
            "the exponent lacks its factor 2",
            "-2 * pair / d_model",
            "-pair / d_model",
            "With i / d_model the slowest pair turns with the root of the base only.",
            "What is the exponent of the last pair, in the formula and in your code?",
        ),
        Mistake(
            "the exponent has the wrong sign",
            "-2 * pair / d_model",
            "2 * pair / d_model",
            "The angles grow from pair to pair, and every pair but the first turns many times between two positions.",
            "Should the last pair turn fast or slowly?",
        ),
        Mistake(
            "the positions start at 0",
            "torch.arange(<<start>>, <<start>> + max_len)",
            "torch.arange(max_len)",
            "The first row is position <<start>> here.",
            "Which number does your first row use?",
        ),
        Mistake(
            "sines and cosines have changed places",
            "<<order.code>>",
            "<<order.swapped>>",
            "Both halves are there, in the other order.",
            "Which of the two comes first? At small angles a sine is near 0.",
        ),
        Mistake(
            "the base is the paper's",
            "<<base>> ** (",
            "10000.0 ** (",
            "10,000 is the paper's base; this problem asks for <<base>>.",
            "Which number is raised to a power?",
        ),
        Mistake(
            "sines and cosines take turns",
            "torch.cat(<<order.code>>, dim=-1)",
            "torch.stack(<<order.code>>, dim=-1).flatten(1)",
            "That is the paper's layout; here each half of the columns is of one kind.",
            "What should the first d_model / 2 columns be?",
        ),
    ),
)


def add_cases(numbers, choices):
    """Sentences with different numbers of pads on the left."""

    def case(batch, length, width):
        pads = numbers.integers(0, length - 1, batch)
        return numbers.normal(batch, length, width), pads, numbers.normal(length + 3, width)

    x, _, table = case(2, 4, 2)
    return {
        "examples": [(x, torch.tensor([0, 2]), table), (x, numbers.integers(1, 2, 2), table)],
        "batches": [case(3, 5, 4), case(4, 7, 2)],
        "gradients": [case(2, 6, 4)],
    }


ADD = Problem(
    name="add_positions",
    title="Positions of sentences that are padded on the left",
    points={"examples": 1, "batches": 3, "gradients": 1},
    slots={"factor": ["0.5", "2.0", "0.1", "3.0"]},
    statement=r"""
        `x` is `(batch, len, d_model)`; sentence `b` has `pads[b]` tokens of padding **on its left**. Its first real
        token is at position 0, the next at position 1, and so on, so that a sentence gets the same positions however
        far it is padded. Add the row of `table` that belongs to each real token, **times <<factor>>**. Padding stays
        as it is.

        `table` has at least `len` rows. The arguments are left unchanged.
    """,
    head='''
def add_positions(x: torch.Tensor, pads: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """x (batch, len, d_model), pads (batch,) of whole numbers, table (at least len, d_model) -> as x."""
''',
    body="""
    place = torch.arange(x.shape[1]) - pads.unsqueeze(1)  # (batch, len); below 0 at padding
    real = (place >= 0).unsqueeze(-1)
    return x + <<factor>> * table[place.clamp(min=0)] * real
""",
    cases=add_cases,
    gradient=True,
    mistakes=(
        Mistake(
            "positions are counted from the left edge",
            " - pads.unsqueeze(1)",
            " + 0 * pads.unsqueeze(1)",
            "The pads are counted as if they were words.",
            "At which place of its row does sentence b begin?",
        ),
        Mistake(
            "the first sentence's padding is taken for all",
            " - pads.unsqueeze(1)",
            " - pads[:1].unsqueeze(1)",
            "Each sentence of the batch has its own number of pads.",
            "What is place[1], the second sentence's?",
        ),
        Mistake(
            "padding gets a position as well",
            " * real",
            "",
            "Padding has no place in the sentence; here it is given that of the first word.",
            "What should be added where place is below 0?",
        ),
        Mistake(
            "negative places take rows from the table's end",
            "table[place.clamp(min=0)] * real",
            "table[place]",
            "An index of -1 is the last row: padding gets the positions of the far end.",
            "What does table[-1] give in Python?",
        ),
        Mistake(
            "the factor is missing",
            "<<factor>> * ",
            "",
            "The rows of the table are added as they are.",
            "What are the positions multiplied by?",
        ),
        Mistake(
            "x is changed in place",
            "return x + <<factor>> * table[place.clamp(min=0)] * real",
            "with torch.no_grad():\n        x += <<factor>> * table[place.clamp(min=0)] * real\n    return x * 1.0",
            "`+=` writes into the caller's tensor: whoever passed x finds it changed.",
            "Does the line make a new tensor?",
        ),
    ),
)


def turn_cases(numbers, choices):
    """Encodings of random positions, to be moved by several steps."""

    def encoding(low, high, count, d_model):
        places = numbers.integers(low, high, count).float().unsqueeze(1)
        angles = places * choices["base"] ** (-2 * torch.arange(d_model // 2).float() / d_model)
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)

    return {
        "examples": [(encoding(0, 5, 2, 4), 1), (encoding(0, 5, 1, 2), 2)],
        "steps forward": [(encoding(0, 50, 3, 8), numbers.integer(3, 30)), (encoding(0, 50, 2, 6), 1)],
        "steps back": [(encoding(20, 50, 3, 6), -numbers.integer(3, 15))],
    }


TURN = Problem(
    name="move",
    title="Move an encoding without knowing its position",
    points={"examples": 1, "steps forward": 2, "steps back": 1},
    slots={"base": [300, 800, 3000, 6000, 15000]},
    statement=r"""
        `encoding` is `(count, d_model)`: positional encodings as in the paper (sine and cosine of one angle side by
        side), but with base **<<base>>**. Nobody tells you at which positions they are. Return the encodings of the
        positions `steps` further on; a negative number of steps goes back. Pair $i$ is turned by $\mathrm{steps}
        \cdot <<base>>^{-2i/d_\mathrm{model}}$, whatever its position:

        $$\sin(a + b) = \sin a \cos b + \cos a \sin b, \qquad \cos(a + b) = \cos a \cos b - \sin a \sin b$$
    """,
    head='''
def move(encoding: torch.Tensor, steps: int) -> torch.Tensor:
    """encoding (count, d_model) of unknown positions, base <<base>> -> those of the positions `steps` further on."""
''',
    body="""
    d_model = encoding.shape[-1]
    angle = steps * <<base>> ** (-2 * torch.arange(d_model // 2).float() / d_model)
    sine, cosine = encoding[:, 0::2], encoding[:, 1::2]
    moved_sine = sine * angle.cos() + cosine * angle.sin()
    moved_cosine = cosine * angle.cos() - sine * angle.sin()
    return torch.stack([moved_sine, moved_cosine], dim=-1).flatten(1)
""",
    cases=turn_cases,
    mistakes=(
        Mistake(
            "it turns backwards",
            "angle = steps * ",
            "angle = -steps * ",
            "The pairs are turned by minus the angle: the position grows smaller.",
            "What should move(encoding of 0, 1) be?",
        ),
        Mistake(
            "sine and cosine are taken for each other",
            "sine, cosine = encoding[:, 0::2], encoding[:, 1::2]",
            "cosine, sine = encoding[:, 0::2], encoding[:, 1::2]",
            "Column 0 is a sine and column 1 a cosine, as in the paper.",
            "What is the encoding of position 0?",
        ),
        Mistake(
            "the halves are taken for pairs",
            "encoding[:, 0::2], encoding[:, 1::2]",
            "encoding[:, : d_model // 2], encoding[:, d_model // 2 :]",
            "Here sine and cosine of one angle stand side by side.",
            "Which columns belong to pair 1?",
        ),
        Mistake(
            "every pair is turned by the same angle",
            "angle = steps * <<base>> ** (-2 * torch.arange(d_model // 2).float() / d_model)",
            "angle = torch.full((d_model // 2,), float(steps))",
            "Only the first pair turns by one radian a step; each of the others has its own, smaller angle.",
            "By how much does pair i turn from one position to the next?",
        ),
        Mistake(
            "the base is the paper's",
            "<<base>> ** (",
            "10000.0 ** (",
            "10,000 is the paper's base; these encodings were made with <<base>>.",
            "Which angle has the last pair?",
        ),
        Mistake(
            "the steps are always taken forwards",
            "angle = steps * ",
            "angle = abs(steps) * ",
            "A negative number of steps goes back.",
            "What should become of -3 steps?",
            passes=("examples", "steps forward"),
        ),
    ),
)

SET = ProblemSet(
    number=1,
    title="embeddings and positions",
    introduction="""
From text to vectors that know their place (chapters 3 and 4). The functions are close to those of the book, and each
differs from it in something: read what is asked.
""",
    problems=(MERGE, EMBED, TABLE, ADD, TURN),
)
