"""kind: beam_search
name: beam_search
style: tensor of beams, flat topk over beam * vocab, 2 * beam candidates so that the beam stays full (fairseq idea)"""
import torch

# length = generated tokens without bos (eos counted); penalty ((5 + length) / 6) ** alpha


def beam_search(next_log_probs, bos_id, eos_id, max_len, beam_size, length_penalty):
    tokens = torch.tensor([[bos_id]])
    scores = torch.zeros(1, dtype=torch.float64)
    finished = []                                   # (normalised, ids, log_prob)

    def norm(lp, n):
        return lp / ((5.0 + n) / 6.0) ** length_penalty

    for step in range(1, max_len):
        lprobs = torch.stack([torch.as_tensor(next_log_probs(row.tolist()), dtype=torch.float64) for row in tokens])
        vocab = lprobs.size(1)
        total = (scores[:, None] + lprobs).flatten()
        top, flat = total.topk(min(2 * beam_size, total.numel()))
        beam_idx, tok = flat // vocab, flat % vocab
        next_tokens, next_scores = [], []
        for rank, (s, b, t) in enumerate(zip(top.tolist(), beam_idx.tolist(), tok.tolist())):
            if s == float("-inf"):
                continue
            ids = tokens[b].tolist() + [t]
            if t == eos_id:
                if rank < beam_size:
                    finished.append((norm(s, step), ids, s))
            elif len(next_tokens) < beam_size:
                next_tokens.append(ids)
                next_scores.append(s)
        if not next_tokens:
            break
        tokens, scores = torch.tensor(next_tokens), torch.tensor(next_scores, dtype=torch.float64)
        # no live beam can win any more: log-probs only fall, the penalty is largest at max_len
        if len(finished) >= beam_size and length_penalty >= 0:
            bound = norm(scores.max().item(), max_len - 1)
            if max(f[0] for f in finished) >= bound:
                break
    else:
        finished += [(norm(s, max_len - 1), row.tolist(), s) for row, s in zip(tokens, scores.tolist())]
    if not finished:
        return tokens[0].tolist(), scores[0].item()
    best = max(finished, key=lambda f: f[0])
    return best[1], best[2]
