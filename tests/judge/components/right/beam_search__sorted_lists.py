"""kind: beam_search
name: beam_search
style: Python lists of tuples, sorted(); finished hypotheses leave the beam, unfinished ones compete at max_len"""
# The score divides by ((5 + n) / 6) ** length_penalty with n = generated tokens, eos included, bos not.


def beam_search(next_log_probs, bos_id, eos_id, max_len, beam_size, length_penalty):
    def score(hyp):
        ids, log_prob = hyp
        return log_prob / ((5 + len(ids) - 1) / 6) ** length_penalty

    beams = [([bos_id], 0.0)]
    done = []
    while beams and len(beams[0][0]) < max_len:
        candidates = []
        for ids, log_prob in beams:
            for token, lp in enumerate(next_log_probs(ids)):
                candidates.append((ids + [token], log_prob + float(lp)))
        candidates = sorted(candidates, key=lambda c: c[1], reverse=True)[:beam_size]
        beams = []
        for c in candidates:
            (done if c[0][-1] == eos_id else beams).append(c)
    return max(done + beams, key=score)
