"""A sentence encoder as a model of OpenVINO, without its pooling:

    encoder_to_openvino.py MODEL FOLDER

writes FOLDER/encoder.xml and .bin, in float32.
"""
import pathlib
import sys

import openvino
import torch
import transformers

from encoder_to_onnx import INPUTS, Hidden


def main(model, folder):
    # Its attention becomes the operator that OpenVINO has for it.
    encoder = transformers.AutoModel.from_pretrained(
        model, attn_implementation="sdpa", local_files_only=True).eval()
    ids = torch.ones(2, 7, dtype=torch.int64)
    converted = openvino.convert_model(
        Hidden(encoder), example_input=dict(zip(
            INPUTS, (ids, torch.ones_like(ids), torch.zeros_like(ids)))))
    for given, name in zip(converted.inputs, INPUTS):
        given.get_tensor().set_names({name})
    openvino.save_model(converted, pathlib.Path(folder) / "encoder.xml",
                        compress_to_fp16=False)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
