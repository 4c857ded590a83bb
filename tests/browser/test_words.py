"""What the figures say after a reader's actions. The numbers are compared in each figure's own file."""

import math

import pytest

from tests.browser.figure_page import play
from transformer_edu import widgets
from transformer_edu.widgets.search_tree_data import record_search_tree

OBJECT = "the cow watches the small black cat"


def patient_tree(alpha):
    """After "a" the end is likelier (0.5) than "b" (0.45), after which all is certain: worth waiting for if α is 1."""
    rows = {"<bos>": {"a": 1.0}, "a": {"<eos>": 0.5, "b": 0.45, "c": 0.05}, "b": {"c": 1.0}, "c": {"<eos>": 1.0}}
    tokens = ["<bos>", "<eos>", "a", "b", "c"]

    def next_log_probs(prefix):
        row = rows[tokens[prefix[-1]]]
        return [math.log(row[token]) if token in row else -math.inf for token in tokens]

    return widgets.SearchTree(record_search_tree(next_log_probs, 0, 1, tokens, 8), beam=1, alpha=alpha)


def pieces_tree():
    """Each token is certain after the one before."""
    after = {0: 2, 2: 3, 3: 4, 4: 1}

    def next_log_probs(prefix):
        return [0.0 if token == after[prefix[-1]] else -math.inf for token in range(5)]

    return widgets.SearchTree(
        record_search_tree(next_log_probs, 0, 1, ["<bos>", "<eos>", "·the", "·cat", "s"], 6, space="·")
    )


SCENES = {
    "attention-map: a word is chosen in the drawing or in the matrix, or pointed at": (
        widgets.AttentionMap,
        "While it writes noir, it looks at black … Its input here is chat, the word just written.",
        "> radio chat",
        "While it writes chat, it looks at cat",
        "> click [data-matrix=weights] [data-row='5'][data-column='6']",
        "While it writes dort, it looks at",
        "> hover .te-map-queries [data-value='1']",
        "While it writes petit, it looks at",
        "> hover .te-map-lead",
        "While it writes dort, it looks at",
        "> radio end; radio Encoder self",
        "While it reads sleep it looks at",
    ),
    "attention-stepper: a clicked score is written out": (
        lambda: widgets.AttentionStepper(step=2),
        "> click [data-matrix=scores] [data-row='2'][data-column='1']",
        "with that key is 8. … 1×0=0 … 1×2=2 … 0×(−1)=0 … 2×3=6 … sum8",
        "> click [data-matrix=scores] [data-row='1'][data-column='2']",
        "~ Step 2 of 7, Scores. black asks cat",
    ),
    "token-budget-batches: sorting loses chance, a budget evens the cost": (
        widgets.TokenBudgetBatches,
        "With similar lengths together it would be 344 cells, 5 % of them padding.",
        "A batch of 8 sentences costs 72 to 88 cells: the largest is 1.2 times the smallest.",
        "> radio sorted by length",
        "32 to 88 cells: the largest is 2.8 times the smallest. A budget of tokens evens that.",
        "the order of training is no longer random",
        "> radio similar lengths together; radio of tokens",
        "a batch costs 60 to 63 cells, much the same, and holds 6 to 12 sentences.",
        "The batch marked “rest” has what was left: 44 cells.",
        "> radio of sentences; slider sentences a batch = 1",
        "48 batches, 326 cells; no padding.",
    ),
    "cache-stepper: a key stays; the end gives sums, formula and price": (
        lambda: widgets.CacheStepper(step=7),
        "= the same … ≠ different",
        "Only the 4 rows of dort are computed.",
        "> button Next step",
        "All steps together: 46 rows in this layer with the cache, 256 without.",
        "n = 8 rows in place of n(n + 1)/2 = 36",
        "2 · 2 layers · (8 + 7) rows · 64 = 3,840 numbers",
        "> slider steps, n = 512; button Start again; combobox Key of = 6",
        "n(n + 1)/2 = 131,328 … 256.5 times as many rows without",
        "dort is not read before step 7.",
    ),
    "cache-stepper: in layer 1 a key needs no mask": (
        lambda: widgets.CacheStepper(layer=0),
        "= the same … = still the same … In layer 1 a key comes from its own token and place alone",
    ),
    "context-explorer: the noun decides the article's vector only where the gender changes": (
        widgets.ContextExplorer,
        "In both sentences the starts from one embedding. … The encoder has made two vectors of one word.",
        "> combobox second sentence = the small black dog does not sleep",
        "hardly makes a difference",
        f"> combobox first sentence = {OBJECT}; combobox second sentence = {OBJECT}; radio cow",
        "nothing differs",
    ),
    "decoder-stepper: words appear one by one, or others in their place": (
        widgets.DecoderStepper,
        "Likeliest to be written next: noir 0.949",
        "> button Write the next word",
        "The 4 columns before it are as they were",
        "~ Written: le petit chat noir. The newest position reads noir.",
        "> button Back; button write noire, probability",
        "You chose noire (0.0048) in place of noir (0.9490)",
        "What follows the words in grey was not recorded",
    ),
    "mask-lab: nowhere to look is zero by the book's rule": (
        lambda: widgets.MaskLab(pad_first=True, query=0),
        "zero, never NaN",
        "> slider French 2 = 0",
        "Nothing but padding",
    ),
    "mask-lab: a mistake is taken back by a box, and by another kind of attention": (
        lambda: widgets.MaskLab(mistake="added"),
        "True adds 1, False adds 0.",
        "> checkbox padding mask = off",
        "Here only padding looks at padding",
        "> combobox mask = flipped; radio cross-attention",
        "Each French position may look at every English word",
    ),
    "merge-stepper: ties, unknown characters, no text, too many words": (
        widgets.MergeStepper,
        "“bolder”: b is not in the text, so it becomes <unk>",
        "> textbox Cut a new word = colder; slider merges = 0",
        "“colder”: every character is known",
        "A tie with c + a: the left symbol decides, a came into the vocabulary before c.",
        "> textbox Text = ab ac",
        "the right symbol decides, b came into the vocabulary before c",
        "> textbox Text = " + " ".join(f"w{i}" for i in range(33)),
        "Only the first 30 different words are used",
        "> textbox Text = ",
        "Type some words",
    ),
    "norm-cube: who shares with whom": (
        widgets.NormCube,
        "You changed one number: small, feature 2, from 6 to 12.",
        "All 6 tokens’ feature 2 moved, in both sentences. No word of sentence 1 was edited.",
        "> combobox batch norm in = evaluation",
        "1 token’s 1 output moved, in sentence 2 only.",
        "> radio layer norm; click [data-matrix=output-0] [data-row='2'][data-column='3']",
        "1 token’s 4 outputs moved, in sentence 2 only.",
        "cat, feature 4: shares its mean and variance with the 4 numbers of its own token",
    ),
    "parameter-map: what is no model is explained": (
        widgets.ParameterMap,
        "> click [data-field=num_heads]; key Control+A; key 7; key Enter",
        "cannot be cut into 7 heads of one length: 512 ÷ 7 = 73.14. 4 or 8 heads would do.",
        "> click [data-field=num_heads]; key Control+A; key x; key Enter",
        "“x” is not",
        "> radio base; click [data-field=d_model]; key Control+A; key 9; key 9; key 9; key 9; key Enter",
        "at most 8,192",
        "> radio book; combobox tied tables = all",
        "92 and 127 words differ",
    ),
    "parameter-map: a clicked matrix is described, more heads move nothing": (
        widgets.ParameterMap,
        "> click [data-part='encoder.2.w_2']",
        "2,048 × 512 and a bias of 512 = 1,049,088",
        "> click [data-part='decoder.5.cross.w_k']",
        "key projection … decoder layer 6, cross-attention",
        "> button double: heads",
        "not one number more or less … 16 heads share it, 32 dimensions each",
        "> button double: d model",
        "tables × 2.00, encoder × 4.00, decoder × 4.00",
    ),
    "path-length-racer: how far, and what is news": (
        widgets.PathLengthRacer,
        "> slider steps = 2",
        "~ After 2 steps: the recurrent layer got to token 2 of 16, the convolutions got to token 3 of 16",
        "> slider tokens, n = 64; combobox size of a vector, d = 32",
        "~ takes 4.00 times the multiply-adds of a recurrent layer",
    ),
    "position-explorer: a smaller base makes the slow columns fast": (
        widgets.PositionExplorer,
        "wave 19,869",
        "> slider base = 2",
        "wave 353",
    ),
    "search-tree: the winner, and what greedy would have said": (
        widgets.SearchTree,
        "Winner: the cat sleeps, log-probability −1.82. Divided by ((5 + 4) / 6) to the power 0.6 = 1.28",
        "Greedy search says a cat sleeps, log-probability −2.17: the winner is 1.42 times",
        "With α = 0 or 0.2, the cat would win: log-probability −1.78, length 3 against 4.",
        "> button Back; button Back",
        "the cat (−1.02) and a cat (−1.66). The best that falls out: a black",
        "> button To the end",
        "step 4 of 4",
    ),
    "search-tree: the end stays the end when the setting changes": (
        lambda: widgets.SearchTree(alpha=0.0, beam=1),
        "A beam of 1 is greedy search",
        "> click [aria-label^='Beam size'] [role=radio] >> text='4'",
        "Winner: the cat, log-probability −1.78. … With α = 0.4 or 0.6 or 0.8 or 1, the cat sleeps would win",
    ),
    "search-tree: nothing in the beam can still beat what is finished": (
        lambda: patient_tree(0.0),
        "step 2 of 2 … Winner: a, log-probability −0.69.",
        "nothing in the beam could still beat the finished sentence",
    ),
    "search-tree: the search goes on while something better may come": (
        lambda: patient_tree(1.0),
        "step 4 of 4 … Winner: a b c, log-probability −0.80. … the winner is less probable, but has the better score",
        "The search stops because nothing goes on.",
    ),
    "search-tree: a sentence that never ends is cut off": (
        lambda: widgets.SearchTree(
            record_search_tree(lambda _: [-math.inf, -math.inf, 0.0], 0, 1, ["<bos>", "<eos>", "a"], 5)
        ),
        "Winner: a a a a, log-probability 0.00. … No sentence has ended: this one is cut off.",
        "The search stops at its limit, 5 tokens with the start.",
    ),
    "search-tree: pieces of words are joined": (pieces_tree, "Winner: the cats, log-probability 0.00."),
    "softmax-lab: the gradient dies on one side only": (
        widgets.SoftmaxLab,
        "> slider length of a key = 4",
        "The largest share is 1.000 … No gradient to speak of passes … Gradient passes",
        "> slider temperature = 1",
        "÷ 10.00 … almost equal",
    ),
    "training-replay: before training all words are alike": (
        lambda: widgets.TrainingReplay(step=0),
        "127 words 1/127 = 0.008 and cost ln 127 = 4.84",
        "no step made yet",
    ),
}


@pytest.mark.parametrize("scene", SCENES)
def test_words_follow_the_reader(scene, show):
    make, *lines = SCENES[scene]
    play(show(make()), *lines)
