"""The packages that only a part of headwise needs."""

import importlib


def require(user: str, *packages: str) -> None:
    """Raises ModuleNotFoundError, with the way out, unless the packages are installed.

    The last one is also the name of headwise's extra that installs them all.
    """
    for package in packages:
        try:
            importlib.import_module(package)
        except ModuleNotFoundError as error:
            if error.name != package:
                raise
            raise ModuleNotFoundError(
                f"{user} needs {package}, which is not installed: in a clone of headwise, "
                f"pip install '.[{packages[-1]}]'", name=package) from None
