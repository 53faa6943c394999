"""A sentence encoder as ONNX, without its pooling:

    encoder_to_onnx.py MODEL FOLDER

writes FOLDER/encoder.onnx, exported by PyTorch, and encoder_fused.onnx, of which
ONNX Runtime's optimiser has made its own operators for BERT.
"""
import pathlib
import sys

import torch
import transformers
from onnxruntime.transformers import optimizer

INPUTS = ["input_ids", "attention_mask", "token_type_ids"]
# What the optimiser must have found of each layer; else it did not know the
# graph, and ONNX Runtime would be measured without its own attention.
FUSED_A_LAYER = ["Attention", "BiasGelu"]


class Hidden(torch.nn.Module):
    """The last hidden state alone."""

    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.encoder(input_ids=input_ids, attention_mask=attention_mask,
                            token_type_ids=token_type_ids).last_hidden_state


def export(encoder, file):
    ids = torch.ones(2, 7, dtype=torch.int64)
    # The optimiser knows the graphs of the exporter by tracing, and of attention
    # those that are written out; the newer exporter's it leaves unfused.
    torch.onnx.export(
        Hidden(encoder), (ids, torch.ones_like(ids), torch.zeros_like(ids)),
        file, input_names=INPUTS, output_names=["hidden"], opset_version=17,
        dynamic_axes={name: {0: "B", 1: "L"} for name in [*INPUTS, "hidden"]},
        dynamo=False)


def fuse(config, file, fused):
    made = optimizer.optimize_model(
        str(file), model_type="bert", num_heads=config.num_attention_heads,
        hidden_size=config.hidden_size, opt_level=0)
    found = made.get_fused_operator_statistics()
    for kind in FUSED_A_LAYER:
        if found[kind] != config.num_hidden_layers:
            sys.exit(f"the optimiser made {found[kind]} {kind} of "
                     f"{config.num_hidden_layers} layers")
    made.save_model_to_file(str(fused))


def main(model, folder):
    encoder = transformers.AutoModel.from_pretrained(
        model, attn_implementation="eager", local_files_only=True).eval()
    folder = pathlib.Path(folder)
    export(encoder, folder / "encoder.onnx")
    fuse(encoder.config, folder / "encoder.onnx", folder / "encoder_fused.onnx")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
