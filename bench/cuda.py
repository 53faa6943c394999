#!/usr/bin/env python3
"""Attention on the GPU beside PyTorch's, in one process and one run.

    bench/cuda.py --library PATH [--rounds 10] [--json FILE] [--only TEXT]

PATH is libheadwise_cuda_entry.so, which -DHEADWISE_CUDA=ON -DHEADWISE_BENCH=ON
builds. Every output is checked against float64 first, and its error stands
beside that of PyTorch's flash kernel on the same inputs. Then the back ends are
timed in turns, round by round, and so is a large matrix product: rates are
reported as medians over the rounds and as shares of that product's rate.
"""

import argparse
import ctypes
import json
import math
import statistics
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

PEERS = {
    "torch_flash": SDPBackend.FLASH_ATTENTION,
    "torch_cudnn": SDPBackend.CUDNN_ATTENTION,
}

# 16k tokens a batch and 2048 features, as in arXiv:2407.08608.
def workload(D, L, causal, dtype="bfloat16"):
    return {
        "name": f"d{D}_l{L}_{'causal' if causal else 'full'}_{dtype}",
        "B": 16384 // L, "H": 2048 // D, "L": L, "D": D,
        "causal": causal, "dtype": dtype,
    }

WORKLOADS = [
    workload(128, 8192, False), workload(128, 8192, True),
    workload(64, 8192, False), workload(64, 8192, True),
    workload(128, 2048, False), workload(128, 2048, True),
    workload(128, 512, False), workload(128, 512, True),
    workload(256, 8192, False), workload(256, 8192, True),
    workload(128, 8192, False, "float16"),
]


class Headwise:
    """The library's plan for one workload."""

    def __init__(self, library, w):
        self.library = library
        sizes = (ctypes.c_int64 * 7)(
            w["B"], w["H"], w["H"], w["L"], w["L"], w["D"], w["D"])
        self.plan = library.headwise_plan(
            sizes, int(w["dtype"] == "bfloat16"), int(w["causal"]),
            ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        if not self.plan:
            sys.exit(f"{w['name']}: no plan")

    def __del__(self):
        self.library.headwise_free(ctypes.c_void_p(self.plan))

    def _call(self, function, tensors, *more):
        data = (ctypes.c_void_p * len(tensors))(*(x.data_ptr() for x in tensors))
        strides = (ctypes.c_int64 * (4 * len(tensors)))(
            *(x.stride(axis) for x in tensors for axis in (0, 2, 1, 3)))
        if function(ctypes.c_void_p(self.plan), data, strides,
                    *(ctypes.c_void_p(x.data_ptr()) for x in more)):
            sys.exit("headwise failed")

    def forward(self, tensors, lse, rows):
        """tensors: query, key, value, output, as (B, H, L, D)."""
        self._call(self.library.headwise_forward, tensors, lse, rows)

    def backward(self, tensors, rows):
        """tensors: as above, d_output, d_query, d_key, d_value."""
        self._call(self.library.headwise_backward, tensors, rows)


def exact_rows(q, k, v, rows, causal):
    """Attention of some rows in float64: (B, H, rows, D)."""
    q = q[:, :, rows].double()
    scores = q @ k.double().transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        keys = torch.arange(k.shape[2], device=k.device)
        scores.masked_fill_(keys[None, :] > rows[:, None], -math.inf)
    return torch.softmax(scores, -1) @ v.double(), torch.logsumexp(scores, -1)


def seconds(call, flush):
    flush.zero_()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1000


def tensors_of(w, count):
    generator = torch.Generator("cuda").manual_seed(1)
    shape = (w["B"], w["L"], w["H"], w["D"])
    dtype = getattr(torch, w["dtype"])
    return [torch.randn(shape, generator=generator, device="cuda").to(dtype)
            .transpose(1, 2) for _ in range(count)]


def exact_gradients(q, k, v, d_out, causal):
    """dQ, dK, dV of one head of one batch element in float64."""
    inputs = [x[:1, :1].double().requires_grad_() for x in (q, k, v)]
    scores = inputs[0] @ inputs[1].transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        L = q.shape[2]
        scores = scores.masked_fill(
            torch.ones(L, L, dtype=torch.bool, device="cuda").triu(1), -math.inf)
    out = torch.softmax(scores, -1) @ inputs[2]
    return torch.autograd.grad(out, inputs, d_out[:1, :1].double())


def error_of(got, want):
    off = got.double() - want
    return {"max": off.abs().max().item(), "rms": off.pow(2).mean().sqrt().item()}


class Case:
    """One workload: its tensors, and how each back end is called on them."""

    def __init__(self, library, w):
        self.w = w
        self.q, self.k, self.v, self.d_out = tensors_of(w, 4)
        B, H, L, D = self.q.shape
        self.out = torch.full_like(self.q, math.nan)
        self.grads = [torch.full_like(self.q, math.nan) for _ in range(3)]
        self.lse = torch.full((B, H, L), math.nan, device="cuda")
        self.rows = torch.full((B, H, L, 2), math.nan, device="cuda")
        self.plan = Headwise(library, w)
        self.peers = {}
        self.forwards = {"headwise": self.headwise_forward}
        self.backwards = {"headwise": self.headwise_backward}
        for name, backend in PEERS.items():
            try:
                self.peer_forward(name, backend)()
                self.peer_backward(name)()
            except RuntimeError as error:
                print(f"{w['name']}: {name} refuses: {str(error)[:100]}",
                      file=sys.stderr)
                continue
            self.forwards[name] = self.peer_forward(name, backend)
            self.backwards[name] = self.peer_backward(name)

    def headwise_forward(self):
        self.plan.forward((self.q, self.k, self.v, self.out), self.lse,
                          self.rows)

    def headwise_backward(self):
        self.plan.backward((self.q, self.k, self.v, self.out, self.d_out,
                            *self.grads), self.rows)

    def peer_forward(self, name, backend):
        def call():
            inputs = [x.detach().requires_grad_() for x in (self.q, self.k, self.v)]
            with sdpa_kernel(backend):
                out = F.scaled_dot_product_attention(
                    *inputs, is_causal=self.w["causal"])
            self.peers[name] = (inputs, out)
        return call

    def peer_backward(self, name):
        def call():
            inputs, out = self.peers[name]
            self.peers[name + " gradients"] = torch.autograd.grad(
                out, inputs, self.d_out, retain_graph=True)
        return call

    def errors(self):
        """Of every back end against float64: some rows, and one head's
        gradients."""
        causal = self.w["causal"]
        L = self.q.shape[2]
        rows = torch.randint(0, L, (64,), device="cuda").sort().values
        want, want_lse = exact_rows(self.q, self.k, self.v, rows, causal)
        errors = {}
        for name, call in self.forwards.items():
            call()
            torch.cuda.synchronize()
            got = self.out if name == "headwise" else self.peers[name][1]
            errors[name] = {"output": error_of(got[:, :, rows], want)}
        if not torch.isfinite(self.out).all():
            errors["headwise"]["output"]["max"] = math.nan
        errors["headwise"]["lse"] = error_of(self.lse[:, :, rows], want_lse)
        want = exact_gradients(self.q, self.k, self.v, self.d_out, causal)
        for name, call in self.backwards.items():
            call()
            torch.cuda.synchronize()
            grads = (self.grads if name == "headwise"
                     else self.peers[name + " gradients"])
            for which, got, exact in zip(("d_query", "d_key", "d_value"),
                                         grads, want):
                errors[name][which] = error_of(got[:1, :1], exact)
                if not torch.isfinite(got).all():
                    errors[name][which]["max"] = math.nan
        return errors


def measure(library, w, rounds, flush, square):
    case = Case(library, w)
    errors = case.errors()
    calls = {("forward", name): call for name, call in case.forwards.items()}
    calls |= {("backward", name): call for name, call in case.backwards.items()}
    times = {key: [] for key in calls}
    matmul = []
    for call in calls.values():
        for _ in range(3):
            call()
    for _ in range(rounds):
        for key, call in calls.items():
            times[key].append(seconds(call, flush))
        matmul.append(seconds(lambda: square @ square, flush))
    B, H, L, D = case.q.shape
    pairs = L * (L + 1) / 2 if w["causal"] else L * L
    work = {"forward": 4 * B * H * D * pairs, "backward": 10 * B * H * D * pairs}
    rates = {"forward": {}, "backward": {}}
    for (direction, name), t in times.items():
        rates[direction][name] = work[direction] / statistics.median(t) / 1e12
    return {
        "workload": w, "errors": errors,
        "seconds": {f"{d} {n}": t for (d, n), t in times.items()},
        "tflops": rates,
        "matmul_seconds": matmul,
        "matmul_tflops":
            2 * square.shape[0] ** 3 / statistics.median(matmul) / 1e12,
    }


def show(r):
    for direction, rates in r["tflops"].items():
        own = rates["headwise"]
        best = max((rate for name, rate in rates.items() if name != "headwise"),
                   default=math.nan)
        which = ["output"] if direction == "forward" else [
            "d_query", "d_key", "d_value"]
        print(f"{r['workload']['name']:27} {direction:8}" + "".join(
            f" {name} {rate:5.1f}" for name, rate in rates.items())
            + f" | {own / best:5.3f} of the fastest, "
            f"{own / r['matmul_tflops']:5.3f} of matmul's "
            f"{r['matmul_tflops']:5.1f} | error "
            + ", ".join(" ".join(f"{e[x]['rms']:.2e}" for x in which)
                        for e in r["errors"].values()), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    library = ctypes.CDLL(options.library)
    library.headwise_plan.restype = ctypes.c_void_p
    library.headwise_plan.argtypes = [
        ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p]

    flush = torch.empty(64 << 20, dtype=torch.float32, device="cuda")
    square = torch.randn(8192, 8192, device="cuda").to(torch.bfloat16)
    report = {"gpu": torch.cuda.get_device_name(),
              "torch": torch.__version__, "rounds": options.rounds,
              "results": []}
    print(f"{report['gpu']}, PyTorch {report['torch']}; TFLOP/s, medians of "
          f"{options.rounds} rounds; error: root mean square against float64")
    for w in WORKLOADS:
        if options.only not in w["name"]:
            continue
        report["results"].append(
            measure(library, w, options.rounds, flush, square))
        show(report["results"][-1])
    if options.json:
        with open(options.json, "w") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
