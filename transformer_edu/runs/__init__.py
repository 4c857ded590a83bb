"""A training run, whatever it trains:

settings      what every run is told
task          what a run learns: the data, the model, its loss and its score
distributed   one process, or several that take the same steps
start         what the run is, and a folder that is its own
folder        the files in it, written whole or not at all
trainer       the loop: steps, evaluations, checkpoints, and going on from one
steps         one step: forward, loss, backward, update
finish        the best weights and their card, as one finished model
command       all of it from the command line
"""
