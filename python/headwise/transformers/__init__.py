"""headwise for the models of transformers.

    register            attn_implementation="headwise" for any model
    observe             what every head does, from the pass that computes the output
    intervene           heads scaled, replaced, patched, cut off while the model runs
    head_means          the mean output of every head, for `mean`
    attention_layers    the attention layers of a model and their numbers
    head_importance     how much each head matters
    prune_heads         removes heads from the parameters of a model
    from_pretrained     reads a model whose heads were pruned
    token_labels        the tokens of a sequence as text to read
"""

from headwise.transformers.attention_layers import attention_layers
from headwise.transformers.head_means import HeadMeans, head_means
from headwise.transformers.importance import HeadImportance, head_importance
from headwise.transformers.intervention import Heads, HeadSelection, Intervention, intervene
from headwise.transformers.observation import HeadStatistics, Observation, observe
from headwise.transformers.observed_call import ObservedCall
from headwise.transformers.pruned_files import from_pretrained
from headwise.transformers.pruning import prune_heads
from headwise.transformers.registration import register
from headwise.transformers.token_labels import token_labels

__all__ = ["HeadImportance", "HeadMeans", "HeadSelection", "HeadStatistics", "Heads",
           "Intervention", "Observation", "ObservedCall", "attention_layers",
           "from_pretrained", "head_importance", "head_means", "intervene", "observe",
           "prune_heads", "register", "token_labels"]
