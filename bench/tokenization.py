#!/usr/bin/env python3
"""Measures headwise.Tokenizer next to the package `tokenizers`: script/bench
--tokenizers calls it.

Speed: one call encodes 10 MB of texts, both with offsets; rounds in turns, in an order
of chance. The ids are compared before. Memory: the peak of the process that does it.
Loading: the time and the memory of a process of its own. What it writes, in --out:
DATE-CPU-COMMIT-tokenizers.json with the numbers of every round.
"""
import json
import pathlib
import statistics
import subprocess
import sys

from harness import (HERE, Refused, Worker, conditions, parsed, parser, results_file,
                     rounded, seconds_of, shuffled, status_of, with_scratch)
from tokenizer_texts import all_texts

sys.path.append(str(HERE.parent / "python/tests/with_tokenizers"))
from real_tokenizers import tokenizer_json  # noqa: E402

PEERS = ["headwise", "tokenizers"]
PEER = HERE / "peers" / "with_tokenizers.py"
SPEED = ["gpt2", "smollm2", "llama2", "j2", "minilm"]
LOADED = [*SPEED, "deepseek_v3"]
LOADING = """
import sys, time
sys.path.append(sys.argv[1])
from with_tokenizers import loaded
def resident():
    return [int(line.split()[1]) * 1024 for line in open("/proc/self/status")
            if line.startswith("VmRSS")][0]
__import__(sys.argv[2])
memory, begin = resident(), time.perf_counter()
tokenizer = loaded(sys.argv[2], sys.argv[3])
print(time.perf_counter() - begin, resident() - memory)
"""


def loading(path, rounds):
    """{peer: {seconds, bytes}}"""
    found = {peer: {"seconds": [], "bytes": []} for peer in PEERS}
    for order in shuffled(PEERS, rounds):
        for peer in order:
            said = subprocess.run([sys.executable, "-c", LOADING, PEER.parent, peer,
                                   path], capture_output=True, text=True, check=True)
            seconds, size = said.stdout.split()
            found[peer]["seconds"].append(float(seconds))
            found[peer]["bytes"].append(int(size))
    return found


def speed(folder, threads, rounds, log):
    """{peer: {seconds, peak_bytes}} of the workload in `folder`."""
    workers = {peer: Worker([sys.executable, "-B", PEER, peer], threads, log)
               for peer in PEERS}
    try:
        ids = []
        for peer, worker in workers.items():
            worker.expect("load", peer, folder)
            worker.expect("out", peer, folder)
            ids.append((folder / "ids.bin").read_bytes())
        if ids[0] != ids[1]:
            raise Refused("the ids differ")
        found = {peer: [] for peer in PEERS}
        for order in shuffled(PEERS, rounds):
            for peer in order:
                found[peer].append(seconds_of(workers[peer], peer, 1, threads))
        return {peer: {"seconds": found[peer], "peak_bytes":
                       status_of(worker.process)["VmHWM"]}
                for peer, worker in workers.items()}
    finally:
        for worker in workers.values():
            worker.stop()


def told(name, record, unit, key="seconds"):
    here, there = (statistics.median(record[peer][key]) for peer in PEERS)
    scale = {"ms": 1e3, "MB": 1e-6}[unit]
    print(f"{name:30} {scale * here:9.1f} {scale * there:9.1f} {unit}, "
          f"{there / here:.2f} times", flush=True)


def compare(options, scratch, log):
    made = tokenizer_json(options.folder / "files")
    results = {"conditions": conditions(options), "loading": {}, "speed": {}}
    print(f"{'':30} {PEERS[0]:>9} {PEERS[1]:>9}")
    for name in LOADED:
        results["loading"][name] = record = loading(made[name](), options.rounds)
        told(f"load {name}", record, "ms")
        told(f"load {name}, memory", record, "MB", "bytes")
    for language, texts in all_texts(options.folder / "texts").items():
        for name in SPEED:
            folder = scratch / language / name
            folder.mkdir(parents=True)
            (folder / "texts.json").write_text(json.dumps(texts), "utf-8")
            (folder / "tokenizer.json").write_bytes(made[name]().read_bytes())
            for threads in options.threads:
                record = speed(folder, threads, options.rounds, log)
                results["speed"][f"{name}, {language}, {threads}"] = record
                told(f"{name}, {language}, {threads} threads", record, "ms")
    file = results_file(options.out, results["conditions"], "tokenizers")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(rounded(results), indent=1) + "\n", encoding="utf-8")
    print(file)


def main(arguments):
    made = parser(__doc__.splitlines()[0])
    made.add_argument("--folder", type=pathlib.Path,
                      default=HERE.parent / "build" / "tokenizers")
    options = parsed(made, arguments)
    with_scratch("tokenizers.log", lambda scratch, log: compare(options, scratch, log))


if __name__ == "__main__":
    main(sys.argv[1:])
