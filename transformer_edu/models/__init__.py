"""Other models of the same parts, a file each: what each changes of the paper's, and nothing else.

gpt      reads what it has written, and goes on: one half, with the causal mask
llama    the same as it is built today, with the settings of Qwen, Mistral, Gemma and OLMo
deepseek the same with latent attention and experts
bert     fills gaps: the other half, every word sees every word
t5       both halves, positions as a bias of the scores
marian   both halves, as in the paper, with other positions and another activation
vit      looks at patches of an image as a sentence is read
hugging_face   the weights of any of them, from a folder or from the hub
"""

from transformer_edu.models.bert import BERT, BERTConfig
from transformer_edu.models.deepseek import DeepSeek, DeepSeekConfig
from transformer_edu.models.gpt import GPT, GPTConfig
from transformer_edu.models.hugging_face import from_hugging_face
from transformer_edu.models.llama import Llama, LlamaConfig
from transformer_edu.models.marian import Marian, MarianConfig
from transformer_edu.models.t5 import T5, T5Config
from transformer_edu.models.vit import ViT, ViTConfig
from transformer_edu.saving.registry import register

for _config, _model in (
    (BERTConfig, BERT),
    (DeepSeekConfig, DeepSeek),
    (GPTConfig, GPT),
    (LlamaConfig, Llama),
    (MarianConfig, Marian),
    (T5Config, T5),
    (ViTConfig, ViT),
):
    register(_model.__name__, _config, _model)

__all__ = [
    "BERT",
    "GPT",
    "T5",
    "BERTConfig",
    "GPTConfig",
    "Llama",
    "LlamaConfig",
    "Marian",
    "MarianConfig",
    "T5Config",
    "ViT",
    "ViTConfig",
    "from_hugging_face",
]
