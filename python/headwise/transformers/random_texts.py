"""Texts of random tokens that are repeated once: only the first half predicts the
second, so heads that copy from it stand out (Olsson et al. 2022, arXiv:2209.11895).
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import PreTrainedModel

# Texts that the model runs on at a time: it also computes their logits.
_BATCH = 10


def repeated_random_tokens(model: PreTrainedModel, tokenizer: Any = None, texts: int = 50,
                           length: int = 25, seed: int = 0
                           ) -> list[dict[str, torch.Tensor]]:
    """Batches for `model`: `texts` sequences of `length` tokens, each repeated once.

    The tokens of a text are drawn without replacement. Left out are those that the
    model's config names (`bos_token_id` ...) and, with a tokenizer, all that begin no
    word: special tokens, [unused7], ##ing. With a tokenizer the tokens that it adds to
    every text come in front and behind. Fewer tokens are drawn if the model has too few
    positions or tokens.

    Errors: ValueError for a model without token embeddings, and if there are fewer than
    2 tokens to draw.
    """
    if texts < 1:
        raise ValueError(f"texts is {texts}, expected 1 or more")
    config = model.config.get_text_config()
    tokens = torch.tensor(_words(model, config, tokenizer))
    added = [] if tokenizer is None else list(tokenizer("")["input_ids"])
    room = getattr(config, "max_position_embeddings", None) or 2 * length + len(added)
    length = min(length, len(tokens), (room - len(added)) // 2)
    if length < 2:
        raise ValueError(f"{type(model).__name__} has {len(tokens)} tokens to draw and "
                         f"{room} positions, expected 2 tokens and room for them twice")
    generator = torch.Generator().manual_seed(seed)
    front = torch.tensor(added[:(len(added) + 1) // 2], dtype=torch.int64)
    behind = torch.tensor(added[(len(added) + 1) // 2:], dtype=torch.int64)
    drawn = [tokens[torch.randperm(len(tokens), generator=generator)[:length]]
             for _ in range(texts)]
    ids = torch.stack([torch.cat([front, each, each, behind]) for each in drawn])
    names = ["input_ids"]
    if getattr(model.config, "is_encoder_decoder", False):
        names.append("decoder_input_ids")
    return [dict.fromkeys(names, each) for each in ids.split(_BATCH)]


def _words(model: PreTrainedModel, config: Any, tokenizer: Any) -> list[int]:
    embeddings = model.get_input_embeddings()
    if not isinstance(embeddings, torch.nn.Embedding):
        raise ValueError(f"{type(model).__name__} has no token embeddings: give batches")
    left_out: set[int] = set()
    for name, value in config.to_dict().items():
        if name.endswith("_token_id") and value is not None:
            left_out.update(value if isinstance(value, list) else [value])
    count = embeddings.num_embeddings
    if tokenizer is None:
        return [token for token in range(count) if token not in left_out]
    left_out.update(tokenizer.all_special_ids)
    return sorted(token for text, token in tokenizer.get_vocab().items()
                  if token < count and token not in left_out and _begins_a_word(text))


def _begins_a_word(token: str) -> bool:
    bracketed = token[:1] + token[-1:] in ("[]", "<>")
    return not (len(token) > 2 and (bracketed or token.startswith("##")))
