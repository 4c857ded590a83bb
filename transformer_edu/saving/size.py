"""How large a model is, known from its configuration before anything is built."""

import os

from transformer_edu.config import TransformerConfig

LAYER_BYTES = 2**17  # what the modules of an encoder and a decoder layer take beside their numbers
POSITION_BYTES = 16  # for each entry of the positional table, while its sines are computed in float64
UNKNOWN_MEMORY = 2**40  # assumed where the system does not say: enough for any model, too little for a slip
SIZES = ("source_vocab_size", "target_vocab_size", "d_model", "num_heads", "d_ff", "num_layers", "max_len")


def parameter_count(config: TransformerConfig) -> int:
    """How many numbers `Transformer(config)` learns; a matrix used in several places counts once."""
    d, d_ff = int(config.d_model), int(config.d_ff)
    attention = 4 * (d * d + d)  # W_Q, W_K, W_V, W_O and their biases
    feed_forward = 2 * d * d_ff + d_ff + d
    norm = 2 * d  # γ and β
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    source, target = int(config.source_vocab_size) * d, int(config.target_vocab_size) * d
    vocabulary = {"none": source + 2 * target, "target": source + target, "all": target}[config.tie_embeddings]
    final_norms = 2 * norm if config.has_final_norm else 0
    return vocabulary + int(config.num_layers) * (encoder_layer + decoder_layer) + final_norms


def check_memory(config: TransformerConfig, bytes_per_parameter: int = 4) -> None:
    """Raise a ValueError that names the sizes if a model of this configuration cannot lie in this machine's memory.

    Args:
        config: any sizes, however large: nothing is built.
        bytes_per_parameter: 4 to use a model in float32; 16 to train it with Adam (gradients and two averages too).
    """
    needed = parameter_count(config) * int(bytes_per_parameter)
    needed += int(config.num_layers) * LAYER_BYTES + int(config.max_len) * int(config.d_model) * POSITION_BYTES
    if needed > (memory := machine_memory()):
        raise ValueError(
            f"a model must fit into this machine's memory of {in_words(memory)} bytes, "
            f"got sizes that need {in_words(needed)}: {sizes_in_words(config)}"
        )


def machine_memory() -> int:
    """Bytes of memory that this machine has, in use or not."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # a system without these names
        return UNKNOWN_MEMORY


def sizes_in_words(config: TransformerConfig) -> str:
    """The sizes of a configuration for a message: "source_vocab_size=300, ..."."""
    return ", ".join(f"{name}={in_words(getattr(config, name))}" for name in SIZES)


def in_words(number: int) -> str:
    """A whole number with its digits, or, where they would fill lines, the power of two below it."""
    return f"{number:,}" if number < 10**30 else f"more than 2^{int(number).bit_length() - 1}"
