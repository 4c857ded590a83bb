"""Problem set 5: find the bugs (chapter 17). Each function has one bug, drawn by the term's key."""

from transformer_edu.book.exercises.classroom.problems import Mistake, Problem, ProblemSet

ONE_BUG = "This function runs without an error, and one line of it is wrong. Mend it."


def attend_cases(numbers, choices):
    """Sentences with blocked keys, as many tokens as features among them."""

    def case(batch, q_len, k_len, width):
        mask = numbers.integers(0, 2, batch, q_len, k_len) > 0
        mask[..., 0], mask[..., -1] = True, False
        return numbers.normal(batch, q_len, width), numbers.normal(batch, k_len, width), mask

    return {
        "examples": [case(1, 3, 3, 3)],
        "batches": [case(2, 4, 4, 4), case(3, 5, 5, 5)],
        "gradients": [case(2, 3, 3, 3)],
    }


ATTEND = Problem(
    name="attend",
    title="Attention",
    points={"examples": 1, "batches": 2, "gradients": 1},
    broken=True,
    bugs=(
        "softmax over the queries",
        "the mask comes after the softmax",
        "the key is reshaped",
        "the weights learn nothing",
    ),
    slots={"power": [0.3, 0.7], "factor": [0.5, 2.0]},
    statement=f"""
        *<<symptom>>*

        Keys are their own values here. Scores are dot products divided by $d^{{<<power>>}}$; blocked keys (mask
        `False`) get weight 0, the weights of a query sum to 1 (no query is wholly blocked), and the result is
        multiplied by **<<factor>>**. {ONE_BUG}
    """,
    head='''
def attend(query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """query (batch, q_len, d), key (batch, k_len, d), mask (batch, q_len, k_len) -> (batch, q_len, d)."""
''',
    body="""
    d = query.shape[-1]
    turned = key.transpose(-2, -1)
    scores = query @ turned / d**<<power>>
    scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1)
    return <<factor>> * weights @ key
""",
    cases=attend_cases,
    gradient=True,
    mistakes=(
        Mistake(
            "softmax over the queries",
            "weights = scores.softmax(dim=-1)",
            "weights = scores.exp() / scores.exp().sum(dim=-2, keepdim=True).clamp(min=1e-9)",
            "The weights sum to 1 over the queries: the columns compete, not the keys of a row.",
            "Print weights.sum(dim=-1).",
            symptom="The weights of a query do not sum to 1.",
        ),
        Mistake(
            "the mask comes after the softmax",
            "scores = scores.masked_fill(~mask, -math.inf)\n    weights = scores.softmax(dim=-1)",
            "weights = scores.softmax(dim=-1)\n    weights = weights.masked_fill(~mask, 0.0)",
            "Blocked keys have taken their share before they are put out: the rows sum to less than 1.",
            "Print weights.sum(dim=-1).",
            symptom="Where something is blocked, the weights of a query do not sum to 1.",
        ),
        Mistake(
            "the key is reshaped",
            "key.transpose(-2, -1)",
            "key.reshape(key.shape[0], d, -1)",
            "reshape keeps the numbers in their order; as many tokens as features, and no shape betrays it.",
            "What is the first row of `turned`, and what should it be?",
            symptom="Every shape is right, and the output is not.",
        ),
        Mistake(
            "the weights learn nothing",
            "weights = scores.softmax(dim=-1)",
            "weights = scores.softmax(dim=-1).detach()",
            "The output is right, and no gradient reaches the query.",
            "Compare the gradients, not the outputs.",
            symptom="The output is right, and the query gets no gradient.",
        ),
    ),
)


def place_cases(numbers, choices):
    """Tables short and long."""
    return {
        "examples": [(4, 6)],
        "other sizes": [(numbers.integer(6, 12), 8), (numbers.integer(40, 60), 12)],
    }


PLACE = Problem(
    name="places",
    title="Positions",
    points={"examples": 1, "other sizes": 3},
    broken=True,
    bugs=("the pairs count by one", "whole numbers", "cosines of another angle", "rows and columns"),
    slots={"base": [400, 900, 2500, 7000]},
    statement=f"""
        *<<symptom>>*

        A table of positions, `(max_len, d_model)`: sines in the even columns, cosines in the odd ones; pair $i$ turns
        by $<<base>>^{{-2i/d_\\mathrm{{model}}}}$ per position. {ONE_BUG}
    """,
    head='''
def places(max_len: int, d_model: int) -> torch.Tensor:
    """-> (max_len, d_model), the paper's table with base <<base>>."""
''',
    body="""
    position = torch.arange(max_len).unsqueeze(1).float()
    even = torch.arange(0, d_model, 2)
    angles = position * <<base>> ** (-even / d_model)
    table = torch.zeros(max_len, d_model)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table
""",
    cases=place_cases,
    mistakes=(
        Mistake(
            "the pairs count by one",
            "torch.arange(0, d_model, 2)",
            "torch.arange(d_model // 2)",
            "The exponent is i / d_model and lacks its factor 2: the slowest pairs are too fast.",
            "What is `even` for d_model = 6?",
            symptom="The columns on the right turn too fast.",
        ),
        Mistake(
            "whole numbers",
            "(-even / d_model)",
            "(-(even // d_model) * 1.0)",
            "A division of whole numbers cuts off: every exponent is 0, and all pairs turn alike.",
            "Print the angles of row 1.",
            symptom="All pairs of columns are alike.",
        ),
        Mistake(
            "cosines of another angle",
            "angles.cos()",
            "(position * <<base>> ** (-(even + 1) / d_model)).cos()",
            "Sine and cosine of a pair have different angles: no rotation moves one position to the next.",
            "Is sin² + cos² = 1 in each pair?",
            symptom="In most pairs sin² + cos² is not 1.",
        ),
        Mistake(
            "rows and columns",
            "table[:, 0::2] = angles.sin()\n    table[:, 1::2] = angles.cos()",
            "table[:, : d_model // 2] = angles.sin()\n    table[:, d_model // 2 :] = angles.cos()",
            "Sines and cosines stand in two halves instead of side by side.",
            "Which columns should be sines?",
            symptom="All the numbers are there, in the wrong columns.",
        ),
    ),
)


def sub_cases(numbers, choices):
    """Batches of vectors with different means."""

    def case(batch, length, width):
        x = numbers.normal(batch, length, width) + numbers.normal(batch, length, 1)
        return x, numbers.normal(width, width), 1 + numbers.normal(width, scale=0.3), numbers.normal(width)

    return {
        "examples": [case(2, 2, 3)],
        "batches": [case(3, 4, 5), case(2, 6, 4)],
        "gradients": [case(2, 2, 4)],
    }


SUB = Problem(
    name="sublayer",
    title="A part of a layer",
    points={"examples": 1, "batches": 2, "gradients": 1},
    broken=True,
    bugs=("statistics of the whole sentence", "the sum is lost", "the scaled input is added", "x is changed"),
    slots={"eps": [0.01, 0.1], "keep": [0.5, 2.0, 3.0]},
    statement=f"""
        *<<symptom>>*

        Pre-norm: `x` is normalized (each vector by itself, variance divided by n, <<eps>> under the root, then
        `gamma` and `beta`), goes through the linear map `weight`, and is added to **<<keep>> times** the unnormalized
        `x`. The caller's `x` stays as it is. {ONE_BUG}
    """,
    head='''
def sublayer(x: torch.Tensor, weight: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    """x (batch, len, n), weight (n, n), gamma (n,), beta (n,) -> (batch, len, n)."""
''',
    body="""
    mean = x.mean(dim=-1, keepdim=True)
    variance = (x - mean).square().mean(dim=-1, keepdim=True)
    normalized = gamma * (x - mean) / (variance + <<eps>>).sqrt() + beta
    return <<keep>> * x + normalized @ weight
""",
    cases=sub_cases,
    gradient=True,
    mistakes=(
        Mistake(
            "statistics of the whole sentence",
            "mean = x.mean(dim=-1, keepdim=True)",
            "mean = x.mean(dim=(1, 2), keepdim=True)",
            "The mean is one of all tokens: each word's vector depends on the others, and on padding.",
            "How many means are there for (2, 3, 4)?",
            symptom="A word's vector changes when another word of its sentence changes.",
        ),
        Mistake(
            "the sum is lost",
            "return <<keep>> * x + normalized @ weight",
            "return normalized @ weight",
            "There is no residual connection: the gradient has to pass through every layer.",
            "Where is x added?",
            symptom="If `weight` is zero, the output is zero, and should not be.",
        ),
        Mistake(
            "the scaled input is added",
            "<<keep>> * x + normalized",
            "<<keep>> * normalized + normalized",
            "What is added is the normalized x: the way past the layers is not free.",
            "What exactly is multiplied by <<keep>>?",
            symptom="If `weight` is zero, the output should be a multiple of `x`, and is not.",
        ),
        Mistake(
            "x is changed",
            "    return <<keep>> * x + normalized @ weight",
            "    with torch.no_grad():\n        x.mul_(<<keep>>)\n    return x + normalized @ weight",
            "mul_ writes into the caller's tensor.",
            "Is x the same after the call?",
            symptom="The first call is right; whoever uses `x` after it finds another one.",
        ),
    ),
)


def adam_cases(numbers, choices):
    """First steps and later ones."""

    def case(size, step):
        first = numbers.normal(size, scale=0.1) * (step > 1)
        second = numbers.normal(size, scale=0.1).square() * (step > 1)
        return numbers.normal(size), numbers.normal(size), first, second, step

    return {
        "examples": [case(3, 1), case(2, 2)],
        "more steps": [case(5, 1), case(4, 3), case(6, numbers.integer(20, 60))],
    }


ADAM = Problem(
    name="adam_step",
    title="One step of Adam",
    points={"examples": 1, "more steps": 3},
    broken=True,
    bugs=("no correction", "the root is forgotten", "the momenta are mixed up", "eps under the root"),
    slots={"rate": [0.01, 0.02], "one": [0.8, 0.7], "two": [0.9, 0.95], "eps": [0.001, 0.01]},
    statement=f"""
        *<<symptom>>*

        Adam with $\\beta_1 = <<one>>$, $\\beta_2 = <<two>>$, $\\varepsilon = <<eps>>$ and rate <<rate>>. The means
        move: $m = \\beta_1 m + (1 - \\beta_1) g$ and $v = \\beta_2 v + (1 - \\beta_2) g^2$. In step $t$, from 1, they
        are corrected, $\\hat m = m / (1 - \\beta_1^t)$ and $\\hat v = v / (1 - \\beta_2^t)$, and the weight moves to
        $w - <<rate>> \\, \\hat m / (\\sqrt{{\\hat v}} + \\varepsilon)$. Returned are the new weight and the two
        **uncorrected** means. {ONE_BUG}
    """,
    head='''
def adam_step(
    weight: torch.Tensor, gradient: torch.Tensor, mean: torch.Tensor, square: torch.Tensor, step: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """-> the new weight, the new mean of the gradient, the new mean of its square; all (n,)."""
''',
    body="""
    mean = <<one>> * mean + (1 - <<one>>) * gradient
    square = <<two>> * square + (1 - <<two>>) * gradient**2
    corrected_mean = mean / (1 - <<one>>**step)
    corrected_square = square / (1 - <<two>>**step)
    weight = weight - <<rate>> * corrected_mean / (corrected_square.sqrt() + <<eps>>)
    return weight, mean, square
""",
    cases=adam_cases,
    mistakes=(
        Mistake(
            "no correction",
            "corrected_square = square / (1 - <<two>>**step)",
            "corrected_square = square",
            "The mean square starts at 0 and is far too small at first: the first steps are too large.",
            "What is corrected_square after step 1, when all gradients are 1?",
            symptom="The first steps are too large.",
        ),
        Mistake(
            "the root is forgotten",
            "(corrected_square.sqrt() + <<eps>>)",
            "(corrected_square + <<eps>>)",
            "The step is divided by the square, not by its root: small gradients make huge steps.",
            "If all gradients are doubled, should the step change?",
            symptom="When all gradients are halved, the steps grow.",
        ),
        Mistake(
            "the momenta are mixed up",
            "square = <<two>> * square + (1 - <<two>>) * gradient**2",
            "square = <<one>> * square + (1 - <<one>>) * gradient**2",
            "The mean square forgets as fast as the mean: it uses β₁.",
            "Which β belongs to which mean?",
            symptom="After the first step the mean of the squares is too large.",
        ),
        Mistake(
            "eps under the root",
            "(corrected_square.sqrt() + <<eps>>)",
            "(corrected_square + <<eps>>).sqrt()",
            "ε is added before the root is taken; here it comes after.",
            "How large is the divisor when the mean square is 0?",
            symptom="When all gradients were zero so far, the divisor is not ε.",
        ),
    ),
)


def write_cases(numbers, choices):
    """Tables by step: what follows depends on the place as well as on the last word."""

    def table(steps, vocab):
        found = numbers.log_probs(steps, vocab, vocab)
        found[..., choices["eos"]] -= 0.5
        return found

    return {
        "examples": [(table(5, 5),), (table(4, 6),)],
        "longer answers": [(table(9, 6),), (table(12, 8),), (table(7, 5),)],
    }


WRITE = Problem(
    name="write",
    title="Write until the end",
    points={"examples": 1, "longer answers": 3},
    broken=True,
    bugs=(
        "the first word is forgotten",
        "the last word counts as the first",
        "the worst word",
        "it goes on after the end",
    ),
    slots={"bos": [0, 1], "eos": [2, 3]},
    statement=f"""
        *<<symptom>>*

        `log_probs[t, a, b]` is the log-probability of word `b` in step `t` (from 0), after word `a`. From **<<bos>>**
        on, take the likeliest word in each step, until **<<eos>>** is written or there are no steps left. Return the
        words, without <<bos>>, and with <<eos>> if it came, and the sum of their log-probabilities. {ONE_BUG}
    """,
    head='''
def write(log_probs: torch.Tensor) -> tuple[list[int], float]:
    """log_probs (steps, vocab, vocab) -> at most `steps` ids, and the sum of their log-probabilities."""
''',
    body="""
    ids, total = [<<bos>>], 0.0
    for scores in log_probs:
        best = int(scores[ids[-1]].argmax())
        total += float(scores[ids[-1], best])
        ids.append(best)
        if best == <<eos>>:
            break
    return ids[1:], total
""",
    cases=write_cases,
    mistakes=(
        Mistake(
            "the first word is forgotten",
            "total += float(scores[ids[-1], best])",
            "total = float(scores[ids[-1], best])",
            "The total is that of the last word alone.",
            "What is `total` after two words?",
            symptom="The words are right, and their sum is too close to 0.",
        ),
        Mistake(
            "the last word counts as the first",
            "best = int(scores[ids[-1]].argmax())",
            "best = int(scores[ids[0]].argmax())",
            "Every word is chosen as if it were the first: what was written is not looked at.",
            "Which row of the table is used in step 3?",
            symptom="What was written does not change what comes next.",
        ),
        Mistake(
            "the worst word",
            "argmax()",
            "argmin()",
            "Log-probabilities are negative, and the likeliest is the *largest* of them.",
            "Which is likelier, -1 or -3?",
            symptom="Every word has a very low probability.",
        ),
        Mistake(
            "it goes on after the end",
            "if best == <<eos>>:",
            "if best == <<bos>>:",
            "The search waits for the begin token, and writes past the end.",
            "When should the loop stop?",
            symptom="There are words behind the end.",
        ),
    ),
)

SET = ProblemSet(
    number=5,
    title="find the bugs",
    introduction="""
Five functions that run and are wrong (chapter 17). Above each stands what somebody has noticed; the cause may not be
what you think first. Look at shapes, sums and gradients, and try small inputs whose answer you know.
""",
    problems=(ATTEND, PLACE, SUB, ADAM, WRITE),
)
