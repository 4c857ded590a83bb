"""The end of a translator's run: its weights, and the search that was best on the validation text."""

from typing import Any

from transformer_edu.runs.finish import finish
from transformer_edu.runs.trainer import Trainer
from transformer_edu.training.evaluate import lowercase_bleu
from transformer_edu.translate.task import TranslationTask
from transformer_edu.translate.translator import Translator

BEAM_SIZE = 5
LENGTH_PENALTIES = (0.0, 0.6, 1.0, 1.4)


def export(trainer: Trainer, task: TranslationTask, half: bool = False) -> dict[str, Any]:
    """Choose the weights and the length penalty, write the model; return its card (see `finish`)."""

    def facts() -> dict[str, Any]:
        settings = task.settings
        return {
            "languages": [settings.source, settings.target] if not settings.train else [],
            "training": {"pairs": len(task.train), "pairs_left_out": task.too_long},
            "search": choose_length_penalty(Translator(trainer.model.eval(), task.tokenizer), task),
        }

    return finish(trainer, half, facts)


def choose_length_penalty(translator: Translator, task: TranslationTask) -> dict[str, Any]:
    """The length penalty with the best validation BLEU for a beam of five."""
    sources = [source for source, _ in task.valid]
    tried = {}
    for penalty in LENGTH_PENALTIES:
        answers = translator.translate_ids(sources, beam_size=BEAM_SIZE, length_penalty=penalty)
        texts = [task.tokenizer.decode(best[0].ids) for best in answers]
        tried[str(penalty)] = round(lowercase_bleu(texts, task.references), 2)
    chosen = max(tried, key=lambda penalty: tried[penalty])
    return {"beam_size": BEAM_SIZE, "length_penalty": float(chosen), "validation_bleu": tried}
