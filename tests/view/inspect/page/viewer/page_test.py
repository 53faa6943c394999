"""Opens the viewer's pages in a real browser and uses them.

    page_test.py [HEADWISE] [unittest arguments]

HEADWISE is the command, whose own pages are opened as well. page_case.py says what the
tests need.
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import page_case  # noqa: E402

from numbers_test import Numbers  # noqa: E402, F401
from views_test import Overview, Matrix, Legend, CrossAttention  # noqa: E402, F401
from layout_test import Layout, Labels, Access  # noqa: E402, F401
from use_test import Keyboard, Links, Written  # noqa: E402, F401
from safety_test import Failures, Safety  # noqa: E402, F401
from texts_test import Texts  # noqa: E402, F401
from scatter_test import Scatter  # noqa: E402, F401
from pair_test import Pair  # noqa: E402, F401
from measure_test import Measure  # noqa: E402, F401
from gradient_test import Gradient  # noqa: E402, F401
from through_test import Through  # noqa: E402, F401
from changes_test import Changes  # noqa: E402, F401
from ablated_test import Ablated  # noqa: E402, F401

if __name__ == "__main__":
    if len(sys.argv) > 1 and os.path.isfile(sys.argv[1]):
        page_case.cases.command = os.path.abspath(sys.argv.pop(1))
    page_case.run_tests()
