"""The calls that options are added to: words, then options with their values."""

IN = "../in/"


def tensors(*names, prefix=""):
    return [(f"--{name}", [f"{IN}{prefix}{name[0]}.npy"]) for name in names]


MODEL = ("--model", [IN + "tiny"])
TOPICS = ("--model", [IN + "topics"])
CAUSAL = ("--model", [IN + "causal"])
DATA = ("--data", [IN + "data.tsv"])
TEXT = "heads matter so"
JSON = ("--json", [])
PAGE = ("--out", ["page.html"])
OUT = ("--out", ["out.npy"])
HEADS = [("--num-heads", ["4"]), ("--num-kv-heads", ["2"])]
LAYER = [("--params", [IN + "layer"]), *HEADS]
X = [(f"--{name}", [IN + "x.npy"]) for name in ("query", "key", "value")]
WEIGHTS = ("--attn-weights", [IN + "weights.npy"])
ONNX = [("--onnx", [IN + "model.onnx"]), ("--data", [IN + "data"])]
MADE = ("--out", ["made"])
SCORES = ("--scores", [IN + "scores.json"])


def seen(report, page):
    """The calls of view and of stats."""
    return {
        "model": ([TEXT], [MODEL, *report]),
        "tensors": ([], [*tensors("query", "key"), *report]),
        "weights": ([], [WEIGHTS, *report]),
        "onnx": ([], [*ONNX, *report]),
        "texts": ([], [MODEL, ("--texts", [IN + "lines.txt"]), *page]),
        "causal": (["w1 w2 w3 w1 w2"], [CAUSAL, *page]),
        "no text": ([], [MODEL, *report]),
        "ragged": ([], [("--query", [IN + "rq.npy"]), ("--key", [IN + "rk.npy"]),
                        ("--offsets", [IN + "offsets.npy"]), *report]),
    }


# command -> name -> (words, options). Pairs go to the first call that takes both.
CALLS = {
    "explain": {
        "params": ([], [("--query", [IN + "x.npy"]), *LAYER]),
        "tokens": ([], [("--tokens", [IN + "tokens.json"]), ("--vocab-size", ["20"]),
                        ("--embed-dim", ["16"]), *HEADS]),
        "model": ([TEXT], [MODEL]),
        "example": ([], [("--example", ["encoder-decoder"])]),
        "bare": ([], []),
    },
    "view": {**seen([JSON], [PAGE]), "attribution": ([TEXT], [TOPICS, PAGE])},
    "stats": {**seen([], []), "attribution": ([TEXT], [TOPICS]),
              "corpus": ([], [MODEL, ("--corpus", [IN + "lines.txt"])])},
    "heads": {"texts": ([], [("--find", ["induction"]), CAUSAL,
                             ("--texts", [IN + "causal.txt"])]),
              "random": ([], [("--find", ["previous"]), MODEL])},
    "run": {
        "operation": ([], [*tensors("query", "key", "value"), OUT]),
        "layer": ([], [*X, *LAYER, OUT]),
        "cache": ([], [*tensors("query", "key", "value"), ("--cache", ["paged"]),
                       ("--causal", []), OUT]),
        "gradients": ([], [*tensors("query", "key", "value"), OUT,
                           ("--d-output", [IN + "d_output.npy"]),
                           ("--grad-dir", ["gradients"])]),
        "ragged": ([], [*tensors("query", "key", "value", prefix="r"), OUT,
                        ("--offsets", [IN + "offsets.npy"])]),
        "layer gradients": ([], [*X, *LAYER, OUT, ("--d-output", [IN + "d_x.npy"]),
                                 ("--grad-dir", ["gradients"])]),
        "past": ([], [*tensors("query", "key", "value"), OUT,
                      ("--past-key", [IN + "past_k.npy"]),
                      ("--past-value", [IN + "past_v.npy"]),
                      ("--present-dir", ["present"])]),
    },
    "encode": {"file": ([IN + "lines.txt"], [MODEL, OUT]), "input": ([], [MODEL, JSON])},
    "train": {
        "recall": ([], [("--steps", ["2"]), MADE]),
        "probe": ([], [MODEL, DATA, MADE]),
        "all": ([], [MODEL, DATA, ("--train", ["all"]), ("--epochs", ["1"]), MADE]),
        "induction": ([], [("--task", ["induction"]), ("--steps", ["2"]), MADE]),
    },
    "classify": {"file": ([IN + "lines.txt"], [TOPICS]), "input": ([], [TOPICS])},
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
        "causal": ([], [CAUSAL, ("--data", [IN + "causal.txt"]), ("--each", [])]),
    },
    "patch": {
        "labels": ([], [TOPICS, ("--clean", ["heads matter"]),
                        ("--corrupted", ["so matter"])]),
        "causal": ([], [CAUSAL, ("--clean", ["w1 w2 w3"]), ("--corrupted", ["w1 w4 w3"])]),
        "embedding": ([], [MODEL, ("--clean", ["heads matter"]),
                           ("--corrupted", ["so ! matter"])]),
    },
    "inspect": {"model": ([IN + "tiny"], []), "file": ([IN + "layer.npz"], []),
                "onnx": ([IN + "model.onnx"], [])},
    "convert": {
        "model": ([IN + "tiny", "converted.safetensors"], [("--to", ["distilbert"])]),
        "layer": ([IN + "layer.npz", "converted.npz"],
                  [("--to", ["torch-mha"]), ("--num-heads", ["4"])]),
        "onnx": ([IN + "tiny", "converted.onnx"], [("--to", ["onnx"]), ("--layer", ["1"])]),
        "normed": ([IN + "normed", "converted.onnx"],
                   [("--to", ["onnx"]), ("--num-heads", ["4"]), ("--qk-norm", ["rms"])]),
    },
    "onnx-run": {"data": ([IN + "model.onnx"], [("--data", [IN + "data"])]),
                 "fits": ([IN + "model.onnx"],
                          [("--data", [IN + "cases/fits/test_data_set_0"])]),
                 "differs": ([IN + "model.onnx"],
                             [("--data", [IN + "cases/differs/test_data_set_0"])])},
    "check": {"cases": (["onnx", IN + "cases"], [])},
    "diff": {"dialects": ([], [("--dialects", ["torch-mha,keras"]),
                               *tensors("query", "key")])},
    "lint-mask": {
        "mask": ([], [("--dialect", ["torch-mha"]), ("--mask", [IN + "mask_2d.npy"])]),
        "padding": ([], [("--dialect", ["keras"]), ("--key-padding", [IN + "padding.npy"]),
                         ("--batch", ["2"])]),
    },
    "plan": {"call": ([], [("--ranks", ["4"]), ("--length", ["3000"])])},
    "bench": {"seed": ([], [("--workload", ["seed"]), ("--rounds", ["1"])]),
              "list": ([], [("--list", [])])},
    "info": {"bare": ([], [])},
    "help": {"run": (["run"], []), "bare": ([], [])},
}
