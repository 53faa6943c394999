"""The calls that options are added to, and a plausible value of each option.

A call is a list of words and options: words first, then (option, values) in order. An
option that is not listed here gets a value by its kind, so a new one is covered, too.
"""

I = "../in/"


def tensors(*names, prefix=""):
    return [(f"--{name}", [f"{I}{prefix}{name[0]}.npy"]) for name in names]


MODEL = ("--model", [I + "tiny"])
TOPICS = ("--model", [I + "topics"])
CAUSAL = ("--model", [I + "causal"])
DATA = ("--data", [I + "data.tsv"])
TEXT = "heads matter so"
JSON = ("--json", [])
PAGE = ("--out", ["page.html"])
OUT = ("--out", ["out.npy"])
HEADS = [("--num-heads", ["4"]), ("--num-kv-heads", ["2"])]
LAYER = [("--params", [I + "layer"]), *HEADS]
X = [(f"--{name}", [I + "x.npy"]) for name in ("query", "key", "value")]
WEIGHTS = ("--attn-weights", [I + "weights.npy"])
ONNX = [("--onnx", [I + "model.onnx"]), ("--data", [I + "data"])]
MADE = ("--out", ["made"])
SCORES = ("--scores", [I + "scores.json"])


def seen(report, page):
    """The calls of view and of stats."""
    return {
        "model": ([TEXT], [MODEL, *report]),
        "tensors": ([], [*tensors("query", "key"), *report]),
        "weights": ([], [WEIGHTS, *report]),
        "onnx": ([], [*ONNX, *report]),
        "texts": ([], [MODEL, ("--texts", [I + "lines.txt"]), *page]),
        "causal": (["w1 w2 w3 w1 w2"], [CAUSAL, *page]),
        "no text": ([], [MODEL, *report]),
        "ragged": ([], [("--query", [I + "rq.npy"]), ("--key", [I + "rk.npy"]),
                        ("--offsets", [I + "offsets.npy"]), *report]),
    }


# command -> name -> (words, options). Pairs go to the first call that takes both.
CALLS = {
    "explain": {
        "params": ([], [("--query", [I + "x.npy"]), *LAYER]),
        "tokens": ([], [("--tokens", [I + "tokens.json"]), ("--vocab-size", ["20"]),
                        ("--embed-dim", ["16"]), *HEADS]),
        "model": ([TEXT], [MODEL]),
        "example": ([], [("--example", ["encoder-decoder"])]),
        "bare": ([], []),
    },
    "view": {**seen([JSON], [PAGE]), "attribution": ([TEXT], [TOPICS, PAGE])},
    "stats": {**seen([], []), "attribution": ([TEXT], [TOPICS]),
              "corpus": ([], [MODEL, ("--corpus", [I + "lines.txt"])])},
    "heads": {"texts": ([], [("--find", ["induction"]), CAUSAL,
                             ("--texts", [I + "causal.txt"])]),
              "random": ([], [("--find", ["previous"]), MODEL])},
    "run": {
        "operation": ([], [*tensors("query", "key", "value"), OUT]),
        "layer": ([], [*X, *LAYER, OUT]),
        "cache": ([], [*tensors("query", "key", "value"), ("--cache", ["paged"]),
                       ("--causal", []), OUT]),
        "gradients": ([], [*tensors("query", "key", "value"), OUT,
                           ("--d-output", [I + "d_output.npy"]),
                           ("--grad-dir", ["gradients"])]),
        "ragged": ([], [*tensors("query", "key", "value", prefix="r"), OUT,
                        ("--offsets", [I + "offsets.npy"])]),
        "layer gradients": ([], [*X, *LAYER, OUT, ("--d-output", [I + "d_x.npy"]),
                                 ("--grad-dir", ["gradients"])]),
        "past": ([], [*tensors("query", "key", "value"), OUT,
                      ("--past-key", [I + "past_k.npy"]),
                      ("--past-value", [I + "past_v.npy"]),
                      ("--present-dir", ["present"])]),
    },
    "encode": {"file": ([I + "lines.txt"], [MODEL, OUT]), "input": ([], [MODEL, JSON])},
    "train": {
        "recall": ([], [("--steps", ["2"]), MADE]),
        "probe": ([], [MODEL, DATA, MADE]),
        "all": ([], [MODEL, DATA, ("--train", ["all"]), ("--epochs", ["1"]), MADE]),
        "induction": ([], [("--task", ["induction"]), ("--steps", ["2"]), MADE]),
    },
    "classify": {"file": ([I + "lines.txt"], [TOPICS]), "input": ([], [TOPICS])},
    "importance": {"labels": ([], [TOPICS, DATA, ("--out", ["scores.json"])])},
    "prune": {
        "remove": ([], [TOPICS, SCORES, ("--remove", ["1"]), MADE]),
        "heads": ([], [TOPICS, ("--heads", ["0.1"]), MADE]),
        "drop": ([], [TOPICS, SCORES, DATA, ("--max-drop", ["50%"]), MADE]),
        "curve": ([], [TOPICS, SCORES, DATA, ("--curve", ["curve.svg"])]),
        "causal": ([], [CAUSAL, ("--heads", ["0.1"]), MADE]),
        "no count": ([], [TOPICS, SCORES, MADE]),
    },
    "ablate": {
        "each": ([], [TOPICS, DATA, ("--each", [])]),
        "heads": ([], [TOPICS, DATA, ("--heads", ["0.1,1.0"])]),
        "pairs": ([], [TOPICS, DATA, ("--pairs", [])]),
        "causal": ([], [CAUSAL, ("--data", [I + "causal.txt"]), ("--each", [])]),
    },
    "patch": {
        "labels": ([], [TOPICS, ("--clean", ["heads matter"]),
                        ("--corrupted", ["so matter"])]),
        "causal": ([], [CAUSAL, ("--clean", ["w1 w2 w3"]), ("--corrupted", ["w1 w4 w3"])]),
        "embedding": ([], [MODEL, ("--clean", ["heads matter"]),
                           ("--corrupted", ["so ! matter"])]),
    },
    "inspect": {"model": ([I + "tiny"], []), "file": ([I + "layer.npz"], []),
                "onnx": ([I + "model.onnx"], [])},
    "convert": {
        "model": ([I + "tiny", "converted.safetensors"], [("--to", ["distilbert"])]),
        "layer": ([I + "layer.npz", "converted.npz"],
                  [("--to", ["torch-mha"]), ("--num-heads", ["4"])]),
        "onnx": ([I + "tiny", "converted.onnx"], [("--to", ["onnx"]), ("--layer", ["1"])]),
        "normed": ([I + "normed", "converted.onnx"],
                   [("--to", ["onnx"]), ("--num-heads", ["4"]), ("--qk-norm", ["rms"])]),
    },
    "onnx-run": {"data": ([I + "model.onnx"], [("--data", [I + "data"])]),
                 "fits": ([I + "model.onnx"],
                          [("--data", [I + "cases/fits/test_data_set_0"])]),
                 "differs": ([I + "model.onnx"],
                             [("--data", [I + "cases/differs/test_data_set_0"])])},
    "check": {"cases": (["onnx", I + "cases"], [])},
    "diff": {"dialects": ([], [("--dialects", ["torch-mha,keras"]),
                               *tensors("query", "key")])},
    "lint-mask": {
        "mask": ([], [("--dialect", ["torch-mha"]), ("--mask", [I + "mask_2d.npy"])]),
        "padding": ([], [("--dialect", ["keras"]), ("--key-padding", [I + "padding.npy"]),
                         ("--batch", ["2"])]),
    },
    "plan": {"call": ([], [("--ranks", ["4"]), ("--length", ["3000"])])},
    "bench": {"seed": ([], [("--workload", ["seed"]), ("--rounds", ["1"])]),
              "list": ([], [("--list", [])])},
    "info": {"bare": ([], [])},
    "help": {"run": (["run"], []), "bare": ([], [])},
}

# option -> value; several values of a tuple are words of one option.
VALUES = {
    "--threads": "1", "--lang": "ko",
    "--model": I + "tiny", "--tokens": I + "tokens.json",
    "--target-tokens": I + "target.json", "--query": I + "q.npy", "--key": I + "k.npy",
    "--value": I + "v.npy", "--vocab-size": "20", "--embed-dim": "16", "--num-heads": "4",
    "--num-kv-heads": "2", "--params": I + "layer", "--layer": "0", "--prefix": "",
    "--layout-of": "headwise", "--example": "masked", "--step": "attn_weights",
    "--picture": "heads.svg", "--sequence": "1", "--mask-kind": "padding+causal",
    "--window": "2,1", "--query-start": "1", "--key-lengths": I + "lengths.npy",
    "--key-starts": I + "starts.npy", "--key-padding": I + "padding.npy",
    "--documents": I + "documents.npy", "--query-documents": I + "query_documents.npy",
    "--mask": I + "mask.npy", "--mask-axes": "Lq,Lkv", "--dialect": "torch-sdpa",
    "--empty-rows": "uniform", "--scoring": "additive", "--scale": "0.3", "--softcap": "2",
    "--bias": I + "bias.npy", "--bias-axes": "Lq,Lkv", "--t5-bias": I + "t5.npy",
    "--t5-max-distance": "16", "--alibi": I + "alibi.npy", "--sinks": I + "sinks.npy",
    "--bias-k": I + "bias_k.npy", "--bias-v": I + "bias_v.npy", "--dropout": "0.25",
    "--dropout-seed": "3", "--sequence-ids": I + "sequence_ids.npy",
    "--keep-mask": I + "keep_mask.npy", "--rotary-base": "5000", "--rotary-dim": "2",
    "--rotary-scaling": "linear:2", "--rotary-tables": f"{I}cos.npy,{I}sin.npy",
    "--query-positions": I + "positions.npy", "--key-positions": I + "key_positions.npy",
    "--pair": ("heads matter", "so !"), "--layers": "1", "--max-tokens": "4",
    "--texts": I + "lines.txt", "--corpus": I + "lines.txt", "--ablate": "0.1",
    "--onnx": I + "model.onnx", "--node": "attn", "--attn-weights": I + "weights.npy",
    "--separators": I + "separators.npy", "--query-lengths": I + "lengths.npy",
    "--score-weight": I + "score_weight.npy", "--offsets": I + "offsets.npy",
    "--query-offsets": I + "query_offsets.npy", "--against": I + "pruned",
    "--attribution": "gradient", "--target": "good", "--output-token": "1",
    "--svg": "heads.svg", "--png": "heads.png", "--head": "0.1", "--sort": "entropy",
    "--title": "A title", "--save-every": "0", "--deadline": "5",
    "--past-key": I + "past_k.npy", "--past-value": I + "past_v.npy",
    "--present-dir": "present", "--dtype": "bfloat16", "--arithmetic": "bf16",
    "--cache-dtype": "int8", "--page-size": "16", "--chunk": "2", "--parallel": "context",
    "--lse": "lse.npy", "--scores-out": "scores.npy", "--scores-stage": "bias",
    "--keep-mask-out": "kept.npy", "--d-output": I + "d_output.npy",
    "--d-attn-weights": I + "d_weights.npy", "--grad-dir": "gradients",
    "--attn-weights-form": "mean", "--find": "duplicate", "--top": "1", "--seed": "5",
    "--data": I + "data.tsv", "--test": I + "data.tsv", "--train": "all", "--batch": "2",
    "--epochs": "2", "--task": "reverse", "--steps": "3", "--learning-rate": "0.01",
    "--resume": I + "recall", "--method": "fisher", "--iterative": "0.5", "--examples": "3",
    "--scores": I + "scores.json", "--remove": "1", "--keep": "3", "--heads": "0.1",
    "--max-drop": "10%", "--curve": "curve.svg", "--random": "2", "--export": "full-size",
    "--label": "good", "--clean": "heads matter", "--corrupted": "so matter",
    "--to": "bert", "--to-prefix": "distilbert.", "--as-layer": "1", "--memory-limit": "64",
    "--rotary-positions": "16", "--dialects": "flax,keras", "--past-length": "2",
    "--queries": "6", "--keys": "6", "--ranks": "2", "--pieces-per-rank": "3",
    "--length": "2000", "--kv-heads": "4", "--head-dim": "64", "--rate": "500",
    "--bandwidth": "25", "--latency": "5", "--workload": "decode_short", "--rounds": "2",
    "--device": "cuda", "--qk-norm": "layer", "--qk-norm-over": "head",
    "--qk-norm-eps": "1e-5", "--pad-id": "1", "--query-tokens": I + "words.txt",
    "--key-tokens": I + "words.txt",
}
OUTS = {"explain": "out.npy", "view": "page.html", "stats": "stats.txt", "run": "out.npy",
        "encode": "out.npy", "classify": "labels.tsv", "importance": "scores.json"}
OF_COMMAND = {
    ("explain", "--query"): I + "x.npy", ("explain", "--key"): I + "x.npy",
    ("explain", "--value"): I + "x.npy", ("run", "--attn-weights"): "weights.npy",
    ("view", "--data"): I + "data", ("stats", "--data"): I + "data",
    ("onnx-run", "--data"): I + "data", ("heads", "--model"): I + "causal",
    ("convert", "--mask"): "bool", ("convert", "--layout-of"): "bert",
    ("inspect", "--layout-of"): "bert", ("convert", "--scale"): "0.3",
    ("diff", "--mask"): I + "mask_2d.npy", ("lint-mask", "--num-heads"): "1",
    ("lint-mask", "--mask"): I + "mask_2d.npy", ("lint-mask", "--dialect"): "keras",
    ("plan", "--window"): "100,0", ("view", "--node"): "0", ("ablate", "--sort"): "accuracy",
    ("importance", "--svg"): "scores.svg", ("plan", "--parallel"): "context",
    ("bench", "--dtype"): "float16", ("classify", "--model"): I + "topics",
    ("convert", "--heads"): "4",
}
# Other values, each added to the calls alone.
MORE = {
    "--dialect": "torch-mha keras jax flax onnx-1.23 onnx-1.21 ort-contrib "
                 "flash-attention transformers d2l fill-1e12 fill-1e10",
    "--rotary-scaling": "ntk:2 yarn:2,8 yarn:2,8,16,1,0,1.2 llama3:2,1,4,8",
    "--query-start": f"bottom-right {I}query_starts.npy", "--alibi": "auto",
    "--window": "inf,0 2,0,1", "--find": "next self first separator induction positional",
    "--to": "headwise torch-mha torch-mha-split d2l d2l-dense keras flax onnx "
            "headwise-causal",
    "--layout-of": "torch-mha torch-mha-split d2l d2l-dense keras flax distilbert",
    "--attribution": "norms integrated integrated-by-layer rollout flow",
    "--sort": "distance largest first previous self next separator loss norm gradient",
    "--example": "self-attention single-head unbatched valid-lengths",
    "--step": "w_q.weight scores output", "--picture": "heads.png", "--curve": "curve.png",
    "--model": f"{I}causal {I}topics {I}pruned {I}begun", "--layer": "1",
    "--resume": f"{I}begun {I}induction", "--remove": "40%", "--task": "recall induction",
    "--params": f"{I}layer.npz {I}layer_additive {I}tiny {I}normed",
    "--mask": f"{I}mask_2d.npy", "--bias-axes": "B,1,Lkv", "--target": "w1",
    "--dialects": "torch-sdpa,flash-attention torch-mha,transformers",
    "--node": "attn 7", "--device": "cpu", "--offsets": I + "query_offsets.npy",
}
# What an option needs next to it.
NEEDS = {
    "--mask-axes": [("--mask", [I + "mask_2d.npy"])],
    "--bias-axes": [("--bias", [I + "bias_2d.npy"])],
    "--query-documents": [("--documents", [I + "documents.npy"])],
    "--t5-max-distance": [("--t5-bias", [I + "t5.npy"])],
    "--t5-bidirectional": [("--t5-bias", [I + "t5.npy"])],
    "--bias-k": [("--bias-v", [I + "bias_v.npy"])],
    "--bias-v": [("--bias-k", [I + "bias_k.npy"])],
    "--dropout-seed": [("--dropout", ["0.25"])],
    "--sequence-ids": [("--dropout", ["0.25"])],
    "--keep-mask": [("--dropout", ["0.25"])],
    "--keep-mask-out": [("--dropout", ["0.25"])],
    "--qk-norm": [("--params", [I + "normed"])],
    "--qk-norm-over": [("--qk-norm", ["rms"]), ("--params", [I + "normed"])],
    "--qk-norm-eps": [("--qk-norm", ["rms"]), ("--params", [I + "normed"])],
    "--qk-norm-plus-one": [("--qk-norm", ["rms"]), ("--params", [I + "normed"])],
    "--attn-weights-form": [("--attn-weights", ["weights.npy"])],
    "--scores-stage": [("--scores-out", ["scores.npy"])],
    "--d-output": [("--grad-dir", ["gradients"])],
    "--grad-dir": [("--d-output", [I + "d_output.npy"])],
    "--d-attn-weights": [("--attn-weights", ["weights.npy"]), ("--grad-dir", ["gradients"]),
                         ("--d-output", [I + "d_output.npy"])],
    "--past-key": [("--past-value", [I + "past_v.npy"]), ("--present-dir", ["present"])],
    "--past-value": [("--past-key", [I + "past_k.npy"]), ("--present-dir", ["present"])],
    "--cache-dtype": [("--cache", ["paged"])],
    "--page-size": [("--cache", ["paged"])],
    "--chunk": [("--cache", ["paged"]), ("--causal", [])],
    "--matched": [("--against", [I + "pruned"])],
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
    ("run", "--scoring"): [("--score-weight", [I + "score_weight.npy"])],
    ("view", "--scoring"): [("--score-weight", [I + "score_weight.npy"])],
    ("stats", "--scoring"): [("--score-weight", [I + "score_weight.npy"])],
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
