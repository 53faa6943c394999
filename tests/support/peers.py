"""Other libraries for tests to compare with: script/test installs them
(tests/requirements.txt) and names their Python in HEADWISE_PEERS_PYTHON."""
import importlib.util
import os
import sys

SKIPPED = 77


def need(*packages):
    """Returns where these can be imported; else the program begins again in
    that Python, once. Where they are nowhere, it is skipped, and with CI=true
    it fails."""
    if all(importlib.util.find_spec(package) for package in packages):
        return
    other = os.environ.get("HEADWISE_PEERS_PYTHON")
    if other and "HEADWISE_PEERS_TRIED" not in os.environ:
        os.environ["HEADWISE_PEERS_TRIED"] = "1"
        os.execv(other, [other, "-B", *sys.argv])
    print(f"skipped: there is not all of {', '.join(packages)} "
          f"(HEADWISE_PEERS_PYTHON is {other})")
    sys.exit(1 if os.environ.get("CI") == "true" else SKIPPED)
