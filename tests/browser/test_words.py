"""What the figures say after a reader's actions. The numbers are compared in each figure's own file."""

import math

import pytest

from tests.browser.figure_page import play
from transformer_edu import widgets
from transformer_edu.book.figures.search_tree import record_search_tree

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
        "> hover .te-link-queries [data-value='1']",
        "While it writes petit, it looks at",
        "> hover .te-says",
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
        "32 % of the work is padding, computed and thrown away",
        "A batch of 8 sentences costs 72 to 88 cells: the largest is 1.2 times the smallest.",
        "> radio sorted by length",
        "5 % of the work is padding",
        "32 to 88 cells: the largest is 2.8 times the smallest. A budget of tokens evens that.",
        "the order of training is no longer random",
        "> radio similar lengths together; radio of tokens",
        "a batch costs 60 to 63 cells, much the same, and holds 6 to 12 sentences.",
        "The batch marked “rest” has what was left: 44 cells.",
        "> radio of sentences; slider sentences a batch = 1",
        "No padding: … 48 batches, 326 cells, none of them padding.",
    ),
    "cache-stepper: one row at each step, or all again; without the mask they come out otherwise": (
        widgets.CacheStepper,
        "With the cache 8 rows so far, without it 36 … key of petit, kept since step 3 … computed again … = the same",
        "it computes the row of pas alone. Without, the rows of all 8 tokens: 7 of them again",
        "> button Back; checkbox no mask = on",
        "Without the causal mask, 6 of 6 kept rows would be stale … computed again, without the mask … ≠ another",
        "Every token now sees dort, too. Computed again, 6 rows of layer 2 come out otherwise: the cache is stale.",
        "> combobox Key of = 7",
        "pas is not read before step 8.",
        "! ≠ another",
        "> radio layer 1; combobox Key of = 2",
        "0 of 6 kept rows would be stale … = the same … In layer 1 a row is made of its own token and place alone",
        "> textbox English sentence = a red hen sings",
        "Step 5 of 5 reads chante and writes end.",
        "> click summary >> nth=1; slider steps, n = 512",
        "n(n + 1)/2 = 131,328 … 256.5 times as many rows without",
    ),
    "context-explorer: the noun decides the article's vector only where the gender changes": (
        widgets.ContextExplorer,
        "the before cat and before cow: one vector in, two out",
        "Every the starts from one embedding. These two stand at one place, so the position does not part them.",
        "> radio the small black dog does not sleep",
        "the before cat and before dog: one vector in, nearly one out",
        "> radio embedding",
        "~ the, sentences 1 and 3, embedding: likeness (cosine) 1.000",
    ),
    "decoder-stepper: words appear one by one, or others in their place": (
        widgets.DecoderStepper,
        "The newest position reads chat",
        "> button Write the next word",
        "The 4 columns before it are as they were",
        "~ Written: le petit chat noir. The newest position reads noir.",
        "> button Back; button write noire, probability",
        "You chose noire (0.0048, place 2) in place of noir (0.9490)",
        "> checkbox no mask = on",
        "~ Without the mask, the newest word changed 4 of 4 columns before it",
    ),
    "mask-lab: nowhere to look is zero by the book's rule": (
        lambda: widgets.MaskLab(causal=True, pad_first=True, query=0),
        "zero, never NaN",
        "> click .te-details summary; slider French 2 = 0",
        "Nothing but padding",
    ),
    "mask-lab: a mistake is taken back by another mask, and by another kind of attention": (
        lambda: widgets.MaskLab(mistake="added"),
        "True adds 1, False adds 0.",
        "> radio no padding mask",
        "No leak: each word looks only where it may … Here only padding looks at padding",
        "> radio causal mask turned round; radio cross-attention",
        "Each French position may look at every English word",
    ),
    "merge-stepper: ties, unknown characters, no text, too many words": (
        widgets.MergeStepper,
        "“bolder”: b is not in the text, so it becomes <unk>",
        "> textbox Cut one word = colder; slider merges = 0",
        "“colder”: every character is known",
        "A tie with c + a: the left symbol decides, a came into the vocabulary before c. On a tie",
        "> textbox Text = ab ac",
        "the right symbol decides, b came into the vocabulary before c",
        "> textbox Text = " + " ".join(f"w{i}" for i in range(33)),
        "Only the first 30 different words are used",
        "> textbox Text = ",
        "Type some words",
    ),
    "norm-cube: who shares with whom": (
        widgets.NormCube,
        "Batch norm: one number changed, all 6 words moved, in both sentences",
        "only “small” moved … all 6 words moved … only “small” moved",
        "small, feature 2, went from 6 to 12. 6 outputs moved, each in feature 2.",
        "> click .te-details summary; combobox batch norm in = evaluation",
        "Batch norm in evaluation: one number changed, only “small” moved",
        "> radio layer norm; click [data-matrix=output-0] [data-row='2'][data-column='3']",
        "Layer norm: one number changed, only “small” moved … 4 outputs moved.",
        "cat, feature 4: shares its mean and variance with the 4 numbers of its own token",
    ),
    "parameter-map: what is no model is explained": (
        widgets.ParameterMap,
        "> click [data-field=num_heads]; key Control+A; key 7; key Enter",
        "cannot be cut into 7 heads of one length: 512 ÷ 7 = 73.14.",
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
        "not one number more or less. Heads are cuts: each now works in 32 dimensions instead of 64.",
        "> button double: d model",
        "tables × 2.00, encoder × 4.00, decoder × 4.00. In all × 3.40.",
        "> radio book",
        "Here attention holds the largest share",
    ),
    "path-length-racer: how far, and what is news": (
        widgets.PathLengthRacer,
        "> slider steps = 2",
        "~ After 2 steps: attention arrived at step 1, the convolutions are at token 3, the recurrent layer is at 2",
        "> slider tokens, n = 64; click .te-details summary; combobox size of a vector, d = 32",
        "~ Attention pays 4.00 times the multiply-adds of this recurrent layer, 1.00 times an LSTM’s",
    ),
    "position-explorer: a smaller base makes the slow columns fast": (
        widgets.PositionExplorer,
        "one turn in 19,869",
        "> slider base = 2",
        "one turn in 353",
    ),
    "search-tree: the winner, and what greedy would have said": (
        widgets.SearchTree,
        "Winner: the cat sleeps (log-probability −1.82, score −1.43).",
        "divided by ((5 + 4) / 6) to the power 0.6 = 1.28",
        "score −1.43). It is 1.42 times as probable as greedy’s.",
        "With α = 0 or 0.2, the cat would win: −1.78, length 3 against 4.",
        "> button Back; button Back",
        "the cat (−1.02) and a cat (−1.66). The best that falls out: a black",
        "> button Next step; button Next step",
        "step 4 of 4",
    ),
    "search-tree: the end stays the end when the setting changes": (
        lambda: widgets.SearchTree(alpha=0.0, beam=1),
        "A beam of 1 is greedy search",
        "> click [aria-label^='Beam size'] [role=radio] >> text='4'",
        "Winner: the cat (log-probability −1.78, … With α = 0.4 or 0.6 or 0.8 or 1, the cat sleeps would win",
    ),
    "search-tree: nothing in the beam can still beat what is finished": (
        lambda: patient_tree(0.0),
        "step 2 of 2 … Winner: a (log-probability −0.69,",
        "nothing in the beam could still beat the finished sentence",
    ),
    "search-tree: the search goes on while something better may come": (
        lambda: patient_tree(1.0),
        "step 4 of 4 … Winner: a b c (log-probability −0.80, … It is less probable than greedy’s, but has the better",
        "The search stops because nothing goes on.",
    ),
    "search-tree: a sentence that never ends is cut off": (
        lambda: widgets.SearchTree(
            record_search_tree(lambda _: [-math.inf, -math.inf, 0.0], 0, 1, ["<bos>", "<eos>", "a"], 5)
        ),
        "Winner: a a a a (log-probability 0.00, … No sentence has ended: this one is cut off.",
        "The search stops at its limit, 5 tokens with the start.",
    ),
    "search-tree: pieces of words are joined": (pieces_tree, "Winner: the cats (log-probability 0.00,"),
    "softmax-lab: the gradient dies on one side only": (
        widgets.SoftmaxLab,
        "Undivided, one key wins and hardly any gradient passes",
        "> radio 1024",
        "▸ beyond 16 … One key takes all: nothing answers. … −16 to 16 … The softmax still answers. … √1024 = 32 times",
        "> click .te-details summary; slider temperature = 1",
        "Nearly equal shares: no choice. … at temperature 10.00",
        "> slider temperature = -1",
        "So cold that one key wins on both sides",
    ),
    "training-replay: before training all words are alike": (
        lambda: widgets.TrainingReplay(step=0),
        "127 words 1/127 = 0.008 and costs ln 127 = 4.84",
        "> click .te-details summary",
        "no step made yet",
        "> button Play; button Pause; radio twice the rate",
        "Within 1,000 steps this run never writes the sentence",
    ),
}


@pytest.mark.parametrize("scene", SCENES)
def test_words_follow_the_reader(scene, show):
    make, *lines = SCENES[scene]
    play(show(make()), *lines)
