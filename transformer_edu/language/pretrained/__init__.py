"""The language model that the book ships: small children's stories, in the folder stories."""

from pathlib import Path

import torch

from transformer_edu.language.model import LanguageModel, load_language_model

STORIES = "stories"


def load_stories(device: torch.device | str = "cpu") -> LanguageModel:
    """The shipped model of stories.

    Raises:
        ValueError: a file is damaged.
    """
    return load_language_model(Path(__file__).parent / STORIES, device)
