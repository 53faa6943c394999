"""A config as one layer sees it: with its own numbers of heads."""

from __future__ import annotations

from typing import Any


class OwnHeads:
    """Everything but the numbers of heads is that of the model's config, now and
    after it changes: `set_attn_implementation` must reach every layer.
    """

    def __init__(self, config: Any, query_heads: int, key_heads: int):
        self._config = config._config if isinstance(config, OwnHeads) else config
        self.num_attention_heads = query_heads
        self.num_key_value_heads = key_heads

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_config":
            raise AttributeError(name)
        return getattr(self._config, name)
