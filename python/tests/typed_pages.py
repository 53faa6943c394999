"""The Python of the readme, the guides and the notebooks, as files for type checkers.

python typed_pages.py FOLDER writes them; then run mypy or pyright in that folder. A
function that a page shows may have no annotations: its reader writes the function.
"""
import json
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).parents[2]

MODEL = """
from transformers import BatchEncoding, PreTrainedModel
model: PreTrainedModel
inputs: BatchEncoding
tokens: list[str]
"""
# What the reader of a page has before its first block.
GIVEN = {
    "README": MODEL,
    "python": """
import functools as functools
import itertools as itertools
from typing import Any
import numpy
from numpy.typing import NDArray
x: NDArray[numpy.float32]
bias: NDArray[numpy.float32]
d_output: NDArray[numpy.float32]
gates: NDArray[numpy.float32]
target: NDArray[numpy.float32]
texts: list[str]
session: Any
""",
    "pytorch": "from typing import Any\nlayer: Any\ntorch_layer: Any\nmodel: Any\n",
    "transformers": """
from typing import Any
batches: list[dict[str, Any]]
tokens: list[str]
""",
    "viewer": MODEL + """
import pathlib as pathlib
import numpy
import torch as torch
from transformers import PreTrainedTokenizerBase
tokenizer: PreTrainedTokenizerBase
np = numpy
""",
}
MYPY = """[mypy]
strict = True
allow_redefinition = True
disable_error_code = no-untyped-def, no-untyped-call
[mypy-headwise.torch.*,headwise.transformers.*]
ignore_errors = True
[mypy-torch.*,transformers.*,pandas.*]
ignore_missing_imports = True
follow_imports = skip
"""
# A page ends with an expression to show it, and its loops run at least once.
PYRIGHT = {"reportUnusedExpression": False, "reportPossiblyUnboundVariable": False,
           "reportMissingModuleSource": False}


def blocks(page):
    if page.suffix == ".ipynb":
        cells = json.loads(page.read_text("utf-8"))["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)


def write(folder):
    """Writes the pages, typed_calls and the settings; returns the names of the modules."""
    written = ["typed_calls"]
    shutil.copy(pathlib.Path(__file__).with_name("typed_calls.py"), folder)
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")),
                 *sorted((ROOT / "python/notebooks").glob("*.ipynb"))]:
        if code := blocks(page):
            name = page.stem.replace("-", "_") + "_page"
            given = f"given_to_{name}"
            (folder / f"{given}.pyi").write_text(GIVEN.get(page.stem, ""))
            text = "\n".join([f"from {given} import *", *code])
            (folder / f"{name}.py").write_text(text + "\n", "utf-8")
            written.append(name)
    (folder / "mypy.ini").write_text(MYPY)
    (folder / "pyrightconfig.json").write_text(json.dumps(PYRIGHT))
    return written


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
