"""llama.cpp by llama-cpp-python, in one batch; the logits of the last token alone, or the
likeliest tokens."""
import llama_cpp
import numpy as np

from worker import need, read_forward, serve, threads

FILES = {"llama_cpp": "model.gguf", "llama_cpp_bf16": "model-bf16.gguf"}


def make(peer, spec):
    need(peer in FILES, "no such form")
    count = len(spec["ids"])
    new = spec.get("new_tokens", 0)
    model = llama_cpp.Llama(f"{spec['model']}/{FILES[peer]}", n_ctx=count + new,
                            n_batch=count, n_ubatch=count, n_threads=threads(),
                            n_threads_batch=threads(), verbose=False)

    def last_logits():
        logits = llama_cpp.llama_get_logits_ith(model.ctx, -1)
        return np.ctypeslib.as_array(logits, (model.n_vocab(),))

    def run():
        model.reset()
        model.eval(spec["ids"])
        if new == 0:
            return last_logits().copy()
        made = [int(last_logits().argmax())]
        while len(made) < new:
            model.eval(made[-1:])
            made.append(int(last_logits().argmax()))
        return np.array(made)

    return run, lambda made: {"out": made}


serve(make, f"llama-cpp-python {llama_cpp.__version__}", read_forward)
