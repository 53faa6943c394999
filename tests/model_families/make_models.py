"""Makes the models of forms.py with transformers, as it initialises them and with
strong weights, and variations of their files that other programs have written:
make_models.py FOLDER [--only REGEX]"""
import argparse
import pathlib
import re
import zlib

import torch
import transformers

from forms import FORMS
from variations import write_variations

KINDS = ("default", "strong")


def strengthen(model, t5):
    """Weights large enough that no rule of a family is lost in rounding."""
    with torch.no_grad():
        named = {**dict(model.named_parameters()),
                 **{name: buffer for name, buffer in model.named_buffers()
                    if name == "final_logits_bias"}}
        for name, values in named.items():
            last = name.split(".")[-2] if "." in name else ""
            if "relative_attention_bias" in name or name.endswith("sinks"):
                values.normal_()
            elif name.endswith("bias"):
                values.normal_(std=0.3)
            elif values.ndim > 1:
                # T5 does not scale its scores.
                values.normal_(std=0.25 * model.config.d_kv ** -0.5
                               if t5 and last == "q" else 0.25)
            else:
                values.mul_(0).add_(0 if "Gemma" in type(model).__name__ else 1)
                values.add_(0.3 * torch.randn_like(values))


def make(name, kind):
    form = FORMS[name]
    config, model = (getattr(transformers, each) for each in form.classes)
    torch.manual_seed(zlib.crc32(name.encode()))
    made = model(config(**form.arguments)).eval()
    if form.own_head:
        made.lm_head.weight = torch.nn.Parameter(
            torch.randn_like(made.lm_head.weight) * 0.05)
    if kind == "strong":
        strengthen(made, form.config == "T5Config")
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default=".*", help="a regular expression of forms")
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for name in filter(re.compile(options.only).fullmatch, FORMS):
        for kind in KINDS:
            make(name, kind).save_pretrained(options.folder / f"{name}-{kind}")
        write_variations(options.folder, name)


if __name__ == "__main__":
    main()
