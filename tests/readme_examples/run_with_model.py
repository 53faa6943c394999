"""run_with_model.py PROGRAM: runs an example that takes the folder of a model."""
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "apps"))
import tiny_model  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    tiny_model.write(pathlib.Path(folder) / "model")
    sys.exit(subprocess.run([sys.argv[1], "model"], cwd=folder).returncode)
