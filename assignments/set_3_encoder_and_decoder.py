"""Problem set 3: encoder and decoder (chapters 5, 8, 9, 10 and 11)."""

from transformer_edu.book.exercises.classroom.problems import Mistake, Problem, ProblemSet

MATRICES = ("query", "key", "value", "output")
GIVEN = """
def scale(x: torch.Tensor) -> torch.Tensor:
    \"\"\"x (..., d_model), each vector divided by its root mean square. Use it where a layer has to be scaled.\"\"\"
    return x / (x.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()


def look(x: torch.Tensor, source: torch.Tensor, weights: dict, mask: torch.Tensor) -> torch.Tensor:
    \"\"\"Attention with one head: x (batch, q_len, d_model) asks, source (batch, k_len, d_model) answers.

    weights has "query", "key", "value" and "output", each (d_model, d_model); mask is (batch, q_len, k_len), True where
    a look is allowed.
    \"\"\"
    query, key, value = x @ weights["query"], source @ weights["key"], source @ weights["value"]
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    return scores.masked_fill(~mask, -1e9).softmax(dim=-1) @ value @ weights["output"]
"""


def norm_cases(numbers, choices):
    """Vectors of several widths; ones that hardly vary, where eps shows."""

    def case(*shape, scale=1.0):
        width = shape[-1]
        return (
            numbers.normal(*shape, scale=scale),
            1 + numbers.normal(width, scale=0.5),
            numbers.normal(width, scale=0.5),
        )

    return {
        "examples": [case(2, 4), case(1, 2, 3, scale=3.0)],
        "other shapes": [case(2, 3, 8), case(5, 2), case(2, 2, 2, 6, scale=5.0)],
        "vectors that hardly vary": [case(3, 4, scale=0.1), case(2, 6, scale=0.05)],
        "gradients": [case(2, 5)],
    }


NORM = Problem(
    name="layer_norm",
    title="A layer normalization",
    points={"examples": 1, "other shapes": 2, "vectors that hardly vary": 1, "gradients": 1},
    slots={
        "eps": ["0.01", "0.05", "0.1"],
        "count": [{"code": "n - 1", "words": "n − 1"}, {"code": "n + 1", "words": "n + 1"}],
    },
    statement=r"""
        For each vector of `x`, `(..., n)`, let $\mu$ be its mean and $\sigma = \sqrt{\frac{1}{<<count.code>>} \sum_i
        (x_i - \mu)^2}$: the sum is divided by **<<count.words>>**. Return $\gamma \, (x - \mu) / (\sigma + <<eps>>) +
        \beta$: <<eps>> is added **outside** the root. `gamma` and `beta` are `(n,)`.
    """,
    head='''
def layer_norm(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    """x (..., n), gamma (n,), beta (n,) -> (..., n)."""
''',
    body="""
    n = x.shape[-1]
    centred = x - x.mean(dim=-1, keepdim=True)
    sigma = (centred.square().sum(dim=-1, keepdim=True) / (<<count.code>>)).sqrt()
    return gamma * centred / (sigma + <<eps>>) + beta
""",
    cases=norm_cases,
    gradient=True,
    mistakes=(
        Mistake(
            "the sum of squares is divided by n",
            "(<<count.code>>)",
            "n",
            "That is the variance of torch.nn.LayerNorm; here the sum is divided by <<count.words>>.",
            "By what is the sum of squares divided?",
        ),
        Mistake(
            "eps stands under the root",
            "sigma = (centred.square().sum(dim=-1, keepdim=True) / (<<count.code>>)).sqrt()\n"
            "    return gamma * centred / (sigma + <<eps>>) + beta",
            "variance = centred.square().sum(dim=-1, keepdim=True) / (<<count.code>>)\n"
            "    return gamma * centred / (variance + <<eps>>).sqrt() + beta",
            "That is PyTorch's place for it; here it is added to the standard deviation itself.",
            "Is eps added before or after the root is taken?",
        ),
        Mistake(
            "eps is left out",
            "(sigma + <<eps>>)",
            "sigma",
            "Vectors that hardly vary are blown up.",
            "What is added to the standard deviation?",
        ),
        Mistake(
            "the mean is not subtracted",
            "centred = x - x.mean(dim=-1, keepdim=True)",
            "centred = x",
            "What is divided is x itself: that is the beginning of RMSNorm.",
            "What is the mean of each vector of your output, with gamma 1 and beta 0?",
        ),
        Mistake(
            "the statistics run over all of x",
            "x.mean(dim=-1, keepdim=True)",
            "x.mean()",
            "One mean for all vectors: a sentence's result then depends on the others.",
            "How many means should (2, 4) have?",
        ),
        Mistake(
            "gamma is used before the division by its own scale",
            "gamma * centred / (sigma + <<eps>>) + beta",
            "(centred / (sigma + <<eps>>) + beta) * gamma",
            "beta is multiplied by gamma as well.",
            "In which order come gamma and beta?",
        ),
        Mistake(
            "the statistics get no gradient",
            "sigma = (centred.square().sum(dim=-1, keepdim=True) / (<<count.code>>)).sqrt()",
            "sigma = (centred.square().sum(dim=-1, keepdim=True) / (<<count.code>>)).sqrt().detach()",
            "The numbers are right, and the gradient is that of another function: the standard deviation depends on x.",
            "Is there a detach() or no_grad around the statistics?",
        ),
    ),
)


def feed_cases(numbers, choices):
    """Layers of several widths."""

    def case(width, inner, *lead):
        w1, w2 = numbers.normal(width, inner), numbers.normal(inner, width)
        return numbers.normal(*lead, width), w1, numbers.normal(inner), w2, numbers.normal(width)

    return {
        "examples": [case(2, 3, 1), case(3, 4, 2, 2)],
        "other widths": [case(4, 16, 2, 3), case(6, 2, 5), case(1, 8, 1, 1, 2)],
        "gradients": [case(3, 5, 4)],
    }


FEED = Problem(
    name="feed_forward",
    title="The feed-forward network with another bend",
    points={"examples": 1, "other widths": 2, "gradients": 1},
    slots={
        "bend": [
            {"words": "$f(z) = z^2$ for $z > 0$ and $f(z) = 0$ for $z < 0$", "code": ".relu().square()"},
            {"words": "$f(z) = z$ from 0 to 1, $f(z) = 0$ below and $f(z) = 1$ above", "code": ".clamp(0.0, 1.0)"},
            {
                "words": "$f(z) = z$ for $z > 0$ and $f(z) = z / 5$ for $z < 0$",
                "code": ".maximum(0.2 * (x @ w1 + b1))",
            },
            {"words": "$f(z) = |z|$", "code": ".abs()"},
        ],
    },
    statement=r"""
        Multiply `x`, `(..., d_model)`, by `w1`, `(d_model, d_ff)`, and add `b1`. In place of the paper's ReLU comes
        <<bend.words>>. Multiply by `w2`, `(d_ff, d_model)`, and add `b2`.
    """,
    head='''
def feed_forward(
    x: torch.Tensor, w1: torch.Tensor, b1: torch.Tensor, w2: torch.Tensor, b2: torch.Tensor
) -> torch.Tensor:
    """x (..., d_model), w1 (d_model, d_ff), b1 (d_ff,), w2 (d_ff, d_model), b2 (d_model,) -> (..., d_model)."""
''',
    body="""
    inner = (x @ w1 + b1)<<bend.code>>
    return inner @ w2 + b2
""",
    cases=feed_cases,
    gradient=True,
    mistakes=(
        Mistake(
            "it is ReLU after all",
            "(x @ w1 + b1)<<bend.code>>",
            "(x @ w1 + b1).relu()",
            "The paper's ReLU is not what is asked for.",
            "What should become of -1, and of 2?",
        ),
        Mistake(
            "there is no bend",
            "(x @ w1 + b1)<<bend.code>>",
            "x @ w1 + b1",
            "Two linear maps after each other are one linear map.",
            "What stands between the two products?",
        ),
        Mistake(
            "the bend comes last",
            "inner = (x @ w1 + b1)<<bend.code>>\n    return inner @ w2 + b2",
            "return ((x @ w1 + b1).relu() @ w2 + b2).relu()",
            "The output is bent as well; it should be free to be negative.",
            "What stands between the two products, and what after them?",
        ),
        Mistake(
            "the first bias is added after the bend",
            "(x @ w1 + b1)<<bend.code>>",
            "(x @ w1).relu() + b1",
            "The bias moves the place of the bend only if it is added before.",
            "When is b1 added?",
        ),
        Mistake(
            "the second bias is forgotten",
            "inner @ w2 + b2",
            "inner @ w2",
            "b2 is not used.",
            "Which argument have you not used?",
        ),
    ),
)


def weights(numbers, width, *parts):
    """Matrices for `look`, by part, and those of a feed-forward network."""
    made = {part: {name: numbers.normal(width, width, scale=0.7) for name in MATRICES} for part in parts}
    made["feed"] = {"in": numbers.normal(width, 2 * width), "out": numbers.normal(2 * width, width)}
    return made


def encoder_cases(numbers, choices):
    """Sentences with and without padding."""

    def case(batch, length, width):
        mask = numbers.integers(0, 3, batch, length, length) > 0
        mask[..., 0], mask[..., -1] = True, False
        return numbers.normal(batch, length, width), weights(numbers, width, "self"), mask

    return {
        "examples": [case(1, 3, 2)],
        "batches with padding": [case(2, 4, 4), case(3, 3, 6)],
        "gradients": [case(1, 3, 4)],
    }


PLACES = [
    {
        "words": "the input of each part is scaled before it enters, for queries, keys and values alike; what the part "
        "returns is added to the "
        "unscaled input; the output of the layer is not scaled",
        "first": 'x + look(scale(x), scale(x), weights["self"], mask)',
        "second": "x + network(scale(x))",
        "cross": 'x + look(scale(x), memory, weights["cross"], memory_mask)',
        "plain": 'x = x + look(x, x, weights["self"], mask)',
        "lost": 'x = look(scale(x), scale(x), weights["self"], mask)',
    },
    {
        "words": "what each part returns is scaled before it is added to the input; sums are not scaled",
        "first": 'x + scale(look(x, x, weights["self"], mask))',
        "second": "x + scale(network(x))",
        "cross": 'x + scale(look(x, memory, weights["cross"], memory_mask))',
        "plain": 'x = x + look(x, x, weights["self"], mask)',
        "lost": 'x = scale(look(x, x, weights["self"], mask))',
    },
    {
        "words": "each sum is scaled, and then half of the part's input is added once more",
        "first": 'scale(x + look(x, x, weights["self"], mask)) + x / 2',
        "second": "scale(x + network(x)) + x / 2",
        "cross": 'scale(x + look(x, memory, weights["cross"], memory_mask)) + x / 2',
        "plain": 'x = x + look(x, x, weights["self"], mask)',
        "lost": 'x = scale(look(x, x, weights["self"], mask)) + x / 2',
    },
]

ENCODER = Problem(
    name="encoder_layer",
    title="A layer of the encoder",
    points={"examples": 1, "batches with padding": 2, "gradients": 1},
    slots={"place": PLACES},
    given=GIVEN,
    statement=r"""
        Put a layer together from `look` (attention with one head) and `scale` (a normalization without weights),
        which the next cell defines, and a feed-forward network: `relu(x @ weights["feed"]["in"]) @
        weights["feed"]["out"]`. First comes self-attention with `weights["self"]`, then the network. Around each of
        the two is a residual connection: <<place.words>>.
    """,
    head='''
def encoder_layer(x: torch.Tensor, weights: dict, mask: torch.Tensor) -> torch.Tensor:
    """x (batch, len, d_model), mask (batch, len, len), True where a look is allowed -> (batch, len, d_model)."""
''',
    body="""
    def network(x):
        return (x @ weights["feed"]["in"]).relu() @ weights["feed"]["out"]

    x = <<place.first>>
    return <<place.second>>
""",
    cases=encoder_cases,
    gradient=True,
    mistakes=(
        Mistake(
            "it is the paper's layer",
            "x = <<place.first>>\n    return <<place.second>>",
            'x = scale(x + look(x, x, weights["self"], mask))\n    return scale(x + network(x))',
            "The paper scales each sum, and does nothing else. Here the scaling has another place.",
            "What exactly is handed to scale()?",
        ),
        Mistake(
            "nothing is scaled around the attention",
            "x = <<place.first>>",
            "<<place.plain>>",
            "Only the network's residual connection is as asked.",
            "How often does scale() stand in your function?",
        ),
        Mistake(
            "the residual connection of the attention is missing",
            "x = <<place.first>>",
            "<<place.lost>>",
            "What the attention returns takes the place of x, instead of being added to it.",
            "Where is x added to what the attention returns?",
        ),
        Mistake(
            "the mask is not handed on",
            "x = <<place.first>>",
            "mask = mask | True\n    x = <<place.first>>",
            "Padding is looked at.",
            "Where does `mask` come into your function?",
        ),
        Mistake(
            "the network comes before the attention",
            "x = <<place.first>>\n    return <<place.second>>",
            "x = <<place.second>>\n    return <<place.first>>",
            "First the tokens look at each other, then each thinks by itself.",
            "Which of the two parts comes first?",
        ),
        Mistake(
            "there is no bend in the network",
            '(x @ weights["feed"]["in"]).relu()',
            'x @ weights["feed"]["in"]',
            "Without ReLU the network is one linear map.",
            "What stands between its two products?",
        ),
    ),
)


def decoder_cases(numbers, choices):
    """Targets and memories of different lengths."""

    def case(batch, length, source, width):
        x, memory = numbers.normal(batch, length, width), numbers.normal(batch, source, width)
        memory_mask = numbers.integers(0, 3, batch, 1, source) > 0
        memory_mask[..., 0], memory_mask[..., -1] = True, False
        return x, memory, weights(numbers, width, "self", "cross"), memory_mask.expand(batch, length, source).clone()

    return {
        "examples": [case(1, 2, 3, 2)],
        "batches with padding": [case(2, 4, 3, 4), case(2, 2, 5, 6)],
        "gradients": [case(1, 3, 3, 4)],
    }


DECODER = Problem(
    name="decoder_layer",
    title="A layer of the decoder",
    points={"examples": 1, "batches with padding": 2, "gradients": 1},
    slots={"place": PLACES},
    statement=r"""
        Like problem 3, with three parts: self-attention with `weights["self"]`, in which **no token sees a later
        one** (make that mask yourself), then attention to `memory` with `weights["cross"]` and `memory_mask`, then
        the network. The residual connections: <<place.words>>. `memory` itself is never scaled. The next cell
        defines `scale` and `look` once more, so that this problem stands by itself.
    """,
    given=GIVEN,
    head='''
def decoder_layer(x: torch.Tensor, memory: torch.Tensor, weights: dict, memory_mask: torch.Tensor) -> torch.Tensor:
    """x (batch, len, d_model), memory (batch, source, d_model), memory_mask (batch, len, source) -> as x."""
''',
    body="""
    def network(x):
        return (x @ weights["feed"]["in"]).relu() @ weights["feed"]["out"]

    mask = torch.ones(x.shape[0], x.shape[1], x.shape[1]).tril().bool()
    x = <<place.first>>
    x = <<place.cross>>
    return <<place.second>>
""",
    cases=decoder_cases,
    gradient=True,
    mistakes=(
        Mistake(
            "the future is seen",
            ".tril().bool()",
            ".bool()",
            "Nothing keeps a token from looking at the next one: in training it would copy the answer.",
            "Which mask does the self-attention get?",
        ),
        Mistake(
            "the past is hidden, not the future",
            ".tril()",
            ".triu()",
            "The mask is upside down: a token sees itself and what comes later.",
            "What may the first token look at?",
        ),
        Mistake(
            "the self-attention is skipped",
            "    x = <<place.first>>\n",
            "",
            "The tokens of the target never look at each other.",
            "Count the parts of a decoder layer.",
        ),
        Mistake(
            "the memory is asked first",
            "x = <<place.first>>\n    x = <<place.cross>>",
            "x = <<place.cross>>\n    x = <<place.first>>",
            "Self-attention comes first, then attention to the memory.",
            "In which order are the three parts in the statement?",
        ),
        Mistake(
            "the memory's mask is not used",
            "mask = torch.ones",
            "memory_mask = memory_mask | True\n    mask = torch.ones",
            "The padding of the source is looked at.",
            "Where does memory_mask come into your function?",
        ),
        Mistake(
            "the target looks at itself twice",
            "x = <<place.cross>>",
            "x = <<place.cross>> * 0 + x",
            "What the source says never arrives.",
            "Where does `memory` come into your function?",
        ),
    ),
)


def count_cases(numbers, choices):
    """Sizes of small and of large models."""
    return {
        "examples": [(4, 8, 1, 10), (2, 3, 2, 5)],
        "larger models": [(512, 2048, 6, 37000), (64, numbers.integer(65, 300), numbers.integer(2, 5), 1000)],
    }


COUNT = Problem(
    name="count_parameters",
    title="Count the parameters",
    points={"examples": 1, "larger models": 3},
    slots={
        "bias": [
            {"words": "None of the linear maps has a bias.", "attention": "", "feed": ""},
            {
                "words": "All linear maps have biases, except the one from vectors to words.",
                "attention": " + 4 * d_model",
                "feed": " + d_ff + d_model",
            },
        ],
        "tables": [
            {"words": "Source, target and output share **one** table.", "code": "1"},
            {"words": "Source and target share one table, and the output has **one of its own**.", "code": "2"},
        ],
        "norms": [
            {"words": "A normalization has a `gamma` and **no** `beta`.", "code": "d_model"},
            {"words": "A normalization has a `gamma` and a `beta`.", "code": "2 * d_model"},
        ],
    },
    statement=r"""
        How many parameters does a Transformer with `layers` layers of encoder and as many of decoder have? Attention
        has four linear maps, `(d_model, d_model)`; the network's two are `(d_model, d_ff)` and back. There is one
        normalization for each part of each layer, one more after the encoder's last layer, and one more after the
        decoder's: **two in all**. A table holds a vector for each of `vocab` words; the output is a product with a
        table, without a bias. <<bias.words>> <<tables.words>> <<norms.words>>
    """,
    head='''
def count_parameters(d_model: int, d_ff: int, layers: int, vocab: int) -> int:
    """The number of parameters of a whole Transformer."""
''',
    body="""
    attention = 4 * d_model**2<<bias.attention>>
    feed = 2 * d_model * d_ff<<bias.feed>>
    norm = <<norms.code>>
    encoder = layers * (attention + feed + 2 * norm) + norm
    decoder = layers * (2 * attention + feed + 3 * norm) + norm
    return encoder + decoder + <<tables.code>> * vocab * d_model
""",
    cases=count_cases,
    mistakes=(
        Mistake(
            "the decoder's second attention is forgotten",
            "2 * attention + feed + 3 * norm",
            "attention + feed + 3 * norm",
            "A layer of the decoder looks twice: at the target and at the memory.",
            "How many attentions has a layer of the decoder?",
        ),
        Mistake(
            "the normalizations at the end are forgotten",
            "(2 * attention + feed + 3 * norm) + norm",
            "(2 * attention + feed + 3 * norm)",
            "The decoder ends with a normalization of its own.",
            "How many normalizations does not belong to any layer?",
        ),
        Mistake(
            "the decoder has as many normalizations as the encoder",
            "feed + 3 * norm",
            "feed + 2 * norm",
            "A layer of the decoder has three parts, each with its normalization.",
            "How many parts has a layer of the decoder?",
        ),
        Mistake(
            "attention has three maps",
            "4 * d_model**2",
            "3 * d_model**2",
            "Query, key and value are three; the fourth mixes what the heads found.",
            "What becomes of the heads' outputs?",
        ),
        Mistake(
            "every use of words has its own table",
            "<<tables.code>> * vocab",
            "3 * vocab",
            "Tables that are shared are counted once.",
            "How many tables are there?",
        ),
    ),
)

SET = ProblemSet(
    number=3,
    title="encoder and decoder",
    introduction="""
The parts put together (chapters 5 and 8 to 11). Each function differs from the book's in something: read what is asked.
""",
    problems=(NORM, FEED, ENCODER, DECODER, COUNT),
)
