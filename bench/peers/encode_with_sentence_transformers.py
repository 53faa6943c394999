"""sentence-transformers on PyTorch, as its users call it: encode() sorts by length
and makes batches of 32;
sentence_transformers_bf16 with the model in bfloat16."""
import sentence_transformers
import torch

from worker import need, read_encode, serve, threads

DTYPES = {"sentence_transformers": torch.float32,
          "sentence_transformers_bf16": torch.bfloat16}


def make(peer, spec, sentences):
    need(peer in DTYPES, "no such form")
    model = sentence_transformers.SentenceTransformer(
        spec["model"], device="cpu", local_files_only=True,
        model_kwargs={"dtype": DTYPES[peer]})

    def run():
        return model.encode(sentences, batch_size=32, show_progress_bar=False)

    return run, lambda embeddings: {"out": embeddings}


torch.set_num_threads(threads())
serve(make, f"sentence-transformers {sentence_transformers.__version__}, "
      f"torch {torch.__version__}", read_encode)
