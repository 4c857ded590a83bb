"""Problem set 4: training and decoding (chapters 12, 13 and 14)."""

from transformer_edu.book.exercises.classroom.problems import Mistake, Problem, ProblemSet


def batch_cases(numbers, choices):
    """Sentences of different lengths, one of them empty."""

    def sentences(*lengths):
        return [numbers.integers(10, 99, length).tolist() for length in lengths]

    return {
        "examples": [(sentences(2, 3),), (sentences(1, 4, 2),)],
        "larger batches": [(sentences(5, 1, 3, 7),), (sentences(4, 4),), (sentences(6),)],
        "an empty sentence": [(sentences(0, 3),)],
    }


BATCH = Problem(
    name="shifted_batch",
    title="What goes in, and what should come out",
    points={"examples": 1, "larger batches": 2, "an empty sentence": 1},
    slots={
        "bos": [2, 3],
        "eos": [4, 5],
        "pad": [0, 1, 6],
        "side": [
            {"words": "right", "code": "row + [<<pad>>] * missing"},
            {"words": "left", "code": "[<<pad>>] * missing + row"},
        ],
    },
    statement=r"""
        `sentences` is a list of lists of ids. Return two tensors of whole numbers, `(batch, longest + 1)`: the input
        of the decoder, each sentence with the begin token **<<bos>>** before it, and what it should predict, each
        sentence with the end token **<<eos>>** after it. Shorter ones are padded with **<<pad>>** on the
        **<<side.words>>**.
    """,
    head='''
def shifted_batch(sentences: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Lists of ids -> what goes in and what should come out, each (batch, longest + 1)."""
''',
    body="""
    longest = max(len(words) for words in sentences)

    def padded(rows):
        filled = []
        for row in rows:
            missing = longest + 1 - len(row)
            filled.append(<<side.code>>)
        return torch.tensor(filled)

    return padded([[<<bos>>, *words] for words in sentences]), padded([[*words, <<eos>>] for words in sentences])
""",
    cases=batch_cases,
    mistakes=(
        Mistake(
            "both begin and end are in both",
            "padded([[<<bos>>, *words] for words in sentences]), padded([[*words, <<eos>>] for words in sentences])",
            "(padded([[<<bos>>, *words, <<eos>>][: longest + 1] for words in sentences]), "
            "padded([[<<bos>>, *words, <<eos>>][: longest + 1] for words in sentences]))",
            "What goes in and what should come out are the same: the model learns to copy its input.",
            "Compare column 0 of the two tensors.",
        ),
        Mistake(
            "nothing is shifted",
            "padded([[<<bos>>, *words] for words in sentences])",
            "padded([[*words, <<eos>>] for words in sentences])",
            "The decoder gets the very word that it should answer.",
            "What does the decoder see before it has to answer the first word?",
        ),
        Mistake(
            "the end is forgotten",
            "[*words, <<eos>>] for words",
            "[*words] for words",
            "A model that never sees the end token in training never ends a sentence.",
            "What should be answered after the last word?",
        ),
        Mistake(
            "begin and end have changed places",
            "padded([[<<bos>>, *words] for words in sentences]), padded([[*words, <<eos>>] for words in sentences])",
            "padded([[*words, <<eos>>] for words in sentences]), padded([[<<bos>>, *words] for words in sentences])",
            "The decoder gets the answers and should say what comes before.",
            "Which of the two tensors begins with <<bos>>?",
        ),
        Mistake(
            "padding is on the other side",
            "filled.append(<<side.code>>)",
            "other = [<<pad>>] * missing\n"
            "            filled.append(other + row if '<<side.words>>' == 'right' else row + other)",
            "The sentences stand at the other edge.",
            "On which side should the ids <<pad>> be?",
        ),
    ),
)


def loss_cases(numbers, choices):
    """Batches with padding; scores as a model gives them and extreme ones."""
    pad = choices["pad"]

    def case(batch, length, vocab, *, scale=1.0, padded=True):
        target = numbers.integers(0, vocab - 1, batch, length)
        target[target == pad] = (pad + 1) % vocab
        if padded:
            target[0, -1] = pad
        return numbers.normal(batch, length, vocab, scale=scale), target

    return {
        "examples": [case(2, 3, 5), case(1, 2, 6, padded=False)],
        "batches with padding": [case(3, 5, 8), case(2, 6, 12)],
        "extreme scores": [case(2, 3, 6, scale=60.0)],
        "gradients": [case(2, 4, 7)],
    }


LOSS = Problem(
    name="smoothed_loss",
    title="A loss that is not quite sure",
    points={"examples": 1, "batches with padding": 2, "extreme scores": 1, "gradients": 1},
    slots={
        "pad": [0, 1, 2],
        "share": [0.05, 0.15, 0.2, 0.3],
        "rest": [
            {"words": "all **other** words (not the right one)", "more": "", "weight": "(vocab - 1)", "gold": ""},
            {
                "more": " and its share",
                "words": "**all** words, the right one included",
                "weight": "vocab",
                "gold": " + <<share>> / vocab",
            },
        ],
        "mean": [
            {"words": "the mean over all real tokens", "code": "each[real].mean()"},
            {
                "words": "first the mean over the real tokens of each sentence, then the mean over sentences",
                "code": "((each * real).sum(dim=1) / real.sum(dim=1)).mean()",
            },
        ],
    },
    statement=r"""
        `logits` is `(batch, len, vocab)` and `target` `(batch, len)`; id **<<pad>>** is padding, and every sentence
        has a real token. The wanted distribution $p$ shares **<<share>>** out evenly among <<rest.words>>; the right
        word gets 1 − <<share>><<rest.more>>. With $q$ the softmax of the logits, the loss of a token is the
        cross-entropy $-\sum_w p(w) \log q(w)$ in nats. Return <<mean.words>>; padding counts nowhere.
    """,
    head='''
def smoothed_loss(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """logits (batch, len, vocab), target (batch, len) -> one number."""
''',
    body="""
    vocab = logits.shape[-1]
    log_probs = F.log_softmax(logits, dim=-1)
    wanted = torch.full_like(log_probs, <<share>> / <<rest.weight>>)
    wanted.scatter_(-1, target.unsqueeze(-1), 1 - <<share>><<rest.gold>>)
    each = -(wanted * log_probs).sum(dim=-1)  # (batch, len)
    real = target != <<pad>>
    return <<mean.code>>
""",
    cases=loss_cases,
    gradient=True,
    mistakes=(
        Mistake(
            "nothing is smoothed",
            "1 - <<share>><<rest.gold>>)\n    each = -(wanted * log_probs)",
            "1.0)\n    each = -((wanted == 1.0) * log_probs)",
            "This is the plain cross-entropy.",
            "What probability is wanted for the right word?",
        ),
        Mistake(
            "padding counts",
            "real = target != <<pad>>",
            "real = target == target",
            "Padding is a token like any other here: the model learns to predict it.",
            "Where do you leave padding out?",
        ),
        Mistake(
            "the sum is returned",
            "return <<mean.code>>",
            "return each[real].sum()",
            "A sum grows with the batch, and the learning rate with it.",
            "Is your result larger for a batch that is twice as long?",
        ),
        Mistake(
            "the mean is taken in the other way",
            "return <<mean.code>>",
            "by_token = each[real].mean()\n"
            "    by_sentence = ((each * real).sum(dim=1) / real.sum(dim=1)).mean()\n"
            "    return by_sentence if 'all real' in '<<mean.words>>' else by_token",
            "In a batch of unequal sentences the mean over tokens and the mean of means differ.",
            "Does a token of a short sentence count as much as one of a long sentence?",
        ),
        Mistake(
            "log of softmax underflows",
            "log_probs = F.log_softmax(logits, dim=-1)",
            "log_probs = logits.softmax(dim=-1).log()",
            "With extreme scores a probability becomes 0, and its logarithm minus infinity.",
            "Which function takes both steps at once?",
            passes=("examples", "batches with padding", "gradients"),
        ),
        Mistake(
            "the logits are taken for logarithms",
            "log_probs = F.log_softmax(logits, dim=-1)",
            "log_probs = logits * 1.0",
            "Logits are not normalized: exp of them does not sum to 1.",
            "What turns logits into log-probabilities?",
        ),
    ),
)


def rate_cases(numbers, choices):
    """Steps before, at and after the end of the warm-up."""
    warm = choices["warm"]
    return {
        "examples": [(1,), (warm,), (2 * warm,)],
        "warming up": [(warm // 2,), (warm // 4,), (warm - 1,)],
        "falling": [(warm + 1,), (3 * warm + numbers.integer(1, 50),), (5 * warm,), (9 * warm,)],
    }


RATE = Problem(
    name="learning_rate",
    title="Warm up, then fall",
    points={"examples": 1, "warming up": 1, "falling": 2},
    slots={
        "warm": [200, 400, 800, 1000],
        "peak": [0.001, 0.002, 0.003, 0.005],
        "fall": [
            {
                "words": "with the **cube root** of the step: it is the peak times $(<<warm>> / t)^{1/3}$",
                "code": "(<<warm>> / step) ** (1 / 3)",
            },
            {"words": "with the **step itself**: it is the peak times $<<warm>> / t$", "code": "<<warm>> / step"},
            {
                "words": "**in a straight line**, to 0 at step <<warm>>0",
                "code": "(1 - (step - <<warm>>) / (9 * <<warm>>))",
            },
        ],
    },
    statement=r"""
        The rate of step $t = 1, 2, \dots$ rises in a straight line, from 0 (which would be step 0) to its peak
        **<<peak>>** at step **<<warm>>**. From there it falls <<fall.words>>. No test goes beyond step <<warm>>0.
    """,
    head='''
def learning_rate(step: int) -> float:
    """step, from 1 -> the learning rate of this step."""
''',
    body="""
    if step < <<warm>>:
        return <<peak>> * step / <<warm>>
    return <<peak>> * <<fall.code>>
""",
    cases=rate_cases,
    mistakes=(
        Mistake(
            "it never falls",
            "return <<peak>> * <<fall.code>>",
            "return <<peak>>",
            "After the warm-up the rate stays where it is.",
            "What is your rate at twice <<warm>> steps?",
            passes=("warming up",),
        ),
        Mistake(
            "it falls with the square root",
            "<<fall.code>>",
            "(<<warm>> / step) ** 0.5",
            "That is the paper's schedule; this one falls otherwise.",
            "What is asked for at four times <<warm>> steps?",
            passes=("warming up",),
        ),
        Mistake(
            "there is no warm-up",
            "return <<peak>> * step / <<warm>>",
            "return <<peak>>",
            "The first steps are as large as the largest.",
            "What is your rate at step 1?",
            passes=("falling",),
        ),
        Mistake(
            "the steps are counted from 0",
            "<<peak>> * step / <<warm>>",
            "<<peak>> * (step - 1) / <<warm>>",
            "At step 1 the rate is 0: the first step changes nothing.",
            "Is your rate at step 1 above 0?",
            passes=("falling",),
        ),
    ),
)


def greedy_cases(numbers, choices):
    """Tables in which a word follows a word; some never end."""

    def table(vocab, *, ends=True):
        found = numbers.log_probs(vocab, vocab)
        if not ends:
            found[:, choices["eos"]] -= 20
        return found

    return {
        "examples": [(table(5), 6), (table(6), 4)],
        "longer answers": [(table(9), 12), (table(12), 20), (table(8), 10)],
        "answers that never end": [(table(7, ends=False), 9), (table(6, ends=False), 1)],
    }


GREEDY = Problem(
    name="greedy",
    title="Greedy search that does not repeat itself",
    points={"examples": 1, "longer answers": 2, "answers that never end": 1},
    slots={"bos": [0, 1], "eos": [2, 3], "gap": [2, 3]},
    statement=r"""
        The model is a table: `log_probs[a, b]` is the log-probability that word `b` follows word `a`. Begin with
        **<<bos>>** and always take the likeliest next word, **but none of the last <<gap>> ids written so far**
        (begin included); an id may come again later, <<bos>> too. Stop after the end token **<<eos>>**, or when
        `max_len` words are written, the begin token not counted. Return the list of what was written: without the
        begin token, with the end token if it came. No two candidates are equally likely in the tests.
    """,
    head='''
def greedy(log_probs: torch.Tensor, max_len: int) -> list[int]:
    """log_probs (vocab, vocab) -> at most max_len ids, the end token <<eos>> included if it came."""
''',
    body="""
    ids = [<<bos>>]
    while len(ids) <= max_len:
        scores = log_probs[ids[-1]].clone()
        scores[ids[-<<gap>>:]] = -math.inf
        ids.append(int(scores.argmax()))
        if ids[-1] == <<eos>>:
            break
    return ids[1:]
""",
    cases=greedy_cases,
    mistakes=(
        Mistake(
            "it may repeat itself",
            "scores[ids[-<<gap>>:]] = -math.inf",
            "pass",
            "The last <<gap>> ids are not forbidden.",
            "Can your answer hold the same id twice in a row?",
        ),
        Mistake(
            "whatever was written is forbidden for ever",
            "scores[ids[-<<gap>>:]] = -math.inf",
            "scores[ids] = -math.inf",
            "Only the last <<gap>> ids are forbidden; others may come again.",
            "May an id come again after some others?",
        ),
        Mistake(
            "the begin token is returned",
            "return ids[1:]",
            "return ids",
            "The answer begins with <<bos>>, which nobody wrote.",
            "What is the first id of your answer?",
        ),
        Mistake(
            "it is one word too short",
            "while len(ids) <= max_len:",
            "while len(ids) < max_len:",
            "The begin token is counted as one of max_len.",
            "How many ids do you return for max_len = 1, if no end comes?",
            passes=("longer answers",),
        ),
        Mistake(
            "the end token is cut off",
            "return ids[1:]",
            "return [token for token in ids[1:] if token != <<eos>>]",
            "Whoever reads the answer cannot tell whether it was finished.",
            "What is the last id of an answer that ended?",
            passes=("answers that never end",),
        ),
        Mistake(
            "the caller's table is changed",
            "log_probs[ids[-1]].clone()",
            "log_probs[ids[-1]]",
            "The row is a view of the table: -inf is written into the model itself.",
            "Is log_probs the same after your function has run?",
        ),
    ),
)


def beam_cases(numbers, choices):
    """Tables in which greedy search is not the best, and beams of several widths."""

    def table(vocab):
        found = numbers.log_probs(vocab, vocab)
        found[:, choices["eos"]] -= 1.5
        return found

    return {
        "examples": [(table(6), 2, 5), (table(7), 3, 6), (table(5), 1, 3)],
        "wider beams": [(table(7), width, 6) for width in (2, 2, 3, 3, 4, 4)] + [(table(9), 3, 8)],
    }


BEAM = Problem(
    name="beam",
    title="Beam search over a table",
    points={"examples": 1, "wider beams": 4},
    slots={"bos": [0, 1], "eos": [2, 3], "power": [0.4, 0.8, 1.2, 1.5]},
    statement=r"""
        The same kind of table. Keep the `width` best unfinished answers. In each round, continue each of them with
        every word, <<bos>> too; of all continuations keep the `width` with the highest sum of log-probabilities.
        Those among them that end with **<<eos>>** are finished and leave the beam: they take no place in later
        rounds. Stop after `max_len` rounds, or when no unfinished one is left; what is unfinished then counts as
        finished.

        Return the finished answer with the highest $s / n^{<<power>>}$, where $s$ is the sum of its log-probabilities
        and $n$ the number of its ids: a list of ids without the begin token **<<bos>>** (which $n$ does not count),
        with the end token if it has one. Only this last choice is by $s / n^{<<power>>}$; the beam is kept by $s$. No
        two sums are equal in the tests.
    """,
    head='''
def beam(log_probs: torch.Tensor, width: int, max_len: int) -> list[int]:
    """log_probs (vocab, vocab), answers kept, most rounds -> the ids of the best answer."""
''',
    body="""
    vocab = log_probs.shape[0]
    alive, finished = [(0.0, [<<bos>>])], []
    for _ in range(max_len):
        longer = []
        for total, ids in alive:
            longer += [(total + float(log_probs[ids[-1], word]), [*ids, word]) for word in range(vocab)]
        best = sorted(longer, reverse=True)[:width]
        finished += [path for path in best if path[1][-1] == <<eos>>]
        alive = [path for path in best if path[1][-1] != <<eos>>]
        if not alive:
            break
    finished += alive
    return max(finished, key=lambda path: path[0] / (len(path[1]) - 1) ** <<power>>)[1][1:]
""",
    cases=beam_cases,
    mistakes=(
        Mistake(
            "long answers are not helped",
            " / (len(path[1]) - 1) ** <<power>>)[1][1:]",
            ")[1][1:]",
            "Without the division short answers win: each word makes the sum smaller.",
            "What is the sum divided by?",
        ),
        Mistake(
            "the first finished answer is taken",
            "        if not alive:\n            break",
            "        if not alive or finished:\n            break",
            "The search stops as soon as one answer has ended, though a better one may still grow.",
            "When does your loop end?",
        ),
        Mistake(
            "only the best continuation of each is kept",
            "longer += [(total + float(log_probs[ids[-1], word]), [*ids, word]) for word in range(vocab)]",
            "word = int(log_probs[ids[-1]].argmax())\n"
            "            longer += [(total + float(log_probs[ids[-1], word]), [*ids, word])]",
            "From one beginning comes one answer: this is greedy search.",
            "How many continuations do you compare in the first round?",
        ),
        Mistake(
            "finished answers are continued",
            "alive = [path for path in best if path[1][-1] != <<eos>>]",
            "alive = best",
            "Words are written after the end token.",
            "Which answers are in the beam after the first has ended?",
        ),
        Mistake(
            "what is unfinished is thrown away",
            "finished += alive\n",
            "finished = finished or alive\n",
            "After the last round the unfinished answers are candidates, too.",
            "What happens to the answers that are still in the beam at the end?",
        ),
        Mistake(
            "finished answers leave their place to others",
            "best = sorted(longer, reverse=True)[:width]",
            "order = sorted(longer, reverse=True)\n"
            "        best = [path for path in order if path[1][-1] != <<eos>>][:width]\n"
            "        best += [path for path in order[:width] if path[1][-1] == <<eos>>]",
            "The beam is filled up with `width` unfinished answers, where one that ends has taken a place this round.",
            "How many of the kept continuations may be unfinished when one of them ends?",
        ),
        Mistake(
            "the sums begin anew in each round",
            "(total + float(log_probs[ids[-1], word])",
            "(0 * total + float(log_probs[ids[-1], word])",
            "Answers are compared by their last word alone.",
            "Which number belongs to a beginning of three words?",
        ),
    ),
)


SET = ProblemSet(
    number=4,
    title="training and decoding",
    introduction="""
What a model learns from, and how it writes (chapters 12 to 14). Each function differs from the book's in something:
read what is asked.
""",
    problems=(BATCH, LOSS, RATE, GREEDY, BEAM),
)
