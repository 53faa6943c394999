"""Writes the golden cases of one environment into a folder.

    generate.py torch|tf|mxnet ROOT

script/golden calls it for each of the three. The order matters: PyTorch begins
the cases that several frameworks compute.
"""
import importlib
import pathlib
import sys

MODULES = {
    "torch": ["token_cases", "step_cases", "torch_mha_cases", "sdpa_cases",
              "rope_cases", "additive_cases", "minilm_case", "d2l_torch",
              "d2l_jax", "flax_cases", "jax_dpa_cases", "onnx_cases"],
    "tf": ["d2l_tensorflow", "keras_cases"],
    "mxnet": ["d2l_mxnet"],
}


def main():
    environment, root = sys.argv[1:]
    for module in MODULES[environment]:
        importlib.import_module(module).write_all(pathlib.Path(root))


if __name__ == "__main__":
    main()
