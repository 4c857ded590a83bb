"""kind: greedy_search
name: generate
"""
import torch


def generate(model, source, bos_id, eos_id, max_len):
    pad_id = model.config.pad_id
    with torch.inference_mode():
        encoder_states = model.encode(source)
        batch = source.shape[0]
        input_ids = source.new_full((batch, 1), bos_id)
        unfinished = source.new_ones(batch)
        for _ in range(max_len - 1):
            hidden = model.decode(input_ids, encoder_states, source)
            next_token_logits = model.project(hidden)[:, -1, :]
            next_tokens = torch.argmax(next_token_logits, dim=-1)
            next_tokens = next_tokens * unfinished + pad_id * (1 - unfinished)
            input_ids = torch.cat([input_ids, next_tokens[:, None]], dim=-1)
            unfinished = unfinished * (next_tokens != eos_id).long()
            if unfinished.max() == 0:
                break
    return input_ids
