"""The translator of real text: a training run from its settings to the finished model. In the order of a run:

settings      what is asked for
distributed   one process, or several that take the same steps
task          text becomes pairs of ids, with a tokenizer learnt from the training text
run_start     what the run is, and a folder that is its own
run_folder    the files in it, written whole or not at all
trainer       the loop: steps, evaluations, checkpoints, and going on from one
steps         one step: forward, loss, backward, update
evaluate      loss and BLEU on the validation text
export        the best weights and their card, as one finished model
translator    that model with its tokenizer: text in, text out
"""
