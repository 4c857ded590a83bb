"""What makes the model quick on some processors; switched on from outside, and the same function either way.

    fast.switch_on(model)       # a Transformer, or any module with parts of one; returns it
    fast.switch_off(model)      # and back

The training command, the shipped translator and the benchmarks switch it on; everything else runs plain PyTorch.
Weights, their names, copies, pickles, hooks and gradients of any order are the same in both states.
"""

from transformer_edu.fast.switch import switch_off, switch_on

__all__ = ["switch_off", "switch_on"]
