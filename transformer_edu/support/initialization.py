"""How a model starts: the weights that training begins with."""

from torch import nn

from transformer_edu.embedding import InputEmbedding


def xavier_initialize(module: nn.Module) -> None:
    """Draw every weight matrix of a module anew, Xavier-uniform; set its biases to zero, and leave all else."""
    for name, parameter in module.named_parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)


def initialize(module: nn.Module) -> None:
    """Draw the weights anew: matrices Xavier-uniform (Glorot & Bengio, 2010), biases zero, embeddings N(0, 1/d_model).

    Times √d_model, an embedding's entries then have variance 1, and are about as large as the positions added to them.
    """
    xavier_initialize(module)
    for part in module.modules():
        if isinstance(part, InputEmbedding):
            nn.init.normal_(part.lookup.weight, std=part.d_model**-0.5)
