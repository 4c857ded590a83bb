"""kind: greedy_search
name: generate
style: Hugging Face old generate loop (unfinished_sequences integer multiplier), for-range with break"""
import torch


def generate(model, input_ids, bos_token_id, eos_token_id, max_length):
    pad_token_id = model.config.pad_id
    batch_size = input_ids.shape[0]
    unfinished_sequences = torch.ones(batch_size, dtype=torch.long, device=input_ids.device)
    decoder_input_ids = torch.ones(batch_size, 1, dtype=torch.long, device=input_ids.device) * bos_token_id
    with torch.no_grad():
        encoder_outputs = model.encode(input_ids)
        for _ in range(max_length - 1):
            hidden = model.decode(decoder_input_ids, encoder_outputs, input_ids)
            next_token_logits = model.project(hidden)[:, -1, :]
            next_tokens = torch.max(next_token_logits, dim=-1)[1]
            next_tokens = next_tokens * unfinished_sequences + pad_token_id * (1 - unfinished_sequences)
            decoder_input_ids = torch.cat([decoder_input_ids, next_tokens[:, None]], dim=-1)
            unfinished_sequences = unfinished_sequences.mul((next_tokens != eos_token_id).long())
            if unfinished_sequences.max() == 0:
                break
    return decoder_input_ids
