"""`headwise run --dialect` against the libraries themselves, on random calls.

    dialects_peer_test.py HEADWISE CASES [LIBRARY...]

Masks of every rank that the library takes, rows without a key, Lq unlike Lkv.
Equal within 1e-5 where the library is finite, and NaN where it is NaN. A
library that is not installed is skipped; without any of them, so is the test.
"""
import importlib
import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent / "dialect_peers"))
LIBRARIES = ("torch", "transformers", "onnx", "onnxruntime", "jax", "flax",
             "keras")


def checks_of(library):
    """Nothing for one that is not installed."""
    try:
        return importlib.import_module(f"{library}_peer").CHECKS
    except ModuleNotFoundError as error:
        print(f"skipped {library}: no {error.name} in this Python")
        return {}


def main(headwise, cases, *libraries):
    command = str(pathlib.Path(headwise).resolve())
    ran = False
    for library in libraries or LIBRARIES:
        for dialect, check in checks_of(library).items():
            from random_call import RandomCall
            ran = True
            for seed in range(int(cases)):
                try:
                    check(RandomCall(command, seed))
                except Exception:
                    print(f"{dialect} against {library}, call {seed}:")
                    raise
            print(f"{dialect}: {cases} calls like {library}")
    return 0 if ran else 77


warnings.filterwarnings("ignore", category=RuntimeWarning)
sys.exit(main(*sys.argv[1:]))
