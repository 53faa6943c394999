"""Multi-head attention that shows what every head does.

    import headwise

    output = headwise.attention(query, key, value, mask=headwise.causal())

The names are those of the C++ library. `headwise.torch` and
`headwise.transformers` connect them to PyTorch and transformers. Nothing is
loaded before it is used; neither NumPy nor torch is imported unless you give
arrays of theirs, or none at all to a function that returns some.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from headwise._core import *
    from headwise._explain import *
    from headwise._safetensors import *
    from headwise._view import view as view
    from headwise.transformers import HeadLayout as HeadLayout
    from headwise.transformers import ablate as ablate
    from headwise.transformers import attribution as attribution
    from headwise.transformers import compare as compare
    from headwise.transformers import composition as composition
    from headwise.transformers import find_heads as find_heads
    from headwise.transformers import intervene as intervene
    from headwise.transformers import logit_attribution as logit_attribution
    from headwise.transformers import observe as observe
    from headwise.transformers import patch as patch
    from headwise.transformers import path_patch as path_patch
    from headwise.transformers import register_layout as register_layout

# Where each public name is: a module of this package. A name that is a module
# itself has None.
_PLACES = {
    "torch": None,
    "transformers": None,
    "__version__": "_core",
    "AttentionGradients": "_core",
    "AttentionPlan": "_core",
    "AttentionResult": "_core",
    "AttentionStatistics": "_core",
    "Bias": "_core",
    "DecodePlan": "_core",
    "DecodeStream": "_core",
    "Encoding": "_core",
    "Executor": "_core",
    "GeneratedText": "_core",
    "HeadLayout": "transformers",
    "HeadImportance": "_core",
    "KvCache": "_core",
    "LayerGradients": "_core",
    "Mask": "_core",
    "MultiHeadAttention": "_core",
    "STATISTICS": "_core",
    "SafetensorsFile": "_safetensors",
    "SavedLayer": "_core",
    "SentenceEmbeddings": "_core",
    "SentenceEncoder": "_core",
    "SequenceId": "_core",
    "TextGenerator": "_core",
    "Tokenizer": "_core",
    "Trace": "_explain",
    "TracedStep": "_core",
    "ViewPage": "_core",
    "ablate": "transformers",
    "alibi_slopes": "_core",
    "attention": "_core",
    "attention_backward": "_core",
    "attribution": "transformers",
    "available_targets": "_core",
    "bf16_projections": "_core",
    "causal": "_core",
    "compare": "transformers",
    "composition": "transformers",
    "current_target": "_core",
    "dense": "_core",
    "documents": "_core",
    "explain": "_explain",
    "find_heads": "transformers",
    "generate": "_core",
    "importance": "_core",
    "intervene": "transformers",
    "key_lengths": "_core",
    "key_padding": "_core",
    "key_starts": "_core",
    "logit_attribution": "transformers",
    "native_bf16": "_core",
    "observe": "transformers",
    "patch": "transformers",
    "path_patch": "transformers",
    "promises_same_bits": "_core",
    "read_safetensors": "_safetensors",
    "register_layout": "transformers",
    "remove_heads": "_core",
    "view": "_view",
    "window": "_core",
}

# What `from headwise import *` must not load: it needs torch.
_WITH_TORCH = {"torch", *(name for name, place in _PLACES.items()
                         if "transformers" in (name, place))}

__all__ = [name for name in _PLACES if name not in {"__version__", *_WITH_TORCH}]


def _load(name: str) -> typing.Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place = _PLACES[name]
    module = importlib.import_module(f"{__name__}.{place or name}")
    value = module if place is None else getattr(module, name)
    if place == "_core":
        from headwise._signatures import described
        value = described(value)
    globals()[name] = value
    return value


if not typing.TYPE_CHECKING:  # to a type checker, any name would be one
    __getattr__ = _load


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
