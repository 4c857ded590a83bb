"""kind: transformer
name: BartLike
style: Hugging Face: learned places, norms behind the sums and behind the embeddings, one tied table, a tuple of results"""

import torch
from torch import nn


class Config:
    def __init__(self, vocab_size, d_model, layers, attention_heads, ffn_dim, max_position_embeddings, pad_token_id=0):
        self.vocab_size, self.d_model, self.layers, self.attention_heads = vocab_size, d_model, layers, attention_heads
        self.ffn_dim, self.max_position_embeddings, self.pad_token_id = ffn_dim, max_position_embeddings, pad_token_id


class SelfOrCross(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.attention_heads
        self.k_proj, self.v_proj, self.q_proj, self.out_proj = (
            nn.Linear(config.d_model, config.d_model) for _ in range(4)
        )

    def shape(self, states):
        return states.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, states, read, added):
        query = self.shape(self.q_proj(states)) * (states.shape[-1] // self.heads) ** -0.5
        weights = (query @ self.shape(self.k_proj(read)).mT + added).softmax(-1)
        return self.out_proj((weights @ self.shape(self.v_proj(read))).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, config, decodes):
        super().__init__()
        self.self_attn, self.self_attn_layer_norm = SelfOrCross(config), nn.LayerNorm(config.d_model)
        self.encoder_attn = SelfOrCross(config) if decodes else None
        self.encoder_attn_layer_norm = nn.LayerNorm(config.d_model) if decodes else None
        self.fc1, self.fc2 = nn.Linear(config.d_model, config.ffn_dim), nn.Linear(config.ffn_dim, config.d_model)
        self.final_layer_norm = nn.LayerNorm(config.d_model)

    def forward(self, states, added, memory=None, memory_added=None):
        states = self.self_attn_layer_norm(states + self.self_attn(states, states, added))
        if memory is not None:
            states = self.encoder_attn_layer_norm(states + self.encoder_attn(states, memory, memory_added))
        return self.final_layer_norm(states + self.fc2(self.fc1(states).relu()))


class BartLike(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.shared = nn.Embedding(config.vocab_size, config.d_model)
        self.encoder_places, self.decoder_places = (
            nn.Embedding(config.max_position_embeddings, config.d_model) for _ in range(2)
        )
        self.encoder_embed_norm, self.decoder_embed_norm = (nn.LayerNorm(config.d_model) for _ in range(2))
        self.encoder = nn.ModuleList([Layer(config, False) for _ in range(config.layers)])
        self.decoder = nn.ModuleList([Layer(config, True) for _ in range(config.layers)])
        self.register_buffer("final_logits_bias", torch.zeros(config.vocab_size))

    def embed(self, ids, places, norm):
        return norm(self.shared(ids) + places(torch.arange(ids.shape[1], device=ids.device)))

    def forward(self, input_ids, decoder_input_ids):
        low = torch.finfo(self.shared.weight.dtype).min
        length = decoder_input_ids.shape[1]
        padding = (input_ids == self.config.pad_token_id)[:, None, None] * low
        later = torch.full((length, length), low, device=input_ids.device).triu(1)
        memory = self.embed(input_ids, self.encoder_places, self.encoder_embed_norm)
        for layer in self.encoder:
            memory = layer(memory, padding)
        states = self.embed(decoder_input_ids, self.decoder_places, self.decoder_embed_norm)
        for layer in self.decoder:
            states = layer(states, later, memory, padding)
        return states @ self.shared.weight.T + self.final_logits_bias, memory
