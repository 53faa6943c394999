"""headwise for the models of transformers.

    attention_layers    the attention layers of a model and their numbers
    head_importance     how much each head matters
    prune_heads         removes heads from the parameters of a model
    from_pretrained     reads a model whose heads were pruned
"""
from .attention_layers import attention_layers
from .importance import HeadImportance, head_importance
from .pruned_files import from_pretrained
from .pruning import prune_heads

__all__ = ["HeadImportance", "attention_layers", "from_pretrained",
           "head_importance", "prune_heads"]
