"""kind: beam_search
name: beam_decode
style: dataclass nodes with parent pointers, heapq.nlargest; finished hypotheses keep their place in the beam"""
from __future__ import annotations

import heapq
from dataclasses import dataclass


@dataclass
class Node:
    parent: Node | None
    token: int
    log_prob: float
    length: int            # tokens generated so far: bos is not counted, eos is

    def ids(self) -> list[int]:
        out, node = [], self
        while node is not None:
            out.append(node.token)
            node = node.parent
        return out[::-1]


def beam_decode(next_log_probs, bos_id, eos_id, max_len, beam_size, length_penalty):
    beam = [Node(None, bos_id, 0.0, 0)]
    for _ in range(max_len - 1):
        pool = []
        for node in beam:
            if node.length and node.token == eos_id:
                pool.append(node)
                continue
            lps = next_log_probs(node.ids())
            pool.extend(Node(node, t, node.log_prob + float(lp), node.length + 1) for t, lp in enumerate(lps))
        beam = heapq.nlargest(beam_size, pool, key=lambda n: n.log_prob)
        if all(n.token == eos_id for n in beam):
            break
    winner = max(beam, key=lambda n: n.log_prob / ((5 + n.length) / 6) ** length_penalty)
    return winner.ids(), winner.log_prob
