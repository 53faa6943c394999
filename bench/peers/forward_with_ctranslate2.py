"""CTranslate2: one step of generation, whose logits are those of the last token; or the
likeliest tokens."""
import ctranslate2
import numpy as np

from worker import need, read_forward, serve, threads


def make(peer, spec):
    need(peer == "ctranslate2", "no such form")
    model = ctranslate2.Generator(f"{spec['model']}/ctranslate2", device="cpu",
                                  compute_type="float32", inter_threads=1,
                                  intra_threads=threads())
    prompt = [[f"t{id}" for id in spec["ids"]]]
    count = spec.get("new_tokens", 0)

    def run():
        return model.generate_batch(prompt, max_length=max(count, 1), sampling_topk=1,
                                    min_length=count, end_token=[],
                                    include_prompt_in_result=False,
                                    return_logits_vocab=count == 0)

    def show(made):
        return {"out": np.array(made[0].sequences_ids[0] if count else made[0].logits[0][0])}

    return run, show


serve(make, f"ctranslate2 {ctranslate2.__version__}", read_forward)
