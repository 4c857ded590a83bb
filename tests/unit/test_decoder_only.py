"""A model that only writes, of the package's parts: searches, saving, recording and the cache take it as it is."""

from dataclasses import dataclass

import torch
from torch import nn

import transformer_edu as te
from transformer_edu.decoding.writer import PromptWriter
from transformer_edu.parts import GatedFeedForward, RotaryPositions
from transformer_edu.saving.registry import register
from transformer_edu.training import load_model, save_model


@dataclass(frozen=True)
class Sizes:
    vocab_size: int = 11
    pad_id: int = 0
    max_len: int = 40


class DecoderOnly(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embedding = te.InputEmbedding(config.vocab_size, 16)
        self.decoder = te.Encoder([self.layer() for _ in range(2)], te.RMSNorm(16))
        self.projection = te.ProjectionLayer(16, config.vocab_size)

    def layer(self):
        attention = te.MultiHeadAttention(16, 4, bias=False, num_kv_heads=2, rotate=RotaryPositions(4, 80))
        return te.EncoderLayer(attention, GatedFeedForward(16, 24), te.ResidualConnection(te.RMSNorm(16), pre=True))

    def forward(self, ids, cache=None):
        offset = 0 if cache is None else cache.length
        so_far = ids if cache is None else cache.append(ids)
        mask = te.causal_mask(so_far.shape[1])[offset:] & te.padding_mask(so_far, self.config.pad_id)
        return self.projection(self.decoder(self.embedding(ids), mask, cache))

    def start_cache(self):
        return te.DecoderCache(len(self.decoder.layers))

    def start(self, source):
        return PromptWriter(self, source)


def test_everything_takes_a_decoder_of_rotary_positions_shared_keys_rms_norm_and_gates(tmp_path):
    torch.manual_seed(0)
    register("DecoderOnly of a test", Sizes, DecoderOnly)
    save_model(DecoderOnly(Sizes()), tmp_path / "it")
    model, prompt = load_model(tmp_path / "it"), torch.tensor([[3, 4, 5], [6, 7, 8]])
    ids, draw = te.greedy_search(model, prompt, 1, 2, 12), torch.Generator().manual_seed(0)
    assert te.beam_search(model, prompt, 1, 2, 12, beam_size=1, length_penalty=0.0)[0][0].ids[:3] == tuple(ids[0, :3])
    assert te.sample(model, prompt, 1, 2, 12, generator=draw).shape[0] == len(te.beam_search(model, prompt, 1, 2, 12))
    read, cache = torch.cat([prompt, ids], dim=1), model.start_cache()
    with te.record_attention(model) as maps, te.record_activations(model) as activations:
        logits = model(read)
    assert {"decoder.0.self", "decoder.1.self"} == set(maps) < set(activations)
    steps = torch.cat([model(new, cache) for new in read.split([3, 1, 2, read.shape[1] - 6], dim=1)], dim=1)
    torch.testing.assert_close(steps, logits, rtol=0, atol=1e-5)
