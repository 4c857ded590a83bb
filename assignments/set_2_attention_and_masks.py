"""Problem set 2: attention and masks (chapters 6 and 7)."""

import torch

from transformer_edu.book.exercises.classroom.problems import Mistake, Problem, ProblemSet


def softmax_cases(numbers, choices):
    """Scores of ordinary size, and such that exp of them is infinite."""
    return {
        "examples": [(numbers.normal(2, 3),), (numbers.normal(1, 4, 2),)],
        "more dimensions": [(numbers.normal(2, 3, 4, 5),), (numbers.normal(7, 2),), (numbers.normal(3, 1, 6),)],
        "large scores": [(numbers.normal(3, 4, scale=1000.0),), (numbers.normal(2, 2) + 500.0,)],
    }


SOFTMAX = Problem(
    name="softmax",
    title="A softmax with a temperature",
    points={"examples": 1, "more dimensions": 2, "large scores": 1},
    slots={
        "temperature": [0.25, 0.5, 2.0, 3.0, 4.0],
        "dim": [
            {"code": "-2", "words": "the last dimension but one", "wrong": "-1"},
            {"code": "0", "words": "the **first** dimension", "wrong": "-1"},
        ],
    },
    statement=r"""
        Return `exp(scores / <<temperature>>)`, divided by its sum over <<dim.words>>, without calling a softmax that
        is there already. Scores may be so large that `exp` of them is infinite; the result is right all the same.
    """,
    head='''
def softmax(scores: torch.Tensor) -> torch.Tensor:
    """scores, of any shape with two or more dimensions -> weights that sum to 1 over dimension <<dim.code>>."""
''',
    body="""
    scores = scores / <<temperature>>
    largest = scores.amax(dim=<<dim.code>>, keepdim=True)
    powers = torch.exp(scores - largest)
    return powers / powers.sum(dim=<<dim.code>>, keepdim=True)
""",
    cases=softmax_cases,
    never=("softmax", "softmin", "attention"),
    mistakes=(
        Mistake(
            "large scores overflow",
            "torch.exp(scores - largest)",
            "torch.exp(scores)",
            "exp(89) is already too large for float32; infinity divided by infinity is NaN.",
            "Which number may you subtract from all scores without changing the result?",
            passes=("examples", "more dimensions"),
        ),
        Mistake(
            "the temperature is multiplied",
            "scores / <<temperature>>",
            "scores * <<temperature>>",
            "A high temperature makes weights more even: scores are divided by it.",
            "Do the scores grow or shrink with a temperature above 1?",
        ),
        Mistake(
            "the temperature is left out",
            "scores = scores / <<temperature>>",
            "scores = scores * 1",
            "This is the softmax at temperature 1.",
            "What are the scores divided by first?",
        ),
        Mistake(
            "the sum runs over everything",
            "powers.sum(dim=<<dim.code>>, keepdim=True)",
            "powers.sum()",
            "All weights together sum to 1, instead of those along one dimension.",
            "Print your result's sum over dimension <<dim.code>>.",
        ),
        Mistake(
            "it is the usual softmax, over the last dimension",
            """scores.amax(dim=<<dim.code>>, keepdim=True)
    powers = torch.exp(scores - largest)
    return powers / powers.sum(dim=<<dim.code>>, keepdim=True)""",
            """scores.amax(dim=-1, keepdim=True)
    powers = torch.exp(scores - largest)
    return powers / powers.sum(dim=-1, keepdim=True)""",
            "Here the weights sum to 1 over <<dim.words>>.",
            "Over which dimension should they sum to 1?",
        ),
    ),
)


def window_cases(numbers, choices):
    """Sentences shorter and longer than the window."""
    width = choices["width"]
    return {
        "examples": [(width + 4,), (2,)],
        "longer sentences": [(width + numbers.integer(4, 9),), (2 * width + 3,)],
        "one token": [(1,)],
    }


WINDOW = Problem(
    name="window_mask",
    title="A causal window",
    points={"examples": 1, "longer sentences": 2, "one token": 1},
    slots={"width": [2, 3, 4, 5], "sinks": [1, 2]},
    statement=r"""
        Each token may look at itself and at the **<<width>>** tokens before it, and never at what comes later. In
        addition, every token may look at the **first <<sinks>>** of the sentence, as far as that does not lie in its
        future. Return the mask `(size, size)`, boolean: `True` where the query of the row may look at the key of the
        column.
    """,
    head='''
def window_mask(size: int) -> torch.Tensor:
    """size -> boolean (size, size), True where the query (row) may look at the key (column)."""
''',
    body="""
    query = torch.arange(size).unsqueeze(1)
    key = torch.arange(size).unsqueeze(0)
    near = query - key <= <<width>>
    return (key <= query) & (near | (key < <<sinks>>))
""",
    cases=window_cases,
    mistakes=(
        Mistake(
            "the future is seen",
            "(key <= query) & (near | (key < <<sinks>>))",
            "near | (key < <<sinks>>)",
            "query - key is negative for later keys, and so never above the width.",
            "May row 0 look at column 1?",
            passes=("one token",),
        ),
        Mistake(
            "the window is one too narrow",
            "query - key <= <<width>>",
            "query - key < <<width>>",
            "The token itself is not counted among the <<width>> before it.",
            "How many keys may a token far inside the sentence look at, itself included?",
            passes=("one token",),
        ),
        Mistake(
            "a token does not see itself",
            "key <= query",
            "key < query",
            "The diagonal is False: the first token may look at nothing at all.",
            "What may the first token look at?",
        ),
        Mistake(
            "the first tokens are forgotten",
            "(near | (key < <<sinks>>))",
            "near",
            "Beyond the window the first <<sinks>> of the sentence are to be seen as well.",
            "What does the last row of a long sentence look like?",
            passes=("one token",),
        ),
        Mistake(
            "rows and columns have changed places",
            "query = torch.arange(size).unsqueeze(1)\n    key = torch.arange(size).unsqueeze(0)",
            "query = torch.arange(size).unsqueeze(0)\n    key = torch.arange(size).unsqueeze(1)",
            "The mask is transposed: rows are queries.",
            "Which row has a single True?",
            passes=("one token",),
        ),
        Mistake(
            "True stands for what is blocked",
            "return (key <= query) & (near | (key < <<sinks>>))",
            "return ~((key <= query) & (near | (key < <<sinks>>)))",
            "torch.nn.MultiheadAttention's masks are like that; ours are True where a look is allowed.",
            "Is the diagonal True?",
        ),
    ),
)


def bias_cases(numbers, choices):
    """Queries and keys of the same and of different numbers; heads that differ."""
    return {
        "examples": [(1, 4), (2, 3)],
        "more heads": [(4, 6), (8, numbers.integer(5, 9)), (3, 1)],
    }


BIAS = Problem(
    name="distance_bias",
    title="Far keys pay",
    points={"examples": 1, "more heads": 3},
    slots={"first": [0.5, 0.25, 2.0], "ratio": [{"code": "0.5", "words": "half"}, {"code": "2.0", "words": "twice"}]},
    statement=r"""
        A bias for the scores, `(heads, size, size)`: minus the distance of query and key, $-|i - j|$, times the slope
        of the head. The first head's slope is **<<first>>**, and each head's slope is **<<ratio.words>>** that of the
        head before.
    """,
    head='''
def distance_bias(heads: int, size: int) -> torch.Tensor:
    """heads, size -> (heads, size, size), to be added to scores."""
''',
    body="""
    slope = <<first>> * <<ratio.code>> ** torch.arange(heads).float()
    place = torch.arange(size)
    distance = (place.unsqueeze(1) - place.unsqueeze(0)).abs()
    return -slope[:, None, None] * distance
""",
    cases=bias_cases,
    mistakes=(
        Mistake(
            "far keys gain",
            "return -slope",
            "return slope",
            "The bias is positive: the farther a key, the more it is looked at.",
            "Which sign should the score of a far key get?",
        ),
        Mistake(
            "the distance has a sign",
            ".abs()",
            " * 1",
            "Later keys get a bonus and earlier ones a penalty.",
            "What is the distance of query 0 and key 2?",
        ),
        Mistake(
            "all heads have the first one's slope",
            "<<ratio.code>> ** torch.arange(heads).float()",
            "torch.ones(heads)",
            "The slope does not change from head to head.",
            "What is the slope of head 1?",
        ),
        Mistake(
            "the first head has the second one's slope",
            "torch.arange(heads).float()",
            "torch.arange(1, heads + 1).float()",
            "The exponent of the first head is 0, not 1.",
            "What is your slope for heads = 1?",
        ),
        Mistake(
            "the squared distance is taken",
            ".abs()",
            ".square()",
            "The bias falls with the square of the distance, not with the distance.",
            "How far apart are query 0 and key 3?",
        ),
    ),
)


def attention_cases(numbers, choices):
    """Without a mask, with one, and with queries that may look at nothing."""

    def case(q_len, k_len, width, *, mask=True, lead=()):
        query, key = numbers.normal(*lead, q_len, width), numbers.normal(*lead, k_len, width)
        value = numbers.normal(*lead, k_len, width + 1)
        allowed = numbers.integers(0, 1, *lead, q_len, k_len).bool() if mask else torch.ones(*lead, q_len, k_len).bool()
        allowed[..., 0] = True
        return query, key, value, allowed

    blind = case(3, 4, 2, lead=(2,))
    blind[3][0, 1] = False
    blind[3][1] = False
    return {
        "examples": [case(2, 3, 4), case(2, 2, 2, mask=False)],
        "batches and heads": [case(3, 5, 4, lead=(2, 2)), case(4, 4, 16, mask=False, lead=(1, 3)), case(1, 6, 9)],
        "queries that may look at nothing": [blind],
        "gradients": [case(3, 3, 4, lead=(2,))],
    }


ATTENTION = Problem(
    name="attention",
    title="Scaled dot-product attention, ours",
    points={"examples": 1, "batches and heads": 2, "queries that may look at nothing": 1, "gradients": 1},
    slots={
        "power": [{"code": "0.25", "words": "¼"}, {"code": "0.75", "words": "¾"}, {"code": "0.3", "words": "0.3"}],
        "extra": [{"code": "1.0", "words": "1"}, {"code": "math.e", "words": "e"}, {"code": "2.0", "words": "2"}],
    },
    statement=r"""
        `query` is `(..., q_len, d_head)`, `key` `(..., k_len, d_head)`, `value` `(..., k_len, d_value)`, and `mask`
        `(..., q_len, k_len)` is `True` where a look is allowed. Two things differ from the paper:

        - scores are divided by $d_\mathrm{head}^{<<power.code>>}$ and not by the root;
        - a query need not look at anything. Its weights are
          $e^{s_j} / (<<extra.words>> + \sum_k e^{s_k})$ over the allowed keys: the **<<extra.words>>** in the
          denominator takes what no key gets.

        Blocked keys get weight 0, and a query that may look at nothing returns zeros. Return the weighted sum of the
        values, `(..., q_len, d_value)`. Scores in the tests are small: nothing overflows.
    """,
    head='''
def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Shapes as above; mask (..., q_len, k_len), True where allowed -> (..., q_len, d_value)."""
''',
    body="""
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** <<power.code>>
    powers = scores.exp() * mask
    weights = powers / (<<extra.code>> + powers.sum(dim=-1, keepdim=True))
    return weights @ value
""",
    cases=attention_cases,
    gradient=True,
    mistakes=(
        Mistake(
            "the scores are not scaled",
            " / query.shape[-1] ** <<power.code>>",
            "",
            "The division by d_head to the power of <<power.code>> is missing.",
            "What are the dot products divided by?",
        ),
        Mistake(
            "the scores are divided by √d_head",
            "query.shape[-1] ** <<power.code>>",
            "query.shape[-1] ** 0.5",
            "That is the paper's divisor; this problem has another.",
            "Read the first of the two differences again.",
        ),
        Mistake(
            "the divisor is taken from the number of tokens",
            "query.shape[-1] **",
            "query.shape[-2] **",
            "shape[-2] is q_len: the scores change with the length of the sentence.",
            "At which place of the shape does d_head stand?",
        ),
        Mistake(
            "the weights sum to 1",
            "(<<extra.code>> + powers.sum(dim=-1, keepdim=True))",
            "powers.sum(dim=-1, keepdim=True).clamp(min=1e-9)",
            "This is the ordinary softmax: a query has to look at something.",
            "What stands in the denominator beside the sum?",
        ),
        Mistake(
            "the sum runs over the queries",
            "powers.sum(dim=-1, keepdim=True)",
            "powers.sum(dim=-2, keepdim=True)",
            "One query's weights are shared out among keys, so the sum runs over the last dimension.",
            "The powers are (..., q_len, k_len). Which dimension are the keys?",
        ),
        Mistake(
            "the mask is not used",
            "scores.exp() * mask",
            "scores.exp()",
            "Blocked keys get weight.",
            "Where does `mask` come into your function?",
        ),
        Mistake(
            "the mask is turned around",
            "scores.exp() * mask",
            "scores.exp() * ~mask",
            "True means that the look is allowed.",
            "Which keys have a power above 0 in your version?",
        ),
        Mistake(
            "blocked scores are 0",
            "powers = scores.exp() * mask",
            "powers = scores.masked_fill(~mask, 0.0).exp()",
            "exp(0) is 1: a score of 0 is an ordinary score.",
            "Which score makes exp(score) vanish?",
        ),
        Mistake(
            "it is the usual softmax, with -1e9 where a look is forbidden",
            "powers = scores.exp() * mask\n    weights = powers / (<<extra.code>> + powers.sum(dim=-1, keepdim=True))",
            "weights = torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1)",
            "The weights always sum to 1: a query that may look at nothing looks at everything, and equally.",
            "What are the weights of a query whose scores are all -1e9, and what should they be?",
        ),
        Mistake(
            "it is the usual softmax, with -inf where a look is forbidden",
            "powers = scores.exp() * mask\n    weights = powers / (<<extra.code>> + powers.sum(dim=-1, keepdim=True))",
            "weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)",
            "The weights always sum to 1, and for a query that may look at nothing 0 is divided by 0.",
            "What are the weights of a query whose scores are all -inf, and what should they be?",
        ),
        Mistake(
            "the mask comes after the division",
            "powers = scores.exp() * mask\n    weights = powers / (<<extra.code>> + powers.sum(dim=-1, keepdim=True))",
            "powers = scores.exp()\n    weights = mask * powers / (<<extra.code>> + powers.sum(dim=-1, keepdim=True))",
            "The blocked keys have taken their share of the denominator before they are put out.",
            "Must a blocked key count in the sum?",
        ),
        Mistake(
            "the gradient of the weights is cut off",
            "return weights @ value",
            "return weights.detach() @ value",
            "The output is right, and query and key never learn: nothing flows back through the weights.",
            "Is there a detach(), .data, torch.tensor(...) or no_grad on the way?",
        ),
    ),
)


def heads_cases(numbers, choices):
    """Vectors to be dealt out to heads, widths that tell the layouts apart."""
    return {
        "examples": [(numbers.normal(1, 2, 4), 2), (numbers.normal(1, 1, 6), 3)],
        "batches": [(numbers.normal(2, 3, 8), 2), (numbers.normal(3, 5, 12), 4), (numbers.normal(2, 2, 6), 1)],
        "as many heads as tokens": [(numbers.normal(2, 4, 8), 4)],
    }


HEADS = Problem(
    name="deal_out",
    title="Deal the features out to heads",
    points={"examples": 1, "batches": 2, "as many heads as tokens": 1},
    slots={
        "order": [
            {
                "words": "head 0 gets features 0, h, 2h, …; head 1 gets 1, h + 1, 2h + 1, …",
                "code": "",
                "flipped": ".flip(1)",
            },
            {
                "words": "as cards are dealt, beginning with the **last** head: head h − 1 gets features 0, h, 2h, …; "
                "head h − 2 gets 1, h + 1, 2h + 1, …; head 0 gets h − 1, 2h − 1, …",
                "code": ".flip(1)",
                "flipped": "",
            },
        ],
    },
    statement=r"""
        `x` is `(batch, len, d_model)`. With `h` heads, return `(batch, h, len, d_model / h)`. The features are not
        cut into blocks, as in the book, but dealt out: <<order.words>>. Within a head the features keep their order.

        If `d_model` cannot be dealt out evenly, raise a `ValueError`.
    """,
    head='''
def deal_out(x: torch.Tensor, h: int) -> torch.Tensor:
    """x (batch, len, d_model), h heads -> (batch, h, len, d_model / h)."""
''',
    body="""
    batch, length, d_model = x.shape
    if d_model % h:
        raise ValueError(f"d_model must be a multiple of h, got {d_model} and {h}")
    dealt = x.reshape(batch, length, d_model // h, h)
    return dealt.permute(0, 3, 1, 2)<<order.code>>
""",
    cases=heads_cases,
    mistakes=(
        Mistake(
            "the features are cut into blocks",
            "x.reshape(batch, length, d_model // h, h)",
            "x.reshape(batch, length, h, d_model // h).transpose(2, 3)",
            "That is the book's layout: head 0 gets the first d_model / h features.",
            "Which features does head 0 get here?",
        ),
        Mistake(
            "the heads are in the other order",
            "<<order.code>>",
            "<<order.flipped>>",
            "Every head has the right features, and the heads stand in reverse.",
            "Which head gets feature 0?",
        ),
        Mistake(
            "it is cut anew, not transposed",
            "x.reshape(batch, length, d_model // h, h)\n    return dealt.permute(0, 3, 1, 2)",
            "x.reshape(batch, h, length, d_model // h)\n    return dealt",
            "reshape keeps the numbers in their order: a head then holds pieces of different tokens.",
            "Which numbers of x does head 0 of token 0 hold?",
        ),
        Mistake(
            "heads and tokens have changed places",
            "dealt.permute(0, 3, 1, 2)<<order.code>>",
            "dealt.permute(0, 1, 3, 2)<<order.code>>",
            "The shape is (batch, len, h, d_head): each head should hold the whole sentence.",
            "Which shape should come out?",
        ),
    ),
)

SET = ProblemSet(
    number=2,
    title="attention and masks",
    introduction="""
Who may look at whom, and what comes of it (chapters 6 and 7). Each function differs from the book's in something: read
what is asked.
""",
    problems=(SOFTMAX, WINDOW, BIAS, ATTENTION, HEADS),
)
