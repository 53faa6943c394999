"""The model of `headwise plan` with measured rates: bench/scaling.py compares it with
real ranks, and lets it predict more of them."""
import json
import statistics
import subprocess

GIGA = 1e9
PIECES = [2, 4, 8, 16]
# The call whose time is predicted.
CALL = {"heads": 32, "kv_heads": 8, "head_dim": 128}


def planned(headwise, gflops, gb_s, latency_us, ranks, length, *options):
    """What `headwise plan` says, and its forecasts by the name of the transfer."""
    done = subprocess.run(
        [headwise, "plan", "--json", "--parallel", "context", "--causal",
         "--ranks", str(ranks), "--length", str(length), "--rate", repr(gflops),
         "--bandwidth", repr(gb_s), "--latency", repr(latency_us),
         *map(str, options)], stdout=subprocess.PIPE, check=True, text=True)
    plan = json.loads(done.stdout)
    times = {each["transfer"]: each for each in plan["forecasts"]}
    return plan, times


def options_of(call, which):
    options = {"heads": "--num-heads", "kv_heads": "--kv-heads", "head_dim": "--head-dim"}
    sizes = [word for name, size in call.items() for word in (options[name], size)]
    return [*sizes, "--backward"] if which == "backward" else sizes


def rate_of(headwise, measured, words):
    """The GFLOP/s of a rank that computes the call's products in chunks."""
    _, times = planned(headwise, 1.0, 1e6, 0.0, 1, measured["length"], *words)
    gflop = times["pipelined"]["seconds"]
    return gflop / statistics.median(measured["each"])


def compared(headwise, measured, most_error):
    """What rank_bench measured, and what the model says with its rates."""
    words = options_of({name: measured[name] for name in ("heads", "head_dim")},
                       measured["pass"])
    gflops = rate_of(headwise, measured, words)
    _, times = planned(
        headwise, gflops, measured["bytes_per_second"] / GIGA,
        measured["latency_seconds"] * 1e6, measured["ranks"], measured["length"],
        *words)
    together = statistics.median(measured["together"])
    predicted = times["pipelined"]["seconds"]
    return {**measured, "gflops": gflops, "measured_seconds": together,
            "predicted_seconds": predicted, "error": predicted / together - 1,
            "most_error": most_error}


def predict(options, gflops, ranks, length, which):
    """The best numbers of pieces, by the model: where keys are pipelined, and
    where a rank receives all of them first."""
    best = {}
    for pieces in PIECES:
        _, times = planned(
            options.headwise, gflops * options.cores, options.bandwidth,
            options.latency, ranks, length, *options_of(CALL, which),
            "--pieces-per-rank", pieces)
        for transfer, each in times.items():
            if transfer not in best or each["efficiency"] > best[transfer]["efficiency"]:
                best[transfer] = {**each, "pieces": pieces}
    return {"ranks": ranks, "length": length, "pass": which, "forecasts": best}
