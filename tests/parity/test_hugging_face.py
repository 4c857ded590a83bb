"""The same weights give the same logits, and gradients, as in Hugging Face's transformers, for eleven families."""

import json
import re

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from transformer_edu.decoding.beam import beam_search
from transformer_edu.decoding.greedy import greedy_search
from transformer_edu.models import from_hugging_face

pytestmark = [
    pytest.mark.long,
    pytest.mark.usefixtures("at_readers_speed"),
    pytest.mark.filterwarnings("ignore"),
]
IDS = torch.tensor([[3, 4, 5, 6, 7, 2], [8, 3, 9, 1, 1, 1]])
TARGET = torch.tensor([[1, 4, 8, 3], [1, 7, 5, 2]])
MASK = IDS != 1
GPT2 = {"vocab_size": 11, "n_positions": 16, "bos_token_id": 1, "eos_token_id": 2}
BERT = {"vocab_size": 11, "max_position_embeddings": 16, "pad_token_id": 1}
T5 = {"vocab_size": 11, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
MARIAN = {"vocab_size": 11, "max_position_embeddings": 16, "pad_token_id": 1, "eos_token_id": 2,
          "forced_eos_token_id": 2, "decoder_start_token_id": 1, "scale_embedding": True}  # fmt: skip

LLAMA = {"vocab_size": 11, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 3, "head_dim": 6,
         "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "pad_token_id": 1,
         "eos_token_id": 2, "bos_token_id": 3}  # fmt: skip
TRAINED = {"original_max_position_embeddings": 4}
LOCAL, FULL = "sliding_attention", "full_attention"


def gpt2(d_model, heads, layers, **more):
    config = transformers.GPT2Config(n_embd=d_model, n_head=heads, n_layer=layers, **GPT2, **more)
    return transformers.GPT2LMHeadModel(config), (IDS,), {}


def bert(d_model, heads, layers, **more):
    config = transformers.BertConfig(hidden_size=d_model, num_attention_heads=heads, num_hidden_layers=layers,
                                     intermediate_size=3 * d_model, **BERT, **more)  # fmt: skip
    return transformers.BertForMaskedLM(config), (IDS,), {"attention_mask": MASK}


def t5(d_model, heads, layers, **more):
    config = transformers.T5Config(d_model=d_model, num_heads=heads, d_kv=d_model // heads, num_layers=layers,
                                   d_ff=3 * d_model, **T5, **more)  # fmt: skip
    return transformers.T5ForConditionalGeneration(config), (IDS, TARGET), {"attention_mask": MASK}


def marian(d_model, heads, layers, **more):
    sides = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in (
        ("layers", layers), ("attention_heads", heads), ("ffn_dim", 3 * d_model))}  # fmt: skip
    config = transformers.MarianConfig(d_model=d_model, **sides, **MARIAN, **more)
    return transformers.MarianMTModel(config), (IDS, TARGET), {"attention_mask": MASK}


def llama(kind, **more):
    """A model of Llama's family: `kind` is what transformers calls it."""
    config = getattr(transformers, f"{kind}{'Text' if kind == 'Gemma3' else ''}Config")
    return getattr(transformers, f"{kind}ForCausalLM")(config(**LLAMA | more)), (IDS,), {"attention_mask": MASK}


def turning(kind, **more):
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 10_000.0, "factor": 4.0, **more}}


def vit(d_model, heads, layers, **more):
    pixels = {"image_size": 12, "patch_size": 4, "num_labels": 5}
    config = transformers.ViTConfig(hidden_size=d_model, num_attention_heads=heads, num_hidden_layers=layers,
                                    intermediate_size=3 * d_model, **pixels, **more)  # fmt: skip
    return transformers.ViTForImageClassification(config), (torch.randn(2, 3, 12, 12),), {}


def deepseek(**more):
    sizes = {"hidden_size": 24, "intermediate_size": 40, "moe_intermediate_size": 12, "num_hidden_layers": 3,
             "num_attention_heads": 3, "num_key_value_heads": 3, "n_routed_experts": 6, "num_experts_per_tok": 2,
             "n_group": 1, "topk_group": 1, "kv_lora_rank": 7, "q_lora_rank": 8, "qk_rope_head_dim": 4,
             "qk_nope_head_dim": 5, "v_head_dim": 6, "first_k_dense_replace": 1}  # fmt: skip
    shape = {name: LLAMA[name] for name in ("vocab_size", "max_position_embeddings", "pad_token_id")}
    model = transformers.DeepseekV3ForCausalLM(transformers.DeepseekV3Config(**shape | sizes | more))
    for layer in model.model.layers[1:]:
        torch.nn.init.normal_(layer.mlp.gate.e_score_correction_bias, std=0.1)
    return model, (IDS,), {"attention_mask": MASK}


CASES = {
    "GPT-2": lambda: gpt2(16, 4, 2),
    "GPT-2, odd sizes": lambda: gpt2(21, 3, 3, n_inner=17, activation_function="relu"),
    "BERT": lambda: bert(16, 4, 2),
    "BERT, odd sizes": lambda: bert(15, 5, 1, type_vocab_size=3),
    "T5": lambda: t5(16, 4, 2),
    "T5, version 1.1": lambda: t5(18, 3, 2, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
    "T5, few buckets": lambda: t5(16, 2, 1, relative_attention_num_buckets=8, relative_attention_max_distance=5),
    "Marian": lambda: marian(16, 4, 2),
    "Marian, odd sizes": lambda: marian(18, 3, 3, activation_function="relu"),
    "Llama": lambda: llama("Llama"),
    "Llama, one key head, heads of another size": lambda: llama("Llama", num_key_value_heads=1, head_dim=10),
    "Llama 3.1": lambda: llama("Llama", **turning("llama3", low_freq_factor=1.0, high_freq_factor=4.0, **TRAINED)),
    "Llama, YaRN": lambda: llama("Llama", **turning("yarn", **TRAINED)),
    "Llama, squeezed": lambda: llama("Llama", **turning("linear")),
    "Mistral, with a window": lambda: llama("Mistral", sliding_window=2),
    "Mistral, without": lambda: llama("Mistral", sliding_window=None),
    "Qwen 3": lambda: llama("Qwen3", head_dim=10, tie_word_embeddings=True),
    "Gemma 3": lambda: llama("Gemma3", query_pre_attn_scalar=6, sliding_window=2, layer_types=[LOCAL, FULL, LOCAL]),
    "OLMo 2": lambda: llama("Olmo2"),
    "DeepSeek-V3": deepseek,
    "DeepSeek-V3, queries without a latent": lambda: deepseek(q_lora_rank=None, routed_scaling_factor=1.0),
    "ViT": lambda: vit(16, 4, 2),
    "ViT, odd sizes": lambda: vit(15, 5, 3, hidden_act="relu"),
}


def shaken(model):
    """Every weight random: no bias is zero and no scale is one, so that none can hide."""
    torch.manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:  # Marian's follow from a formula
                parameter.add_(0.2 * torch.randn_like(parameter))
        for name, buffer in model.named_buffers():
            if name == "final_logits_bias":
                buffer.normal_()
    return model.eval()


def logits_of(theirs, inputs, named):
    if len(inputs) == 2:
        return theirs(input_ids=inputs[0], decoder_input_ids=inputs[1], **named).logits
    return theirs(*inputs, **named).logits


def seen(logits):
    """Logits at places that are no padding; what stands beside padding is nobody's."""
    return logits[MASK] if logits.shape[:2] == MASK.shape else logits


@pytest.mark.parametrize("name", CASES)
def test_the_same_weights_give_the_same_logits_and_the_same_gradient_of_the_embeddings(name, tmp_path):
    torch.manual_seed(0)
    theirs, inputs, named = CASES[name]()
    theirs.set_attn_implementation("eager")
    shaken(theirs).save_pretrained(tmp_path)
    ours = from_hugging_face(tmp_path)
    expected, found = logits_of(theirs, inputs, named), ours(*inputs)
    torch.testing.assert_close(seen(found), seen(expected), rtol=1e-4, atol=1e-4)
    for logits in (expected, found):
        seen(logits).square().mean().backward()
    table = theirs.get_input_embeddings()
    first = getattr(table, "weight", None) if name[0] != "V" else table.projection.weight.flatten(1)
    grad = first.grad if first.is_leaf else table.projection.weight.grad.flatten(1)
    mine = ours.patch_embedding if name[0] == "V" else getattr(ours.embedding, "lookup", ours.embedding)
    torch.testing.assert_close(mine.weight.grad, grad, rtol=1e-4, atol=1e-4)


LATER = [name for name in CASES if re.match("Llama|Mistral|Qwen|Gemma|OLMo|DeepSeek", name)]


@pytest.mark.parametrize("name", LATER)
def test_padding_may_stand_on_either_side_and_a_cache_changes_nothing(name, tmp_path):
    torch.manual_seed(0)
    theirs = shaken(CASES[name]()[0])
    theirs.save_pretrained(tmp_path)
    ours, text = from_hugging_face(tmp_path), torch.tensor([[8, 3, 9, 5, 4, 7]])
    padded = torch.nn.functional.pad(text, (3, 0), value=1), torch.nn.functional.pad(text, (0, 3), value=1)
    with torch.no_grad():
        alone = ours(text)
        for ids in padded:
            torch.testing.assert_close(ours(ids)[ids != 1], alone[0], rtol=1e-4, atol=1e-4)
        cache = ours.start_cache()
        steps = [ours(text[:, :2], cache), *(ours(text[:, i : i + 1], cache) for i in range(2, 6))]
        torch.testing.assert_close(torch.cat(steps, dim=1), alone, rtol=1e-4, atol=1e-4)


def test_layers_that_no_setting_describes_are_refused(tmp_path):
    irregular = llama("Gemma3", query_pre_attn_scalar=6, sliding_window=2, layer_types=[LOCAL, FULL, FULL])[0]
    irregular.save_pretrained(tmp_path)
    with pytest.raises(
        ValueError, match=r"layer_types must have full_attention at each n-th layer, got it at \[2, 3\]"
    ):
        from_hugging_face(tmp_path)


def sentences(count):
    """Random words with their end, shorter ones padded."""
    lengths = torch.randint(2, 8, (count, 1))
    words, place = torch.randint(3, 11, (count, 8)), torch.arange(8)
    return words.where(place < lengths, torch.where(place == lengths, 2, 1))


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    """A Marian that has begun to learn to repeat a sentence: it ends its answers, right ones and wrong ones."""
    torch.manual_seed(0)
    model, folder = marian(32, 4, 1, init_std=0.1)[0].train(), tmp_path_factory.mktemp("marian")
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(150):
        source = sentences(64)
        logits = model(source, source != 1, torch.nn.functional.pad(source[:, :-1], (1, 0), value=1)).logits
        torch.nn.functional.cross_entropy(logits.mT, source, ignore_index=1).backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval().save_pretrained(folder)
    return model, from_hugging_face(folder)


@pytest.mark.parametrize("beams", [1, 4])
def test_the_whole_translator_gives_marians_translations(translator, beams):
    """From ids with padding through encoder, cache and search to ids: the same words, by greedy and by beam search."""
    theirs, ours = translator
    torch.manual_seed(beams)
    source = sentences(40)
    expected = theirs.generate(
        source, attention_mask=source != 1, num_beams=beams, do_sample=False, max_length=16, length_penalty=0.0,
        early_stopping="never" if beams > 1 else False, forced_eos_token_id=None, suppress_tokens=[1],
    ).tolist()  # fmt: skip
    found = beam_search(ours, source, 1, 2, 16, beams, 0.0) if beams > 1 else greedy_search(ours, source, 1, 2, 16)
    rows = [answers[0].ids for answers in found] if beams > 1 else found.tolist()
    assert list(map(until_the_end, rows)) == list(map(until_the_end, expected))
    answers = {tuple(until_the_end(row)) for row in expected if 2 in row}
    assert len(answers) > 10, "it answers each sentence for itself, and comes to an end"


def until_the_end(ids):
    """What stands between the begin token and the end token, which may be missing."""
    ids = list(ids)[1:]
    return ids[: ids.index(2)] if 2 in ids else ids


@pytest.fixture
def folder(tmp_path):
    torch.manual_seed(0)
    gpt2(16, 4, 2)[0].save_pretrained(tmp_path)
    return tmp_path


def rewrite(folder, change):
    tensors = {name: tensor.clone() for name, tensor in load_file(folder / "model.safetensors").items()}
    change(tensors)
    save_file(tensors, folder / "model.safetensors")


def test_the_hubs_older_names_are_read(folder):
    def older(tensors):
        for name in list(tensors):
            tensors[name.removeprefix("transformer.")] = tensors.pop(name)
        tensors["h.0.attn.bias"] = torch.ones(1, 1, 16, 16)

    expected = from_hugging_face(folder)(IDS)
    rewrite(folder, older)
    torch.testing.assert_close(from_hugging_face(folder)(IDS), expected, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("family", "setting", "place"),
    [("Gemma3", "query_pre_attn_scalar", ()), ("Llama", "low_freq_factor", ("rope_parameters",))],
)
def test_a_setting_that_would_be_computed_otherwise_is_refused(family, setting, place, tmp_path):
    theirs, *_ = llama(family)
    theirs.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    inner = config
    for name in place:
        inner = inner.setdefault(name, {})
    inner[setting] = 17
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=f"{setting} must be .*, got 17"):
        from_hugging_face(tmp_path)


def test_weights_in_several_files_are_read_as_those_in_one(folder, tmp_path):
    expected = from_hugging_face(folder)(IDS)
    parts = tmp_path / "parts"
    gpt2(16, 4, 2)[0].from_pretrained(folder).save_pretrained(parts, max_shard_size="4KB")
    assert not (parts / "model.safetensors").exists()
    assert len(list(parts.glob("*.safetensors"))) > 2
    torch.testing.assert_close(from_hugging_face(parts)(IDS), expected, rtol=0, atol=0)
    next(parts.glob("model-00002*")).unlink()
    with pytest.raises(FileNotFoundError, match="model-00002"):
        from_hugging_face(parts)


def test_t5s_own_matrix_for_writing_is_used(tmp_path):
    theirs, inputs, _ = t5(16, 4, 1)
    theirs.save_pretrained(tmp_path)
    config = tmp_path / "config.json"
    apart = {"tie_word_embeddings": False, "scale_decoder_outputs": False}
    config.write_text(json.dumps(json.loads(config.read_text()) | apart))
    rewrite(tmp_path, lambda tensors: tensors.update({"lm_head.weight": torch.zeros(11, 16)}))
    assert not from_hugging_face(tmp_path)(*inputs).any()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda tensors: tensors.update(odd=torch.ones(1)), "names that belong to nothing here: odd"),
        (lambda tensors: tensors.pop("transformer.ln_f.bias"), "lacks decoder.final_norm.bias"),
        (
            lambda tensors: tensors.update({"transformer.ln_f.bias": torch.ones(3)}),
            r"shape \(16,\), got \(3,\)",
        ),
    ],
)
def test_no_weight_is_left_out_or_missing_in_silence(folder, change, says):
    rewrite(folder, change)
    with pytest.raises(ValueError, match=says):
        from_hugging_face(folder)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"model_type": "mamba"}, "model_type must be one of gpt2, llama, .*vit, got 'mamba'"),
        ({"activation_function": "mish"}, "activation_function must be one of .*, got 'mish'"),
        ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx must be False, got True"),
    ],
)
def test_what_would_compute_something_else_is_refused(folder, setting, says):
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | setting))
    with pytest.raises(ValueError, match=says):
        from_hugging_face(folder)


def test_a_place_that_is_none_is_named(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"has no config\.json"):
        from_hugging_face(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(FileNotFoundError, match="no-such-model is no folder here, and the hub could not be asked"):
        from_hugging_face("nobody/no-such-model")
