"""Which tokens are separators."""

from __future__ import annotations

from typing import Any


def separators_of(model: Any, tokenizer: Any = None) -> list[int]:
    """The ids of [SEP] and </s> of the tokenizer; without one, the config's
    `sep_token_id`, else its `eos_token_id`. Empty if there are none.
    """
    if tokenizer is not None:
        words = tokenizer.get_vocab()
        return [words[each] for each in ("[SEP]", "</s>") if each in words]
    config = model.config.get_text_config()
    for name in ("sep_token_id", "eos_token_id"):
        ids = getattr(config, name, None)
        if ids is not None:
            return ids if isinstance(ids, list) else [ids]
    return []
