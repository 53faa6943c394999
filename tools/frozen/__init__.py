"""The parts of tools/frozen.py."""

import pathlib
import sys

# Tests have what writes small models, and what runs mpirun.
TESTS = pathlib.Path(__file__).resolve().parents[2] / "tests"
sys.path += [str(TESTS / "apps"), str(TESTS / "support")]
