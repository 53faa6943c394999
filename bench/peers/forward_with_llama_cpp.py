"""llama.cpp by llama-cpp-python, in one batch; the logits of the last token alone."""
import llama_cpp
import numpy as np

from worker import need, read_forward, serve, threads

FILES = {"llama_cpp": "model.gguf", "llama_cpp_bf16": "model-bf16.gguf"}


def make(peer, spec):
    need(peer in FILES, "no such form")
    count = len(spec["ids"])
    model = llama_cpp.Llama(f"{spec['model']}/{FILES[peer]}", n_ctx=count, n_batch=count,
                            n_ubatch=count, n_threads=threads(),
                            n_threads_batch=threads(), verbose=False)

    def run():
        model.reset()
        model.eval(spec["ids"])
        return model

    def show(_):
        logits = llama_cpp.llama_get_logits_ith(model.ctx, -1)
        return {"out": np.ctypeslib.as_array(logits, (model.n_vocab(),)).copy()}

    return run, show


serve(make, f"llama-cpp-python {llama_cpp.__version__}", read_forward)
