"""A training run, whatever it trains:

distributed   one process, or several that take the same steps
start         what the run is, and a folder that is its own
folder        the files in it, written whole or not at all
trainer       the loop: steps, evaluations, checkpoints, and going on from one
steps         one step: forward, loss, backward, update
"""
