"""Compares reference.py with transformers in float64, each sequence alone:
check_reference.py FOLDER [--only REGEX]"""
import argparse
import contextlib
import pathlib
import re
import sys
import time
import unittest.mock

import torch
import transformers
from transformers.models.deberta_v2 import modeling_deberta_v2
from transformers.models.mpnet import modeling_mpnet
from transformers.models.t5 import modeling_t5

import reference
from comparison import largest_difference, parts
from forms import FORMS
from sequences import decoder_sequences, sequences
from variations import UNREADABLE

# The difference from transformers as it is: it computes rotary positions, RMS norms and
# softmax in float32.
MOST_IN_FLOAT32 = 1e-5
MOST = 1e-10


def load(folder):
    form = FORMS[folder.name.split("-")[0]]
    # With ALiBi, eager attention adds the bias twice.
    attention = "sdpa" if form.arguments.get("alibi") else "eager"
    return getattr(transformers, form.classes[1]).from_pretrained(
        folder, attn_implementation=attention, experts_implementation="eager",
        dtype=torch.float32).double().eval()


REAL = torch.float32, torch.float, torch.Tensor.float
DOUBLE = torch.float64, torch.float64, torch.Tensor.double


def put(types):
    torch.float32, torch.float, torch.Tensor.float = types
    torch.set_default_dtype(types[0])


# Buckets of distances: float64 moves their edges.
IN_FLOAT32 = ((modeling_t5.T5Attention, "_relative_position_bucket", staticmethod),
              (modeling_mpnet.MPNetEncoder, "relative_position_bucket", staticmethod),
              (modeling_deberta_v2, "make_log_bucket_position", lambda f: f))


def in_float32(f):
    def call(*args, **kwargs):
        put(REAL)
        try:
            return f(*args, **kwargs)
        finally:
            put(DOUBLE)
    return call


@contextlib.contextmanager
def without_float32():
    """Inside, transformers computes in float64 what it casts to float32, except buckets
    of distances."""
    with contextlib.ExitStack() as stack:
        for owner, name, kind in IN_FLOAT32:
            stack.enter_context(unittest.mock.patch.object(
                owner, name, kind(in_float32(getattr(owner, name)))))
        stack.callback(put, REAL)
        put(DOUBLE)
        yield


def answers(model, ids, decoder_ids):
    """What transformers computes, with the names of comparison.parts()."""
    arguments = dict(input_ids=torch.tensor([ids]), output_hidden_states=True,
                     output_attentions=model.config._attn_implementation == "eager")
    if decoder_ids is not None:
        arguments["decoder_input_ids"] = torch.tensor([decoder_ids])
    with torch.no_grad():
        made = model(**arguments, use_cache=False)
    named = {"logits": made["logits"][0]} if model.can_generate() else {}
    side = "" if decoder_ids is None else "decoder_"
    for name, key in (("hidden {}", f"{side}hidden_states"),
                      ("attn_weights {} 0", f"{side}attentions"),
                      ("cross_weights {} 0", "cross_attentions"),
                      ("encoder hidden {}", "encoder_hidden_states"),
                      ("encoder attn_weights {} 0", "encoder_attentions")):
        for n, each in enumerate(made.get(key) or ()):
            named[name.format(n)] = each[0]
    return {name: each.numpy() for name, each in named.items()}


def check(folder):
    """The difference from transformers as it is, and from its formulas in float64."""
    own = reference.read(folder)
    original, _, variation = folder.name.rpartition("-")
    model = load(folder.with_name(original) if variation in UNREADABLE else folder)
    inputs = list(zip(sequences(), decoder_sequences() if own.encoder else
                      [None] * len(sequences())))
    here = [parts(reference.compute(own, [ids], [decoder_ids]))
            for ids, decoder_ids in inputs]

    def worst(model):
        return max(largest_difference(there, mine)[0] for there, mine in zip(
            (comparable(answers(model, *each), own) for each in inputs), here))
    as_it_is = worst(model)
    with without_float32():
        exact = type(model)(model.config).eval()
        exact.load_state_dict(model.state_dict(), assign=True)
        scales = dict(model.named_buffers())
        for name, buffer in exact.named_buffers():
            if name.endswith("embed_scale"):  # Gemma's is a float32
                buffer.copy_(scales[name])
        return as_it_is, worst(exact)


def comparable(named, own):
    """Without OPT's last hidden state, which includes the projection of the head."""
    if own.head and own.head.project:
        del named[f"hidden {len(own.stack.blocks)}"]
    return named


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default=".*", help="a regular expression of folders")
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    failed = 0
    for folder in sorted(options.folder.iterdir()):
        if not re.fullmatch(options.only, folder.name):
            continue
        begin = time.monotonic()
        as_it_is, exact = check(folder)
        right = as_it_is < MOST_IN_FLOAT32 and exact < MOST
        failed += not right
        print(f"{folder.name:36} {as_it_is:9.1e} {exact:9.1e} "
              f"{time.monotonic() - begin:5.1f} s{'' if right else '  differs'}",
              flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
