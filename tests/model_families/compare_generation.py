"""Compares 64 greedy tokens of `headwise generate` with those of transformers in float32:
compare_generation.py PROGRAM GGUF

The model of the GGUF is dequantised and saved in float32 and in bfloat16. Of 20 prompts,
each token must be the likeliest of transformers, fed with the tokens so far, unless its
logit is within CLOSE of the largest."""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers

CLOSE = 1e-4
PROMPTS = [
    "The capital of France is", "Once upon a time", "def fibonacci(n):", "1, 2, 3, 4,",
    "The cat sat on the mat. The cat", "Water boils at", "To be or not to be,",
    "Dear Sir or Madam,", "The three primary colours are", "SELECT name FROM users WHERE",
    "In 1969, humans first", "The opposite of hot is", "Attention is", "Roses are red,",
    "A triangle has", "Once it rains,", "The recipe needs two eggs and",
    "Her name is Anna. His name is", "Monday, Tuesday,", "Why is the sky"]


def save(gguf, folder, dtype):
    name = {"gguf_file": gguf.name}
    read = transformers.AutoModelForCausalLM.from_pretrained(gguf.parent, **name)
    del read.config.quantization_config  # its weights are float32 now
    model = transformers.LlamaForCausalLM(read.config)
    model.load_state_dict(read.state_dict())
    model.to(dtype).save_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(gguf.parent, **name)
    tokenizer.save_pretrained(folder)
    # Read again: to() rounds the frequencies of the rotation, too.
    return transformers.LlamaForCausalLM.from_pretrained(
        folder, dtype=torch.float32).eval(), tokenizer


def generated(program, folder, prompts):
    done = subprocess.run(
        [program, "generate", "--model", folder, "--prompts", prompts, "--max-new-tokens",
         "64", "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["texts"]


def wrong_tokens(model, text):
    ids = torch.tensor([text["prompt_ids"] + text["ids"]])
    with torch.inference_mode():
        logits = model(ids[:, :-1]).logits[0, len(text["prompt_ids"]) - 1:]
    chosen = logits.gather(1, torch.tensor(text["ids"])[:, None])[:, 0]
    return int((chosen < logits.max(-1).values - CLOSE).sum())


def main(program, gguf):
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        prompts = pathlib.Path(scratch, "prompts.txt")
        prompts.write_text("\n".join(PROMPTS) + "\n")
        for dtype in (torch.float32, torch.bfloat16):
            folder = pathlib.Path(scratch, str(dtype))
            model, tokenizer = save(gguf, folder, dtype)
            texts = generated(program, folder, prompts)
            wrong = [wrong_tokens(model, text) for text in texts]
            same = sum(text["prompt_ids"] == tokenizer(text["prompt"])["input_ids"]
                       for text in texts)
            count = sum(len(text["ids"]) for text in texts)
            print(f"{dtype}: {count} tokens of {len(texts)} prompts ({same} with the ids of "
                  f"transformers), {sum(wrong)} wrong")
            failed += sum(wrong) + len(texts) - same
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2])))
