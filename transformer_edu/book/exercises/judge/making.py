"""How somebody's class is made and called: what its parameters' names say, and else the order of the contract."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.judge.experiment import tensor_of

NONSENSE = "no_part_has_this"  # an option, by which those are found that take any
TAKES_MASK = "mask"  # said of what takes a mask beside x
TARGETS = re.compile("target|label|^y$")
SAID = {  # names that leave no doubt
    "d_turned": r"^(?!.*(theta|base|scal|max|use|n_?ope)).*(rope|rotary|rot_|turn)|_pe(_dim)?$|^d_?r(h|k)?$",
    "rank": r"^(?!q_).*(rank|lora|latent|compress)|^d_?c(kv)?$|^r$|^(kv|d_kv)_?(dim|size|low|down)$",
    "top_k": r"top|^k$|per_tok|activ|select|chosen|used",
    "num_experts": r"expert",
    "num_kv_heads": r"kv_?h|(kv|key|value|group)\w*head|n(um)?_?(kv|groups?|query_groups)$|^(n_)?kv$|groups",
    "source_vocab": r"(src|source|input|inp|enc\w*)_?(vocab|n_?tok|num|size|dict)|^(src|source)_v|^n_src"
    r"|vocab\w*(src|in$)|словар\w*_?(ист|вх)|源\w*词",
    "target_vocab": r"(tgt|trg|target|output|out|dec\w*)_?(vocab|n_?tok|num|size|dict)|^(tgt|target|trg)_v|^n_tgt"
    r"|vocab\w*(tgt|trg|out$)|словар\w*_?(цел|вых)|目标\w*词",
    "vocab_size": r"vocab|num_embeddings|n_tok|num_tok|словар|词表",
    "num_heads": r"head|^h$|kopf|köpf|koepf|cabe[zcç]a|t[eê]tes?$|teste$|голов|头",
    "num_layers": r"layers|layer_?num|n_?layer|depth|^n$|blocks|schicht|capas|couche|strati|camada|сло[её]в|层",
    "d_ff": r"^(?!.*(drop|ratio|mult|factor)).*(ff|feed|mlp|inter|inner|filter|cach[eé]e|nascost|ocult|внутр|前馈)"
    r"(?!.*out)",
    "max_len": r"^(?!.*(type|base|bias|slope|norm|cap)).*(max|position|block_size|context|seq_?len|n_ctx|длин|长)",
    "dropout": r"drop|abandon|ausfall|^p$|^rate$|^p_|дропаут|丢弃",
    "pad_id": r"pad|bourrage|пуст|填充",
    "eps": r"eps",
    "d_model": r"^d_?(in|out)$|^(in|out)_(features|channels)$|ширин|размер|维",
}
LIKELY = {
    "d_head": r"dim|head|^d$|size|rotary",
    "d_model": r"^(?!.*(vocab|scale|_act)).*(model|emb|dim|width|feature|^d$|^c$|size|shape|channel|hid|units|out)",
    "d_ff": r"^(?!.*_act).*(hid|dim|size|out)",
}
USUAL = {  # what an argument or field gets that is none of a kind's options
    r"^bias$|qkv_bias|use_bias|_bias$": True,
    r"^device$": "cpu",
    r"theta|rope|^base$": 10_000.0,
    r"eps": 1e-5,
    r"type": None,
    r"context|block_size|max_|position": 512,
    r"init|std": 0.02,
    r"act": "relu",
    r"^(use|is|add|output|return|do)_": False,
}
OF_A_HEAD = r"^d_?(k|v|q|kv|h|head|nope|value)$|^(dim_head|(v_)?head_(dim|size)|v_dim|d_?keys?|d_?values?)$|nope"
ONE_VOCABULARY = "one vocabulary"  # said in the place of two, by what has the same for both languages


def meaning(name: str, wanted: Mapping[str, Any], names: Mapping[str, str] = SAID) -> str | None:
    """What a parameter of this name is, among what there is to give."""
    return next((key for key, pattern in names.items() if key in wanted and re.search(pattern, name.lower())), None)


def usual(name: str, values: Mapping[str, Any]) -> Any:
    """What a parameter of this name gets beside a kind's own options: the size of a head, a usual field; else None."""
    if re.search(OF_A_HEAD, name.lower()) and "d_head" in values:
        return values["d_head"]
    if re.search(OF_A_HEAD, name.lower()) and "num_heads" in values:
        return values["d_model"] // values["num_heads"]
    if "dtype" in name.lower():
        return torch.get_default_dtype()
    if re.search(SAID["num_kv_heads"], name.lower()) and "num_heads" in values and "num_kv_heads" not in values:
        return values["num_heads"]
    return next((value for pattern, value in USUAL.items() if re.search(pattern, name.lower())), None)


class Settings(SimpleNamespace):
    """A configuration that answers to every usual name of a field."""

    def __getattr__(self, name: str) -> Any:
        values, taken = vars(self)["values"], vars(self)["taken"]
        found = meaning(name, values)
        if found is None and re.search(SAID["vocab_size"], name.lower()) and "target_vocab" in values:
            found = "target_vocab"
            taken.add(ONE_VOCABULARY)
        found = found or meaning(name, values, LIKELY)
        if (found is None or re.search(OF_A_HEAD, name.lower())) and usual(name, values) is not None:
            return usual(name, values)
        if found is None:
            raise AttributeError(f"the configuration has {', '.join(values)}, got {name!r}")
        taken.add(found)
        return values[found]

    def get(self, name: str, default: Any = None) -> Any:
        """As a dictionary's."""
        return getattr(self, name, default)

    __getitem__ = __getattr__


def make(target: Any, values: Mapping[str, Any]) -> tuple[Any, set[str]]:
    """Call `target` with these values, by name where its parameters' names say what they are, else in this order.

    Returns what it gives, and the names of those values that it took.
    """
    parameters = [
        p for p in inspect.signature(target).parameters.values() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    ]
    if not parameters:
        return target(*list(values.values())[:1]), set(list(values)[:1])
    rest = [p.name for p in parameters[1:] if p.default is p.empty]
    if re.search("conf|cfg|args|param|opt|setting|^hp", parameters[0].name.lower()) and all(
        re.search("layer|idx|index", name) for name in rest
    ):
        first = dict.fromkeys(rest, 0)  # which layer it is, beside the configuration
        if inspect.isclass(kept := _annotated(target, parameters[0])) and is_dataclass(kept):
            configuration, taken = make(kept, values)
            return target(configuration, **first), taken
        taken = set()
        try:
            return target(Settings(values=dict(values), taken=taken), **first), taken
        except AttributeError:  # of a field that nobody else has
            beside = _configurations(target)
            if len(beside) != 1:
                raise
            configuration, taken = make(beside[0], values)
            return target(configuration, **first), taken
    given, taken = _given(parameters, values)
    positional = [given.pop(parameter.name) for parameter in parameters if parameter.kind is parameter.POSITIONAL_ONLY]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in inspect.signature(target).parameters.values()):
        left = {name: value for name, value in values.items() if name not in taken and "vocab" not in name}
        more = _passed_on(partial(target, *positional, **given), {NONSENSE: None} | left)
        taken |= set() if NONSENSE in more else set(more)  # what takes any name need not use one
        given = {name: value for name, value in more.items() if name != NONSENSE} | given
    return target(*positional, **given), taken


def _passed_on(target: Callable[..., Any], more: dict[str, Any]) -> dict[str, Any]:
    """Those of these values that `target` takes by **, found by trying."""
    while True:
        try:
            target(**more)
        except (TypeError, ValueError, LookupError) as error:
            refused = re.search(r"(?:unexpected keyword argument '|^)(\w+)(?:'|=)", str(error))
            if refused is None or refused[1] not in more:
                return {}
            del more[refused[1]]
        else:
            return more


def _given(parameters: list[inspect.Parameter], values: Mapping[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """Which parameter gets what: names that leave no doubt, names that are likely, then the order of the contract."""
    parameters = [parameter for parameter in parameters if not isinstance(parameter.default, str)]  # a name: it stays
    given: dict[str, Any] = {}
    taken: set[str] = set()
    vocabularies = [parameter for parameter in parameters if re.search(SAID["vocab_size"], parameter.name.lower())]
    named = {known for parameter in vocabularies if (known := meaning(parameter.name, values))}
    for parameter in parameters:
        known = None if re.search(OF_A_HEAD, parameter.name.lower()) else meaning(parameter.name, values)
        if known is None and parameter in vocabularies and "target_vocab" in values:
            known = "source_vocab" if "target_vocab" in named else "target_vocab"
            taken |= {ONE_VOCABULARY} if [parameter] == vocabularies else set()
        if known and (known not in taken or "vocab" not in known):  # one number may go to both stacks
            given[parameter.name] = values[known]
            taken.add(known)
    given |= {field.name: usual(field.name, values) for field in parameters if re.search(OF_A_HEAD, field.name.lower())}
    for place, parameter in enumerate(parameters):
        known = meaning(parameter.name, values, LIKELY)
        inner = "d_ff" in values and "d_ff" not in taken and re.search("hid", parameter.name.lower())
        if (
            known == "d_model"
            and inner
            and ("d_model" in taken or any(p.name not in given for p in parameters[:place]))
        ):
            known = "d_ff"  # the hidden width behind another one
        if parameter.name not in given and known and known not in taken:
            given[parameter.name] = values[known]
            taken.add(known)
    demanded = {field.name: usual(field.name, values) for field in parameters if field.default is field.empty}
    given = {name: value for name, value in demanded.items() if value is not None} | given
    if "dropout" in values and "dropout" not in taken:  # in any language: a probability, 0 unless it is said
        free = [parameter for parameter in parameters if parameter.name not in given]
        zero = [parameter.name for parameter in free if isinstance(parameter.default, float) and not parameter.default]
        given |= dict.fromkeys(zero[:1], values["dropout"])
        taken |= {"dropout"} if zero else set()
    left = [name for name in values if name not in taken and name not in ("eps", "pad_id", "max_len")]
    for parameter in parameters:
        if parameter.name not in given and left and parameter.default is parameter.empty:
            taken.add(left[0])
            given[parameter.name] = values[left.pop(0)]
    return given, taken


def _configurations(target: Any) -> list[type]:
    """The classes beside a component that are called configurations."""
    scope = getattr(inspect.getmodule(target), "__dict__", {})
    return [item for name, item in scope.items() if inspect.isclass(item) and re.search("conf|cfg|args$", name.lower())]


def _annotated(target: Any, parameter: inspect.Parameter) -> Any:
    """The annotation of a parameter, also where it is written as a string."""
    scope = getattr(inspect.getmodule(target), "__dict__", {})
    name = parameter.annotation
    return scope.get(name, name) if isinstance(name, str) else name


def _parameters(component: Any) -> list[inspect.Parameter]:
    """What a component's call takes, in order; nothing where it does not say."""
    try:
        return list(inspect.signature(getattr(component, "forward", component)).parameters.values())
    except (TypeError, ValueError):
        return []


def parameter_names(component: Any) -> list[str]:
    """The names of what a component's call takes, in order."""
    return [parameter.name for parameter in _parameters(component)]


def _demanded(parameters: list[inspect.Parameter]) -> dict[str, None]:
    """None for each mask that has to be handed over."""
    return {gap.name: None for gap in parameters if gap.default is gap.empty and re.search("mask", gap.name.lower())}


def called(component: Any, inputs: tuple[Any, ...]) -> Any:
    """Call a component with its inputs, and with None for masks that it demands and nobody hands over."""
    places = [gap for gap in _parameters(component) if gap.kind in (gap.POSITIONAL_OR_KEYWORD, gap.POSITIONAL_ONLY)]
    return component(*inputs, **_demanded(places[len(inputs) :]))


def logits_of(answer: Any) -> Any:
    """The logits of a model's answer, beside which a loss or others may stand."""
    if isinstance(answer, tuple | list):
        return next((part for part in answer if isinstance(part, torch.Tensor) and part.dim() == 3), answer)
    return answer.get("logits", answer) if isinstance(answer, dict) else getattr(answer, "logits", answer)


class Untaken(Exception):  # noqa: N818 (a finding)
    """A component is handed what it has no argument for."""


def mask_of(component: Any) -> str | None:
    """The argument of a component, beside x, that is its mask; None if it takes none."""
    return next((name for name in parameter_names(component)[1:] if re.search("mask|bias", name.lower())), None)


def of_x(component: Any, inputs: tuple[Any, ...]) -> Any:
    """Call a component with x, and with its mask, if there is one; Untaken where it takes none."""
    name = mask_of(component)
    if len(inputs) == 1:
        demanded = _demanded(_parameters(component)[1:])
        try:
            return component(inputs[0], **demanded)
        except (TypeError, AttributeError):
            if not demanded:
                raise
            return _seeing_all(component, inputs[0], demanded)
    if name is None:
        raise Untaken
    return component(inputs[0], **{name: inputs[1]})


def _seeing_all(component: Any, x: Tensor, names: Iterable[str]) -> Any:
    """Call one that cannot do without a mask with one that hides nothing, in the first form that it can work with."""
    size, answers, problems = x.shape[1], [], []
    for value, shape in product((True, False), ((1, 1, size, size), (size, size))):
        mask = torch.full(shape, value, device=x.device)
        try:
            answers.append(component(x, **dict.fromkeys(names, mask)))
            first = tensor_of(answers[-1])
        except Exception as error:
            problems.append(error)
            continue
        if first.shape == x.shape and bool(first.isfinite().all()):
            return answers[-1]
    if not answers:
        raise problems[0]
    return answers[0]


def by_name(component: Any, inputs: tuple[Any, ...], slots: Mapping[str, str | tuple[str, ...]]) -> Any:
    """Call a component with its inputs, at the places that the names of its parameters give them.

    `slots` has, in the order of the contract, a pattern for each input's name, or several, the likeliest first. Where
    not every input has a parameter of its own, the order of the contract decides. Masks that nobody hands over are
    None.
    """
    parameters = _parameters(component)
    names = [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    placed: dict[str, Any] = {}
    for pattern, item in zip(slots.values(), inputs, strict=False):
        left = [name for name in names if name not in placed]
        likely = (pattern,) if isinstance(pattern, str) else pattern
        found = next((name for guess in likely for name in left if re.search(guess, name.lower())), None)
        if found is None:
            return called(component, inputs)
        placed[found] = item
    if list(placed) == names[: len(placed)]:
        return called(component, inputs)
    return component(**_demanded(parameters) | placed)
