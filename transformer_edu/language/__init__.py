"""A language model of any text, in the order of a run (see `transformer_edu.runs` for what every run has):

settings      what is asked for
task          texts become one long row of ids, cut into batches; bits per byte on the validation text
model         the finished model with its tokenizer: goes on from a beginning, measures a text
export        the best weights and their card, as one finished model
commands      `transformer-edu train-lm` and `write`
"""
