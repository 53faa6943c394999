"""Compares the numbers of `headwise forward` with those of the reference:
compare.py PROGRAM FOLDER [--only REGEX]

The file of attention weights has an entry per layer, named by its number, of shape
(sequences, heads, longest, longest) with 0 beyond the end of each sequence. The entries
of an encoder-decoder are encoder.0, 0, cross.0 and so on; its hidden states are
those of the decoder."""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

import reference
from comparison import largest_difference
from sequences import decoder_sequences, sequences

MOST = {"t5": 2e-5}
MOST_OF_OTHERS = 1e-5
# Scores of the strong models are near 100: rounding them to float32 changes weights more
# than states.
MOST_OF_WEIGHTS = 3e-5


def padded(weights):
    """(sequences, heads, queries, keys) of the weights of each sequence."""
    queries, keys = (max(each.shape[axis] for each in weights) for axis in (1, 2))
    return np.stack([np.pad(each, [(0, 0), (0, queries - each.shape[1]),
                                   (0, keys - each.shape[2])]) for each in weights])


def expected_parts(made):
    named = {} if made.logits is None else {"logits": made.logits}
    named |= {f"hidden {n}": each for n, each in enumerate(made.hidden)}
    sides = ([("", made.attn_weights)] if not made.encoder else
             [("encoder.", made.encoder.attn_weights), ("", made.attn_weights),
              ("cross.", made.cross_weights)])
    return named | {f"weights {side}{n}": padded(layer) for side, layers in sides
                    for n, layer in enumerate(layers)}


def found_parts(program, model, made, folder):
    ids, decoder_ids = folder / "ids.json", folder / "decoder-ids.json"
    ids.write_text(json.dumps(sequences()))
    decoder_ids.write_text(json.dumps(decoder_sequences()))
    logits, hidden, weights = (folder / name for name in
                               ("logits.npy", "hidden.npy", "weights.npz"))
    command = [program, "forward", "--model", model, "--ids", ids, "--hidden", hidden,
               "--attn-weights", weights]
    if made.encoder:
        command += ["--decoder-ids", decoder_ids]
    if made.logits is not None:
        command += ["--logits", logits]
    subprocess.run(command, check=True, capture_output=True, text=True)
    named = {"logits": np.load(logits)} if logits.exists() else {}
    named |= {f"hidden {n}": each for n, each in enumerate(np.load(hidden))}
    return named | {f"weights {name}": each for name, each in np.load(weights).items()}


def compare(program, model, times=1, floor=(0, 0)):
    """The largest relative differences, of states and of attention weights, with the
    parts that have them, and whether they are small enough: at most `times` what they
    may be in models of usual sizes, or at most `floor`."""
    config, _ = reference.files(model)
    most = MOST.get(config["model_type"], MOST_OF_OTHERS)
    made = reference.run(model, sequences(), decoder_sequences())
    expected = expected_parts(made)
    with tempfile.TemporaryDirectory() as folder:
        found = found_parts(program, model, made, pathlib.Path(folder))
    if missing := expected.keys() - found.keys():
        raise ValueError(f"not written: {sorted(missing)}")
    worst = [largest_difference({name: values for name, values in expected.items()
                                 if name.startswith("weights") == of_weights}, found)
             for of_weights in (False, True)]
    right = (worst[0][0] <= max(times * most, floor[0]) and
             worst[1][0] <= max(times * MOST_OF_WEIGHTS, floor[1]))
    return "  ".join(f"{each:.1e} {part:20}" for each, part in worst), right


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path, help="from make_models.py")
    parser.add_argument("--only", default=".*", help="a regular expression of models")
    options = parser.parse_args()
    failed = 0
    for model in sorted(options.folder.iterdir()):
        if not re.fullmatch(options.only, model.name):
            continue
        try:
            told, right = compare(options.program, model)
        except (ValueError, OSError, subprocess.CalledProcessError) as error:
            told, right = getattr(error, "stderr", None) or str(error), False
        failed += not right
        verdict = "" if right else "  FAILED"
        print(f"{model.name:36} {told.strip()}{verdict}", flush=True)
    print(f"{failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
