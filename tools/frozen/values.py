"""A plausible value of each option, and what the option needs next to it.

An option that is not listed here gets a value by its kind, so a new one is covered, too.
"""

from frozen.base_calls import DATA, IN

# option -> value; several values of a tuple are words of one option.
VALUES = {
    "--threads": "1", "--lang": "ko",
    "--model": IN + "tiny", "--tokens": IN + "tokens.json",
    "--target-tokens": IN + "target.json", "--query": IN + "q.npy", "--key": IN + "k.npy",
    "--value": IN + "v.npy", "--vocab-size": "20", "--embed-dim": "16", "--num-heads": "4",
    "--num-kv-heads": "2", "--params": IN + "layer", "--layer": "0", "--prefix": "",
    "--layout-of": "headwise", "--example": "masked", "--step": "attn_weights",
    "--picture": "heads.svg", "--sequence": "1", "--mask-kind": "padding+causal",
    "--window": "2,1", "--query-start": "1", "--key-lengths": IN + "lengths.npy",
    "--key-starts": IN + "starts.npy", "--key-padding": IN + "padding.npy",
    "--documents": IN + "documents.npy", "--query-documents": IN + "query_documents.npy",
    "--mask": IN + "mask.npy", "--mask-axes": "Lq,Lkv", "--dialect": "torch-sdpa",
    "--empty-rows": "uniform", "--scoring": "additive", "--scale": "0.3", "--softcap": "2",
    "--bias": IN + "bias.npy", "--bias-axes": "Lq,Lkv", "--t5-bias": IN + "t5.npy",
    "--t5-max-distance": "16", "--alibi": IN + "alibi.npy", "--sinks": IN + "sinks.npy",
    "--bias-k": IN + "bias_k.npy", "--bias-v": IN + "bias_v.npy", "--dropout": "0.25",
    "--dropout-seed": "3", "--sequence-ids": IN + "sequence_ids.npy",
    "--keep-mask": IN + "keep_mask.npy", "--rotary-base": "5000", "--rotary-dim": "2",
    "--rotary-scaling": "linear:2", "--rotary-tables": f"{IN}cos.npy,{IN}sin.npy",
    "--query-positions": IN + "positions.npy", "--key-positions": IN + "key_positions.npy",
    "--pair": ("heads matter", "so !"), "--layers": "1", "--max-tokens": "4",
    "--texts": IN + "lines.txt", "--corpus": IN + "lines.txt", "--ablate": "0.1",
    "--onnx": IN + "model.onnx", "--node": "attn", "--attn-weights": IN + "weights.npy",
    "--separators": IN + "separators.npy", "--query-lengths": IN + "lengths.npy",
    "--score-weight": IN + "score_weight.npy", "--offsets": IN + "offsets.npy",
    "--query-offsets": IN + "query_offsets.npy", "--against": IN + "pruned",
    "--attribution": "gradient", "--target": "good", "--output-token": "1",
    "--svg": "heads.svg", "--png": "heads.png", "--head": "0.1", "--sort": "entropy",
    "--title": "A title", "--save-every": "0", "--deadline": "5",
    "--past-key": IN + "past_k.npy", "--past-value": IN + "past_v.npy",
    "--present-dir": "present", "--dtype": "bfloat16", "--arithmetic": "bf16",
    "--cache-dtype": "int8", "--page-size": "16", "--chunk": "2", "--parallel": "context",
    "--lse": "lse.npy", "--scores-out": "scores.npy", "--scores-stage": "bias",
    "--keep-mask-out": "kept.npy", "--d-output": IN + "d_output.npy",
    "--d-attn-weights": IN + "d_weights.npy", "--grad-dir": "gradients",
    "--attn-weights-form": "mean", "--find": "duplicate", "--top": "1", "--seed": "5",
    "--data": IN + "data.tsv", "--test": IN + "data.tsv", "--train": "all", "--batch": "2",
    "--epochs": "2", "--task": "reverse", "--steps": "3", "--learning-rate": "0.01",
    "--resume": IN + "recall", "--method": "fisher", "--iterative": "0.5", "--examples": "3",
    "--scores": IN + "scores.json", "--remove": "1", "--keep": "3", "--heads": "0.1",
    "--max-drop": "10%", "--curve": "curve.svg", "--random": "2", "--export": "full-size",
    "--label": "good", "--clean": "heads matter", "--corrupted": "so matter",
    "--to": "bert", "--to-prefix": "distilbert.", "--as-layer": "1", "--memory-limit": "64",
    "--rotary-positions": "16", "--dialects": "flax,keras", "--past-length": "2",
    "--queries": "6", "--keys": "6", "--ranks": "2", "--pieces-per-rank": "3",
    "--length": "2000", "--kv-heads": "4", "--head-dim": "64", "--rate": "500",
    "--bandwidth": "25", "--latency": "5", "--workload": "decode_short", "--rounds": "2",
    "--device": "cuda", "--qk-norm": "layer", "--qk-norm-over": "head",
    "--qk-norm-eps": "1e-5", "--pad-id": "1", "--query-tokens": IN + "words.txt",
    "--key-tokens": IN + "words.txt",
}
OUTS = {"explain": "out.npy", "view": "page.html", "stats": "stats.txt", "run": "out.npy",
        "encode": "out.npy", "classify": "labels.tsv", "importance": "scores.json"}
OF_COMMAND = {
    ("explain", "--query"): IN + "x.npy", ("explain", "--key"): IN + "x.npy",
    ("explain", "--value"): IN + "x.npy", ("run", "--attn-weights"): "weights.npy",
    ("view", "--data"): IN + "data", ("stats", "--data"): IN + "data",
    ("onnx-run", "--data"): IN + "data", ("heads", "--model"): IN + "causal",
    ("convert", "--mask"): "bool", ("convert", "--layout-of"): "bert",
    ("inspect", "--layout-of"): "bert", ("convert", "--scale"): "0.3",
    ("diff", "--mask"): IN + "mask_2d.npy", ("lint-mask", "--num-heads"): "1",
    ("lint-mask", "--mask"): IN + "mask_2d.npy", ("lint-mask", "--dialect"): "keras",
    ("plan", "--window"): "100,0", ("view", "--node"): "0", ("ablate", "--sort"): "accuracy",
    ("importance", "--svg"): "scores.svg", ("plan", "--parallel"): "context",
    ("bench", "--dtype"): "float16", ("classify", "--model"): IN + "topics",
    ("convert", "--heads"): "4",
}
# Other values, each added to the calls alone.
MORE = {
    "--dialect": "torch-mha keras jax flax onnx-1.23 onnx-1.21 ort-contrib "
                 "flash-attention transformers d2l fill-1e12 fill-1e10",
    "--rotary-scaling": "ntk:2 yarn:2,8 yarn:2,8,16,1,0,1.2 llama3:2,1,4,8",
    "--query-start": f"bottom-right {IN}query_starts.npy", "--alibi": "auto",
    "--window": "inf,0 2,0,1", "--find": "next self first separator induction positional",
    "--to": "headwise torch-mha torch-mha-split d2l d2l-dense keras flax onnx "
            "headwise-causal",
    "--layout-of": "torch-mha torch-mha-split d2l d2l-dense keras flax distilbert",
    "--attribution": "norms integrated integrated-by-layer rollout flow",
    "--sort": "distance largest first previous self next separator loss norm gradient",
    "--example": "self-attention single-head unbatched valid-lengths",
    "--step": "w_q.weight scores output", "--picture": "heads.png", "--curve": "curve.png",
    "--model": f"{IN}causal {IN}topics {IN}pruned {IN}begun", "--layer": "1",
    "--resume": f"{IN}begun {IN}induction", "--remove": "40%", "--task": "recall induction",
    "--params": f"{IN}layer.npz {IN}layer_additive {IN}tiny {IN}normed",
    "--mask": f"{IN}mask_2d.npy", "--bias-axes": "B,1,Lkv", "--target": "w1",
    "--dialects": "torch-sdpa,flash-attention torch-mha,transformers",
    "--node": "attn 7", "--device": "cpu", "--offsets": IN + "query_offsets.npy",
}
# What an option needs next to it.
NEEDS = {
    "--mask-axes": [("--mask", [IN + "mask_2d.npy"])],
    "--bias-axes": [("--bias", [IN + "bias_2d.npy"])],
    "--query-documents": [("--documents", [IN + "documents.npy"])],
    "--t5-max-distance": [("--t5-bias", [IN + "t5.npy"])],
    "--t5-bidirectional": [("--t5-bias", [IN + "t5.npy"])],
    "--bias-k": [("--bias-v", [IN + "bias_v.npy"])],
    "--bias-v": [("--bias-k", [IN + "bias_k.npy"])],
    "--dropout-seed": [("--dropout", ["0.25"])],
    "--sequence-ids": [("--dropout", ["0.25"])],
    "--keep-mask": [("--dropout", ["0.25"])],
    "--keep-mask-out": [("--dropout", ["0.25"])],
    "--qk-norm": [("--params", [IN + "normed"])],
    "--qk-norm-over": [("--qk-norm", ["rms"]), ("--params", [IN + "normed"])],
    "--qk-norm-eps": [("--qk-norm", ["rms"]), ("--params", [IN + "normed"])],
    "--qk-norm-plus-one": [("--qk-norm", ["rms"]), ("--params", [IN + "normed"])],
    "--attn-weights-form": [("--attn-weights", ["weights.npy"])],
    "--scores-stage": [("--scores-out", ["scores.npy"])],
    "--d-output": [("--grad-dir", ["gradients"])],
    "--grad-dir": [("--d-output", [IN + "d_output.npy"])],
    "--d-attn-weights": [("--attn-weights", ["weights.npy"]), ("--grad-dir", ["gradients"]),
                         ("--d-output", [IN + "d_output.npy"])],
    "--past-key": [("--past-value", [IN + "past_v.npy"]), ("--present-dir", ["present"])],
    "--past-value": [("--past-key", [IN + "past_k.npy"]), ("--present-dir", ["present"])],
    "--cache-dtype": [("--cache", ["paged"])],
    "--page-size": [("--cache", ["paged"])],
    "--chunk": [("--cache", ["paged"]), ("--causal", [])],
    "--matched": [("--against", [IN + "pruned"])],
    "--query-positions": [("--rotary-dim", ["2"])],
    "--key-positions": [("--rotary-dim", ["2"])],
    "--as-layer": [("--layer", ["0"])],
    "--rotary-positions": [("--rotary-dim", ["2"])],
    "--random": [("--curve", ["curve.svg"])],
    "--score-weight": [("--scoring", ["additive"])],
    "--sequence": [("--picture", ["heads.svg"])],
    "--target": [("--attribution", ["gradient"])],
    "--output-token": [("--attribution", ["rollout"])],
    "--test": [DATA], "--learning-rate": [("--train", ["all"])],
}
NEEDS_OF_COMMAND = {
    ("train", "--learning-rate"): [],
    ("run", "--scoring"): [("--score-weight", [IN + "score_weight.npy"])],
    ("view", "--scoring"): [("--score-weight", [IN + "score_weight.npy"])],
    ("stats", "--scoring"): [("--score-weight", [IN + "score_weight.npy"])],
    **{(command, "--sequence"): [] for command in ("view", "stats")},
    ("view", "--sort"): [("--svg", ["heads.svg"])],
    ("run", "--deadline"): [("--parallel", ["context"])],
    **{("convert", f"--qk-norm{more}"): [("--qk-norm", ["rms"])]
       for more in ("", "-over", "-eps", "-plus-one")},
}
BY_KIND = {"N": "2", "X": "0.5", "P": "0.25", "P%": "10%", "TEXT": "text", "NAME": "name"}


def default_value(option):
    if not option.kind:
        return ""
    return option.choices[0] if option.choices else BY_KIND.get(option.kind, "2")


def value_of(command, option):
    """The words after the option."""
    if not option.kind:
        return []
    if option.name == "--out":
        return [OUTS.get(command, "made")]
    value = OF_COMMAND.get((command, option.name), VALUES.get(option.name))
    value = default_value(option) if value is None else value
    return list(value) if isinstance(value, tuple) else [value]


def needs_of(command, name):
    return NEEDS_OF_COMMAND.get((command, name), NEEDS.get(name, []))


def other_values(option):
    """Lists of words, each another value of the option."""
    more = [value for value in MORE.get(option.name, "").split() if option.kind]
    return [[value] for value in dict.fromkeys([*option.choices, *more])]
