#!/usr/bin/env python3
"""Makes the pictures of docs/heads.md again.

    tools/screenshots.py HEADWISE MODEL

Needs playwright and chromium, as the tests of the page do.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

IMAGES = pathlib.Path(__file__).resolve().parent.parent / "docs/images"
# file: (what is looked at, width, height, colours)
SHOTS = {
    "grid": ("#sort=previous", 1120, 560, "light"),
    "previous": ("#view=head&layer=0&head=2&size=32&row=60&column=60", 1280, 860, "light"),
    "content": ("#view=head&layer=3&head=1&size=64&query=16&key=2", 1280, 860, "light"),
    "dark": ("#view=head&layer=3&head=1&size=64&query=16&key=2", 1280, 860, "dark"),
    "narrow": ("#sort=previous", 420, 800, "light"),
}
DRAWN = ("() => document.querySelector('#view-title') && "
         "headwise.current.matrices.every(matrix => matrix.grid && (!matrix.raw || "
         "!matrix.raw.includes(headwise.mask.PENDING)))")


def main(headwise, model):
    text = (IMAGES / "paragraphs.txt").read_text("utf-8")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        page_file = pathlib.Path(scratch) / "page.html"
        shutil.copytree(model, pathlib.Path(scratch) / "all-MiniLM-L6-v2")
        subprocess.run([pathlib.Path(headwise).resolve(), "view", "--model",
                        "all-MiniLM-L6-v2", text, "--lang", "en", "--out", page_file],
                       check=True, cwd=scratch)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (link, width, height, scheme) in SHOTS.items():
            page = browser.new_context(viewport={"width": width, "height": height},
                                       color_scheme=scheme).new_page()
            page.goto(page_file.as_uri() + link)
            page.wait_for_function(DRAWN)
            page.wait_for_timeout(600)
            page.screenshot(path=IMAGES / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
