"""The translator of real text, in the order of a run (see `transformer_edu.runs` for what every run has):

settings      what is asked for
task          text becomes pairs of ids, with a tokenizer learnt from the training text
evaluate      loss and BLEU on the validation text
export        the best weights and their card, as one finished model
translator    that model with its tokenizer: text in, text out
"""
