"""Which of somebody's parameters is which? Guesses, the most likely first; what a guess computes decides."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import permutations

import torch
from torch import Tensor

from transformer_edu.book.exercises.judge.model import Affine, Gain, Heads, Layer, Machine

Named = dict[str, Tensor]  # parameters by their names, in the order in which they were made; Linear's are (out, in)
ROLES = {
    "query": re.compile(r"quer|(^|[._])(w_?|to_?|c_?)?q(s|w|[._]?proj\w*)?($|[._\d])|^wq|_q$"),
    "key": re.compile(r"(^|[._])(w_?|to_?|c_?)?k(s|w|[._]?proj\w*)?($|[._\d])|key|^wk|_k$"),
    "value": re.compile(r"val|(^|[._])(w_?|to_?|c_?)?v(s|w|[._]?proj\w*)?($|[._\d])|^wv|_v$"),
    "output": re.compile(
        r"out|(^|[._])(w_?|to_?|c_?)?o([._]?proj\w*)?($|[._])|^wo|_o$|^proj|c_proj|dense|merge|unify|fc"
    ),
}
FINAL = "query", "key", "value", "output"
GUESSES = 400


def role_of(name: str) -> str | None:
    """What a parameter's name says that it is for, if it says one thing only."""
    path = name.lower().rsplit(".", 1)[0] if name.lower().endswith((".weight", ".bias")) else name.lower()
    for part in reversed(path.split(".")):
        found = [role for role, pattern in ROLES.items() if pattern.search(part)]
        if len(found) == 1:
            return found[0]
    return None


def owner(name: str) -> str:
    """The module that a parameter belongs to."""
    return name.rpartition(".")[0]


def bias_of(name: str, named: Named, size: int) -> Tensor | None:
    """The bias that stands beside a matrix: of the same module, or with a name like its own."""
    ending = name.rpartition(".")[2]
    likely = [f"{owner(name)}.bias", "bias"] if ending == "weight" else []
    own = name.removesuffix(ending)
    likely += [
        own + ending.replace(*pair) for pair in (("W", "b"), ("w", "b"), ("weight", "bias")) if pair[0] in ending
    ]
    likely += [own + "b_" + ending.lower().removeprefix("w_").removeprefix("w")]
    for one in likely:
        one = one.lstrip(".")
        if one in named and named[one].numel() == size:
            return named[one].reshape(size)
    return None


def affine(name: str, named: Named, into: int, out: int, turned: bool) -> Affine:
    """One matrix as (in, out), with its bias; `turned` where it is kept as (out, in)."""
    matrix = named[name]
    return Affine(matrix.T if turned else matrix.reshape(into, out), bias_of(name, named, out))


class NotFound(Exception):  # noqa: N818 (a finding)
    """Parameters that a component has to have are not there; the text says which."""


def heads_of(named: Named, d_model: int, num_heads: int, linear: set[str]) -> Iterator[Heads]:
    """The projections of one attention, from its parameters, in every arrangement that fits."""
    named = _unstacked(named, d_model)
    whole = [name for name, one in named.items() if one.shape == (d_model, d_model)]
    packed = [name for name, one in named.items() if sorted(one.shape) == [d_model, 3 * d_model]]
    cut = [name for name, one in named.items() if one.dim() >= 2 and one.numel() == d_model * d_model]
    cut = [name for name in cut if name not in whole]
    small = [name for name, one in named.items() if sorted(one.shape) == sorted((d_model, d_model // num_heads))]
    pair = [name for name, one in named.items() if sorted(one.shape) == [d_model, 2 * d_model]]
    if packed:
        yield from _packed(named, packed[0], whole, d_model, num_heads, linear)
    elif pair and whole:
        yield from _pair(named, pair[0], whole, d_model, linear)
    elif len(small) >= 3 * num_heads:
        yield from _each_head(named, small, whole, d_model, num_heads, linear)
    elif len(whole) + len(cut) >= 3:
        yield from _four(named, whole, cut, d_model, linear)
    else:
        raise NotFound(f"{len(whole)} matrices of d_model × d_model, expected four: W_Q, W_K, W_V and W_O")


def _unstacked(named: Named, d_model: int) -> Named:
    """A stack of three or four matrices as so many parameters."""
    apart: Named = {}
    for name, one in named.items():
        if one.dim() == 3 and one.shape[0] in (3, 4) and one.shape[1:] == (d_model, d_model):
            apart |= {f"{name}[{i}]": part for i, part in enumerate(one)}
        else:
            apart[name] = one
    return apart


def _four(named: Named, whole: list[str], cut: list[str], d_model: int, linear: set[str]) -> Iterator[Heads]:
    """A matrix each, or a stack of one for each head."""
    names = [name for name in named if name in whole + cut][:4]
    told = {role_of(name): name for name in names}
    orders = [tuple(told[role] for role in FINAL)] if set(told) >= set(FINAL) else []
    missing = len(names) == 3
    orders += [(key, query, value, output) for query, key, value, output in orders]  # only names that lie
    orders = orders or list(permutations(names, len(names)))
    for raw_turned in (False, True):
        for order in orders:
            found = [
                _square(one, named, d_model, one in linear or raw_turned, place) for place, one in enumerate(order)
            ]
            yield Heads(found[0], found[1], found[2], None if missing else found[3])
        if all(name in linear for name in names):
            return


def _square(name: str, named: Named, d_model: int, turned: bool, place: int) -> Affine:
    """A matrix (d_model, d_model), also from (heads, d_model, d_head) or (d_model, heads, d_head)."""
    one = named[name]
    if one.dim() == 2 and one.shape[0] == d_model:
        return affine(name, named, d_model, d_model, turned)
    if one.dim() == 3 and place < 3 and one.shape[1] == d_model:
        one = one.transpose(0, 1)
    elif one.dim() == 3 and place < 3 and one.shape[2] == d_model:
        one = one.permute(2, 0, 1)
    elif one.dim() == 3 and place == 3 and one.shape[1] == d_model:
        one = one.transpose(1, 2)
    return Affine(one.reshape(d_model, d_model), bias_of(name, named, d_model))


def _packed(
    named: Named, name: str, whole: list[str], d_model: int, num_heads: int, linear: set[str]
) -> Iterator[Heads]:
    matrix = named[name].T if named[name].shape[0] == 3 * d_model else named[name]  # (d_model, 3 · d_model)
    bias = named.get(name.replace("weight", "bias")) if "weight" in name else None
    bias = bias if bias is not None else bias_of(name, named, 3 * d_model)
    cuts = [(3, d_model), (num_heads, 3, d_model // num_heads), (num_heads, d_model // num_heads, 3)]
    places = [0, 1, 2]
    for cut, place in zip(cuts, places, strict=True):
        weights = matrix.unflatten(1, cut).movedim(place + 1, 0).reshape(3, d_model, d_model)
        biases = None if bias is None else bias.unflatten(0, cut).movedim(place, 0).reshape(3, d_model)
        three = [Affine(weights[i], None if biases is None else biases[i]) for i in range(3)]
        for order in permutations(range(3)):
            yield from _with_output(named, whole, [three[i] for i in order], d_model, linear)


def _pair(named: Named, name: str, whole: list[str], d_model: int, linear: set[str]) -> Iterator[Heads]:
    matrix = named[name].T if named[name].shape[0] == 2 * d_model else named[name]
    bias = bias_of(name, named, 2 * d_model)
    both = [
        Affine(w, None if bias is None else b)
        for w, b in zip(
            matrix.chunk(2, 1), (bias if bias is not None else matrix.new_zeros(2 * d_model)).chunk(2), strict=True
        )
    ]
    for query in whole:
        rest = [one for one in whole if one != query]
        for key, value in (both, both[::-1]):
            three = [affine(query, named, d_model, d_model, query in linear), key, value]
            yield from _with_output(named, rest, three, d_model, linear)


def _each_head(
    named: Named, small: list[str], whole: list[str], d_model: int, num_heads: int, linear: set[str]
) -> Iterator[Heads]:
    by_role: dict[str | None, list[str]] = {}
    for name in small:
        by_role.setdefault(role_of(name), []).append(name)
    by_name = [by_role.get(role, []) for role in FINAL[:3]]
    groups = [by_name] if all(len(group) == num_heads for group in by_name) else []
    groups += [[small[i::3] for i in range(3)], [small[i * num_heads : (i + 1) * num_heads] for i in range(3)]]
    for three in groups:
        for order in permutations(three):
            joined = [_joined(names, named, d_model, linear) for names in order]
            yield from _with_output(named, whole, joined, d_model, linear)


def _joined(names: list[str], named: Named, d_model: int, linear: set[str]) -> Affine:
    parts = [affine(name, named, d_model, d_model // len(names), named[name].shape[1] == d_model) for name in names]
    biases = [part.bias for part in parts if part.bias is not None]
    return Affine(torch.cat([part.weight for part in parts], 1), torch.cat(biases) if biases else None)


def _with_output(
    named: Named, whole: list[str], three: list[Affine], d_model: int, linear: set[str]
) -> Iterator[Heads]:
    for name in whole[-1:]:
        yield Heads(three[0], three[1], three[2], affine(name, named, d_model, d_model, name in linear))
        if name not in linear:
            yield Heads(three[0], three[1], three[2], affine(name, named, d_model, d_model, True))
    if not whole:
        yield Heads(three[0], three[1], three[2], None)


def inner_width(named: Named, d_model: int, others: Collection[int]) -> int | None:
    """How wide a feed-forward network is within: the commonest other side of matrices with a side of d_model."""
    sides = [one.squeeze().shape for one in named.values() if one.squeeze().dim() == 2]
    widths = Counter(sum(shape) - d_model for shape in sides if d_model in shape)
    for known in (*others, 3 * d_model):
        del widths[known]
    return widths.most_common(1)[0][0] if widths else None


def thinking(named: Named, d_model: int, d_ff: int) -> tuple[Affine, Affine]:
    """The two matrices of the feed-forward network, by their shapes and their order."""
    fit = [name for name, one in named.items() if sorted(one.squeeze().shape) == sorted((d_model, d_ff))]
    if len(fit) != 2:
        raise NotFound(f"{len(fit)} matrices of d_model × d_ff, expected two")
    first, second = (named[name].squeeze() for name in fit)
    if first.shape == second.shape:
        raise NotFound("two matrices of the same shape, expected (d_model, d_ff) and (d_ff, d_model)")
    raw = first.shape == (d_model, d_ff) and not fit[0].endswith("weight")
    turned = first.shape == (d_ff, d_model)
    if first.shape == (d_model, d_ff) and not raw:
        fit.reverse()  # made in the other order
        first, second, turned = second, first, True
    inner = Affine(first.T if turned else first, bias_of(fit[0], named, d_ff))
    outer = Affine(second.T if turned else second, bias_of(fit[1], named, d_model))
    return _loose_biases(named, inner, outer)


def _loose_biases(named: Named, inner: Affine, outer: Affine) -> tuple[Affine, Affine]:
    """Biases whose names do not go with their matrices' are told by their sizes."""
    vectors = [one.reshape(-1) for one in named.values() if one.numel() == max(one.shape, default=0)]
    found = []
    for part in (inner, outer):
        fit = [one for one in vectors if one.numel() == part.weight.shape[1]]
        found.append(Affine(part.weight, fit[0] if part.bias is None and len(fit) == 1 else part.bias))
    return found[0], found[1]


def gains(named: Named, d_model: int, ones: set[str]) -> list[Gain]:
    """γ and β of each norm, in the order in which the norms were made; `ones` started as ones, others as zeros."""
    gammas = [name for name, one in named.items() if name in ones and one.numel() == d_model]
    others = [name for name, one in named.items() if name not in ones and one.numel() == d_model]
    found = []
    for gamma in gammas:
        near = [one for one in others if all(_shared(one, gamma) >= _shared(one, other) for other in gammas)]
        beta = max(near, key=lambda one: _shared(one, gamma), default=None)
        zeros = torch.zeros(d_model)
        found.append(Gain(named[gamma].reshape(-1), zeros if beta is None else named[beta].reshape(-1)))
    return found


def _shared(one: str, other: str) -> int:
    """The length of what two names begin with."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def layers_of(
    named: Named, d_model: int, num_heads: int, d_ff: int, linear: set[str], ones: set[str], cross: bool
) -> Iterator[Layer]:
    """The weights of a layer, in every arrangement that fits."""
    inside = [n for n, one in named.items() if _belongs_to_attention(one, d_model, num_heads, d_ff)]
    attentions = _attentions({n: named[n] for n in inside}, named, 2 if cross else 1, d_model)
    wide = {n: one for n, one in named.items() if sorted(one.squeeze().shape) == sorted((d_model, d_ff))}
    near = {owner(n) for n in wide}
    biases = {
        n: one
        for n, one in named.items()
        if one.dim() == 1 and n not in ones and (owner(n) in near or one.numel() == d_ff)
    }
    inner, outer = thinking({n: one for n, one in named.items() if n in wide or n in biases}, d_model, d_ff)
    used = set(inside) | set(wide)
    norm_owners = {owner(n) for n in ones}
    vectors = {
        n: one for n, one in named.items() if n not in used and one.numel() == d_model and owner(n) in norm_owners
    }
    found = gains(vectors, d_model, ones)
    want = 3 if cross else 2
    found += [Gain(torch.ones(d_model), torch.zeros(d_model))] * (want - len(found))
    arrangements = list(permutations(found[:want])) if len(found) >= want else [tuple(found)]
    for pairs in zip(*(heads_of(part, d_model, num_heads, linear) for part in attentions), strict=False):
        for two in (pairs, pairs[::-1]) if cross else (pairs,):
            for norms in arrangements:
                yield Layer(two[0], two[1] if cross else None, inner, outer, norms)


def _belongs_to_attention(one: Tensor, d_model: int, num_heads: int, d_ff: int) -> bool:
    widths = {d_model, 3 * d_model, 2 * d_model, d_model // num_heads} - {d_ff}
    shapes = [(d_model, width) for width in widths]
    return sorted(one.shape) in [sorted(shape) for shape in shapes] or (
        one.dim() == 3 and one.numel() == d_model * d_model
    )


def _attentions(matrices: Named, named: Named, count: int, d_model: int) -> list[Named]:
    """The parameters of one attention each: matrices of one size between them, with the vectors beside them."""
    share = d_model * d_model * 4
    parts: list[Named] = [{}]
    names = list(matrices)
    if count == 2:  # two attentions written as eight matrices of one module may be interleaved: names tell
        cross = [n for n in names if re.search(r"cross|src|enc|memory|mem|second|2|inter", n.lower())]
        if sum(matrices[n].numel() for n in cross) == share:
            names = [n for n in names if n not in cross] + cross
    size = 0
    for name in names:
        if size >= share and len(parts) < count:
            parts.append({})
            size = 0
        parts[-1][name] = matrices[name]
        size += matrices[name].numel()
    if len(parts) != count:
        raise NotFound(f"matrices for {len(parts)} attentions, expected {count}")
    for part in parts:
        near = {owner(n) for n in part} | {n.rsplit("_", 1)[0] for n in part}
        part.update({n: v for n, v in named.items() if v.dim() == 1 and (owner(n) in near or bias_like(n, part))})
    return parts


def bias_like(name: str, matrices: Mapping[str, Tensor]) -> bool:
    """Whether a vector's name is a matrix's with b in the place of W, or bias in the place of weight."""
    return any(name in (m.replace("weight", "bias"), m.replace("W", "b"), m.replace("w", "b", 1)) for m in matrices)


def machines_of(
    named: Named,
    sizes: Mapping[str, int],
    linear: set[str],
    ones: set[str],
) -> Iterator[Machine]:
    """The weights of a whole Transformer, in every arrangement that fits."""
    d_model, layers = sizes["d_model"], sizes.get("num_layers")
    source, target, projection = _vocabularies(named, sizes)
    blocks: dict[str, Named] = {}
    loose: Named = {}
    for name, one in named.items():
        numbered = re.match(r"(.*?[._]\d+)[._]", name)
        if numbered and (one.dim() < 2 or one.shape[0] not in (sizes["source_vocab"], sizes["target_vocab"])):
            blocks.setdefault(numbered.group(1), {})[name] = one
        else:
            loose[name] = one
    blocks = {name: part for name, part in blocks.items() if any(one.dim() > 1 for one in part.values())}
    per = 4 * d_model * d_model
    is_decoder = {
        name: sum(
            v.numel() for v in part.values() if _belongs_to_attention(v, d_model, sizes["num_heads"], sizes["d_ff"])
        )
        >= 2 * per
        for name, part in blocks.items()
    }
    encoder = [part for name, part in blocks.items() if not is_decoder[name]]
    decoder = [part for name, part in blocks.items() if is_decoder[name]]
    if not encoder or not decoder or (layers and not len(encoder) == len(decoder) == layers):
        raise NotFound(f"{len(encoder)} encoder and {len(decoder)} decoder layers, expected {layers or 'some'} of each")
    final = gains(
        {n: v for n, v in loose.items() if v.numel() == d_model and owner(n) in {owner(o) for o in ones}}, d_model, ones
    )
    plans = [
        zip(
            *(layers_of(part, d_model, sizes["num_heads"], sizes["d_ff"], linear, ones, cross) for part in parts),
            strict=False,
        )
        for parts, cross in ((encoder, False), (decoder, True))
    ]
    left, right = (list(_first(plan, 12)) for plan in plans)
    finals: list[tuple[Gain, ...]] = [tuple(final[:2])] if len(final) >= 2 else [()]
    for i, there in enumerate(right):
        for here in left[: 2 if i else None]:
            for last in finals:
                yield Machine(source, target, tuple(here), tuple(there), projection, last)


def _first(items: Iterator[tuple[Layer, ...]], count: int) -> Iterator[tuple[Layer, ...]]:
    for index, one in enumerate(items):
        if index >= count:
            return
        yield one


def _vocabularies(named: Named, sizes: Mapping[str, int]) -> tuple[Tensor, Tensor, Affine]:
    d_model, source_size, target_size = sizes["d_model"], sizes["source_vocab"], sizes["target_vocab"]
    sources = [n for n, one in named.items() if one.shape == (source_size, d_model)]
    targets = [n for n, one in named.items() if sorted(one.shape) == sorted((target_size, d_model))]
    if not sources or not targets:
        raise NotFound("no table (vocab, d_model) for each of the two languages")
    source = named[sources[0]]
    told = [n for n in targets if re.search(r"emb|tok|lut|lookup|wte", n.lower())]
    table = told[0] if told else targets[0]
    rest = [n for n in targets if n != table]
    last = rest[0] if rest else table  # tied
    matrix = named[last]
    bias = [v for v in named.values() if v.shape == (target_size,)]
    weight = matrix.T if matrix.shape == (target_size, d_model) else matrix
    return source, named[table], Affine(weight, bias[0] if bias else None)
