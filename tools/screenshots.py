#!/usr/bin/env python3
"""Makes the pictures of the viewer again: those of docs/tutorial.md, viewer.md,
texts-and-pairs.md and compare-models.md.

    tools/screenshots.py HEADWISE MODEL [NAME ...]

MODEL is the folder of all-MiniLM-L6-v2. With names, only these pictures. Needs
playwright and chromium, as the tests of the page do.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

IMAGES = pathlib.Path(__file__).resolve().parent.parent / "docs/images"
NAME = "all-MiniLM-L6-v2"
PARAGRAPHS = (IMAGES / "paragraphs.txt").read_text("utf-8")
SENTENCES = re.split(r"(?<=\.)\s+", PARAGRAPHS.strip())
PAIR = "It was raining, so Anna took her coat.", "She did not want it to get wet."
PRUNED = "0.0,1.2,1.6,1.9,2.0,2.2,2.9,2.11,3.2,3.5,3.6,4.9,5.2,5.6"  # a fifth of the heads

REPEATED = " ".join(["cold sand bird milk fox rain moon tree"] * 2)
# page: the arguments of headwise view
PAGES = {
    "paragraphs": ["--model", NAME, PARAGRAPHS],
    "sentences": ["--model", NAME, "--texts", "sentences.txt"],
    "pair": ["--model", NAME, "--pair", *PAIR],
    "ablated": ["--model", NAME, " ".join(PAIR), "--ablate", "0.2"],
    "attributed": ["--model", NAME, " ".join(PAIR), "--attribution", "gradient,rollout"],
    "models": ["--model", "smaller", "--against", NAME, "--texts", "sentences.txt"],
    "tutorial": ["--model", "induction", REPEATED, "--ablate", "0.2"],
}
# The models that headwise makes: the arguments, without --out.
MODELS = {
    "smaller": ["prune", "--model", NAME, "--heads", PRUNED],
    "induction": ["train", "--task", "induction"],
}
# file: (the page, what is looked at, width, height, colours, where the picture begins)
SHOTS = {
    "grid": ("paragraphs", "#sort=previous", 1120, 560, "light"),
    "previous": ("paragraphs", "#view=head&layer=0&head=2&size=32&row=60&column=60",
                 1280, 860, "light"),
    "content": ("paragraphs", "#view=head&layer=3&head=1&size=64&query=16&key=2",
                1280, 860, "light"),
    "dark": ("paragraphs", "#view=head&layer=3&head=1&size=64&query=16&key=2",
             1280, 860, "dark"),
    "narrow": ("paragraphs", "#sort=previous", 420, 800, "light"),
    "texts": ("sentences", "#view=texts&layer=3&head=1", 1120, 700, "light"),
    "scatter": ("sentences", "#view=scatter&x=first&y=previous&average=1", 1120, 930, "light"),
    "pair": ("pair", "#view=head&layer=3&head=1&part=BA", 1280, 860, "light"),
    "ablated": ("ablated", "#view=head&layer=1&head=9&compare=1:1.9", 1280, 990, "light"),
    "changes": ("models", "#view=changes", 1120, 560, "light"),
    "norms": ("paragraphs", "#view=head&layer=1&head=11&size=64&measure=norm",
              1280, 860, "light"),
    "gradient": ("attributed", "#view=head&layer=5&head=11&measure=gradient",
                 1280, 860, "light"),
    "rollout": ("attributed", "#view=through&output=0", 1120, 560, "light"),
    "narrow-texts": ("sentences", "#view=texts&layer=3&head=1", 420, 800, "light"),
    "tutorial-ablated": ("tutorial", "#view=head&layer=1&head=0&compare=1:1.0",
                         1120, 770, "light", 405),
}
# file: the arguments of headwise view, which draws it itself
PICTURES = {"tutorial-heads": ["--model", "induction", REPEATED]}
DRAWN = ("() => document.querySelector('#view-title') && "
         "headwise.current.matrices.every(matrix => matrix.grid && (!matrix.raw || "
         "!matrix.raw.includes(headwise.mask.PENDING)))")


class Pages:
    """The pages, each written when it is first looked at."""

    def __init__(self, headwise, model, scratch):
        self.headwise = pathlib.Path(headwise).resolve()
        self.scratch = pathlib.Path(scratch)
        shutil.copytree(model, self.scratch / NAME)
        (self.scratch / "sentences.txt").write_text("\n".join(SENTENCES) + "\n", "utf-8")

    def run(self, *arguments):
        subprocess.run([self.headwise, *arguments], check=True, cwd=self.scratch)

    def view(self, arguments, *output):
        for name, how in MODELS.items():
            if name in arguments and not (self.scratch / name).exists():
                self.run(*how, "--out", name)
        self.run("view", *arguments, "--lang", "en", *output)

    def of(self, name):
        page = self.scratch / f"{name}.html"
        if not page.exists():
            self.view(PAGES[name], "--out", page.name)
        return page


def main(headwise, model, *names):
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        pages = Pages(headwise, model, scratch)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in names or [*PICTURES, *SHOTS]:
            if name in PICTURES:
                pages.view(PICTURES[name], "--png", IMAGES / f"{name}.png")
                continue
            source, link, width, height, scheme, *begin = SHOTS[name]
            page = browser.new_context(viewport={"width": width, "height": height},
                                       color_scheme=scheme).new_page()
            page.goto(pages.of(source).as_uri() + link)
            page.wait_for_function(DRAWN)
            page.wait_for_timeout(600)
            page.screenshot(path=IMAGES / f"{name}.png", clip={
                "x": 0, "y": sum(begin), "width": width, "height": height - sum(begin)})
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
