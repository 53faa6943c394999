"""What needs torch says how to install it, where it is not."""
import subprocess
import sys

import pytest

# An entry of None is a module that cannot be imported.
WITHOUT = "import sys; sys.modules[{!r}] = None\n"


@pytest.mark.parametrize("code, missing, extra", [
    ("import headwise; headwise.torch", "torch", "torch"),
    ("import headwise.torch", "torch", "torch"),
    ("import headwise.transformers", "torch", "transformers"),
    ("import headwise; headwise.observe", "torch", "transformers"),
])
def test_the_error_names_the_extra(code, missing, extra):
    done = subprocess.run([sys.executable, "-c", WITHOUT.format(missing) + code],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr.splitlines()[-1].startswith("ModuleNotFoundError: headwise.")
    assert f"needs {missing}, which is not installed" in done.stderr
    assert f"pip install '.[{extra}]'" in done.stderr
