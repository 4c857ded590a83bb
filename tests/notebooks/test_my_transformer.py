"""The solutions of chapters 3 to 11 and 18, kept in one file, are a machine that translates, and one that writes."""

import ast
import importlib.util

import pytest
import torch

import transformer_edu as te
from tests.cells import run_cell
from transformer_edu import checks, pretrained
from transformer_edu.book.exercises.checks.fit import PARTS


def solutions(notebook):
    """The cells that hold a part of the machine, with the names of their parts."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and "checks.check_fit(" in cell.source and "raise NotImpl" not in cell.source:
            calls = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]
            fits = next(call for call in calls if ast.unparse(call.func) == "checks.check_fit")
            yield cell.source, [ast.unparse(argument) for argument in fits.args]


SETUP = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import Tensor, nn\n"


@pytest.mark.long
def test_what_a_reader_writes_adds_up_to_machines_that_translate_and_write(chapters, tmp_path):
    path = tmp_path / "my_transformer.py"
    kept = []
    for chapter in chapters.values():
        place = {"checks": checks, "te": te}
        exec(SETUP, place)
        for source, names in solutions(chapter):
            run_cell(source, place)
            checks.keep(*(place[name] for name in names), path=path)
            kept += names
    assert {*kept} == {*PARTS}
    assert "transformer_edu" not in path.read_text(), "the file stands alone"

    spec = importlib.util.spec_from_file_location("my_transformer", path)
    mine = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mine)
    translator = pretrained.load_grammar()
    c = translator.model.config
    model = mine.Transformer(
        c.source_vocab_size, c.target_vocab_size, c.d_model, c.num_heads, c.d_ff, c.num_layers, c.max_len
    )
    model.load_state_dict(translator.model.state_dict())
    model.eval()
    source = torch.tensor([translator.source_vocabulary.encode(te.RUNNING_SENTENCE)])
    ids = torch.tensor([[translator.target_vocabulary.bos_id]])
    with torch.no_grad():
        while ids[0, -1] != translator.target_vocabulary.eos_id and ids.shape[1] < 20:
            ids = torch.cat([ids, model(source, ids)[:, -1:].argmax(dim=-1)], dim=1)
    assert translator.target_vocabulary.decode(ids[0].tolist()) == te.RUNNING_TRANSLATION

    stories = pretrained.load_stories()
    c = stories.model.config
    model = mine.GPT(c.vocab_size, c.d_model, c.num_heads, c.d_ff, c.num_layers, c.max_len)
    model.load_state_dict(stories.model.state_dict())
    ids = torch.tensor([stories.prompt("Once upon a time")])
    with torch.no_grad():
        for _ in range(20):
            ids = torch.cat([ids, model.eval()(ids)[:, -1:].argmax(dim=-1)], dim=1)
    assert stories.tokenizer.decode(ids[0, 1:].tolist()) == stories.write("Once upon a time", 20)
