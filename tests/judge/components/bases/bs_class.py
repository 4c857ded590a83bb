"""kind: beam_search
name: beam_decode
"""
import torch


class Node:
    def __init__(self, ids, logp, ended=False):
        self.ids, self.logp, self.ended = ids, logp, ended

    def score(self, alpha):
        length = len(self.ids) - 1
        return self.logp / (((5.0 + length) / 6.0) ** alpha)


def beam_decode(next_log_probs, bos_id, eos_id, max_len, beam_size, length_penalty):
    active = [Node([bos_id], 0.0)]
    finished = []
    for _ in range(max_len - 1):
        pool = []
        for node in active:
            logp = torch.as_tensor(next_log_probs(list(node.ids)), dtype=torch.float64)
            k = min(beam_size, logp.numel())
            values, tokens = logp.topk(k)
            for value, token in zip(values.tolist(), tokens.tolist()):
                child = Node(node.ids + [token], node.logp + value, token == eos_id)
                pool.append(child)
        pool.sort(key=lambda n: -n.logp)
        best = pool[:beam_size]
        finished += [n for n in best if n.ended]
        active = [n for n in best if not n.ended]
        if not active:
            break
    winner = max(finished + active, key=lambda n: n.score(length_penalty))
    return winner.ids, winner.logp
