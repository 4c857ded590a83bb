"""kind: beam_search
name: run_beam
style: Beam class with advance(), completed hypotheses kept apart and compared with the survivors by the length-normalised score, camelCase"""
import math


class Beam:
    def __init__(self, bos, eos, width, alpha):
        self.eos, self.width, self.alpha = eos, width, alpha
        self.live = {(bos,): 0.0}
        self.completed = {}

    # |Y| = number of generated tokens; the start symbol is given, not generated
    def lengthPenalty(self, seq):
        return math.pow((5.0 + (len(seq) - 1)) / 6.0, self.alpha)

    def advance(self, nextLogProbs):
        extended = {}
        for seq, logp in self.live.items():
            step = nextLogProbs(list(seq))
            step = step.tolist() if hasattr(step, "tolist") else list(step)
            for tok in range(len(step)):
                if step[tok] > -math.inf:
                    extended[seq + (tok,)] = logp + step[tok]
        ranking = sorted(extended, key=extended.get)
        ranking.reverse()
        self.live = {}
        for seq in ranking[: self.width]:
            target = self.completed if seq[-1] == self.eos else self.live
            target[seq] = extended[seq]

    def best(self):
        everything = {**self.live, **self.completed}
        seq = max(everything, key=lambda s: everything[s] / self.lengthPenalty(s))
        return list(seq), everything[seq]


def run_beam(nextLogProbs, bos, eos, maxLen, beamSize, lengthPenalty):
    beam = Beam(bos, eos, beamSize, lengthPenalty)
    produced = 1
    while produced < maxLen and beam.live:
        beam.advance(nextLogProbs)
        produced += 1
    return beam.best()
