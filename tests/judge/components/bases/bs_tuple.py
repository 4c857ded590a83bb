"""kind: beam_search
name: beam_search
"""
def beam_search(next_log_probs, bos_id, eos_id, max_len, beam_size, length_penalty):
    def normalised(ids, total):
        n = len(ids) - 1
        return total / ((5 + n) / 6) ** length_penalty

    beams = [([bos_id], 0.0)]
    done = []
    while beams and len(beams[0][0]) < max_len:
        candidates = []
        for ids, total in beams:
            lp = next_log_probs(ids)
            for token in range(len(lp)):
                candidates.append((ids + [token], total + float(lp[token])))
        candidates.sort(key=lambda c: c[1], reverse=True)
        beams = []
        for ids, total in candidates[:beam_size]:
            if ids[-1] == eos_id:
                done.append((ids, total))
            else:
                beams.append((ids, total))
    done.extend(beams)
    return max(done, key=lambda c: normalised(*c))
