"""kind: greedy_search
name: translate
style: one sentence at a time in Python lists, padded together with pad_sequence"""
import torch
from torch.nn.utils.rnn import pad_sequence


def translate(model, source, bos_id, eos_id, max_len):
    results = []
    for sentence in source:
        sentence = sentence.unsqueeze(0)
        with torch.no_grad():
            memory = model.encode(sentence)
            tokens = [bos_id]
            while len(tokens) < max_len:
                y = torch.tensor([tokens], device=source.device)
                scores = model.project(model.decode(y, memory, sentence))
                tokens.append(int(torch.argmax(scores[0, -1])))
                if tokens[-1] == eos_id:
                    break
        results.append(torch.tensor(tokens, device=source.device))
    return pad_sequence(results, batch_first=True, padding_value=model.config.pad_id)
