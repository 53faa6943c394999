"""transformers on PyTorch with its default attention, sdpa; the logits of the last
token alone."""
import torch
import transformers

from worker import need, read_forward, serve, threads

DTYPES = {"transformers": torch.float32, "transformers_bf16": torch.bfloat16}


def make(peer, spec):
    need(peer in DTYPES, "no such form")
    model = transformers.GPT2LMHeadModel.from_pretrained(spec["model"],
                                                         dtype=DTYPES[peer]).eval()
    ids = torch.tensor([spec["ids"]])

    def run():
        with torch.inference_mode():
            return model(ids, use_cache=False, logits_to_keep=1).logits

    return run, lambda logits: {"out": logits[0].float().numpy()}


torch.set_num_threads(threads())
serve(make, f"transformers {transformers.__version__}, torch {torch.__version__}",
      read_forward)
