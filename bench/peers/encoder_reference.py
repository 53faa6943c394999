"""What the embeddings are, in float64 and without padding:

    encoder_reference.py MODEL SENTENCES...

writes beside each file of sentences, one a line, SENTENCES.f64 (raw, (sentences,
E)) and SENTENCES.tokens.json, the number of tokens of each.
"""
import collections
import json
import pathlib
import sys

import numpy as np
import torch
import transformers

BATCH = 32


def batches(token_ids):
    """The sentences' numbers, together only those of the same length."""
    of_length = collections.defaultdict(list)
    for n, ids in enumerate(token_ids):
        of_length[len(ids)].append(n)
    for same in of_length.values():
        for begin in range(0, len(same), BATCH):
            yield same[begin:begin + BATCH]


def embeddings(encoder, token_ids):
    made = np.empty((len(token_ids), encoder.config.hidden_size))
    for batch in batches(token_ids):
        ids = torch.tensor([token_ids[n] for n in batch])
        mean = encoder(input_ids=ids).last_hidden_state.mean(1)
        made[batch] = mean / mean.norm(dim=1, keepdim=True)
    return made


def main(model, files):
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        model, local_files_only=True)
    encoder = transformers.AutoModel.from_pretrained(
        model, dtype=torch.float64, attn_implementation="eager",
        local_files_only=True).eval()
    settings = json.loads(
        (pathlib.Path(model) / "sentence_bert_config.json").read_text())
    for file in files:
        lines = pathlib.Path(file).read_text(encoding="utf-8").splitlines()
        token_ids = tokenizer(lines, truncation=True, padding=False,
                              max_length=settings["max_seq_length"])["input_ids"]
        with torch.inference_mode():
            embeddings(encoder, token_ids).tofile(file + ".f64")
        pathlib.Path(file + ".tokens.json").write_text(
            json.dumps([len(ids) for ids in token_ids]))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
