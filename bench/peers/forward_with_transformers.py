"""transformers on PyTorch with its default attention, sdpa; the logits of the last
token alone, or the likeliest tokens."""
import torch
import transformers

from worker import need, read_forward, serve, threads

DTYPES = {"transformers": torch.float32, "transformers_bf16": torch.bfloat16}


def make(peer, spec):
    need(peer in DTYPES, "no such form")
    model = transformers.GPT2LMHeadModel.from_pretrained(spec["model"],
                                                         dtype=DTYPES[peer]).eval()
    ids = torch.tensor([spec["ids"]])

    new = spec.get("new_tokens", 0)

    def run():
        with torch.inference_mode():
            if new == 0:
                return model(ids, use_cache=False, logits_to_keep=1).logits
            return model.generate(ids, do_sample=False, min_new_tokens=new,
                                  max_new_tokens=new, eos_token_id=-1,
                                  attention_mask=torch.ones_like(ids))[:, ids.shape[1]:]

    return run, lambda made: {"out": made[0].float().numpy()}


torch.set_num_threads(threads())
serve(make, f"transformers {transformers.__version__}, torch {torch.__version__}",
      read_forward)
