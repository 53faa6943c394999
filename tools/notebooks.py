#!/usr/bin/env python3
"""Runs the notebooks of python/notebooks and stores them with their outputs.

    tools/notebooks.py [NAME ...]

A page of heads is stored as a picture: forges do not show pages, and a picture is smaller.
Needs what the test of the notebooks needs (python/tests/test_notebooks.py), headwise, and
playwright with chromium. Give it a quiet machine: one notebook measures times.
"""
import base64
import html
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

import nbclient
import nbformat
from playwright.sync_api import sync_playwright

NOTEBOOKS = pathlib.Path(__file__).resolve().parent.parent / "python" / "notebooks"
PAGE = re.compile(r"<iframe [^>]*srcdoc='(.*?)'></iframe>", re.S)
DRAWN = ("() => document.querySelector('#view-title') && "
         "headwise.current.matrices.every(matrix => matrix.grid)")


def picture_of(page, browser, folder):
    file = pathlib.Path(folder) / "shown.html"
    file.write_text(page, "utf-8")
    view = browser.new_page(viewport={"width": 1000, "height": 920})
    view.goto(file.as_uri())
    view.wait_for_function(DRAWN)
    view.wait_for_timeout(600)
    return base64.b64encode(view.screenshot()).decode()


def as_stored(outputs, browser, folder):
    for output in outputs:
        if output.get("name") == "stderr":  # progress bars
            continue
        data = output.get("data", {})
        if "text/plain" in data:
            data["text/plain"] = re.sub(r" at 0x[0-9a-f]+>", ">", data["text/plain"])
        pages = PAGE.findall(data.get("text/html", ""))
        if pages:
            data["text/html"] = PAGE.sub("", data["text/html"])
        yield output
        for page in pages:
            yield nbformat.v4.new_output("display_data", data={
                "image/png": picture_of(html.unescape(page), browser, folder),
                "text/plain": "The page of every head"})


def run(name, browser):
    path = NOTEBOOKS / f"{name}.ipynb"
    with tempfile.TemporaryDirectory() as folder:
        done = nbclient.NotebookClient(
            nbformat.read(path, as_version=4), timeout=600, kernel_name="python3",
            record_timing=False, resources={"metadata": {"path": folder}}).execute()
        for cell in done.cells:
            if cell.cell_type == "code":
                cell.outputs = list(as_stored(cell.outputs, browser, folder))
    cells = json.loads(nbformat.writes(done))["cells"]
    stored = json.loads(path.read_text("utf-8"))
    for cell, ran in zip(stored["cells"], cells, strict=True):
        if cell["cell_type"] == "code":
            cell |= {"execution_count": ran["execution_count"], "outputs": ran["outputs"]}
    path.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", "utf-8")


def main():
    os.environ |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    names = sys.argv[1:] or sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in names:
            run(name, browser)
        browser.close()


if __name__ == "__main__":
    main()
