"""headwise for the models of transformers.

    register            attn_implementation="headwise" for any model
    attention_layers    the attention layers of a model and their numbers
    observe             what every head does, from the pass that computes the output
    token_labels        the tokens of a sequence as text to read

    intervene           heads scaled, replaced, patched, cut off while the model runs
    head_means          the mean output of every head, for `mean`
    ablate              what removing each head does to a measure
    patch               what each head carries of the difference between two inputs
    path_patch          the same along one path, to other heads or to the output

    attribution         which tokens and heads matter: norms, gradients, rollout and more
    logit_attribution   what every head adds to a logit
    find_heads          heads ranked by how well they match a pattern
    compare             the heads of two models on the same texts
    composition         how much later heads read what earlier heads write

    head_importance     how much each head matters
    prune_heads         removes heads from the parameters of a model
    from_pretrained     reads a model whose heads were pruned
    register_layout     where the heads of an attention module of your own lie
"""

from headwise._extras import require

require(__name__, "torch", "transformers")

from headwise.transformers.ablation import ablate
from headwise.transformers.attention_layers import attention_layers
from headwise.transformers.attributed import HeadAttribution, TokenAttribution
from headwise.transformers.attribution import attribution
from headwise.transformers.circuit import Circuit
from headwise.transformers.comparison import compare
from headwise.transformers.composition import composition, HeadComposition
from headwise.transformers.effects import Effect, HeadEffect, HeadEffects
from headwise.transformers.head_comparison import HeadComparison, HeadPair
from headwise.transformers.head_means import head_means, HeadMeans
from headwise.transformers.head_patterns import find_heads
from headwise.transformers.head_scores import HeadScore, HeadScores
from headwise.transformers.importance import head_importance, HeadImportance
from headwise.transformers.head_selection import HeadSelection, Intervention
from headwise.transformers.intervention import Heads, intervene
from headwise.transformers.known_layouts import HeadLayout, register_layout
from headwise.transformers.logit_attribution import logit_attribution, LogitAttribution
from headwise.transformers.observation import HeadStatistics, Observation, observe
from headwise.transformers.observed_call import ObservedCall
from headwise.transformers.patching import patch
from headwise.transformers.path_patching import path_patch
from headwise.transformers.pruned_files import from_pretrained
from headwise.transformers.pruning import prune_heads
from headwise.transformers.random_texts import repeated_random_tokens
from headwise.transformers.registration import register
from headwise.transformers.token_labels import token_labels

__all__ = ["Circuit", "Effect", "HeadAttribution", "HeadComparison", "HeadComposition",
           "HeadEffect", "HeadEffects", "HeadImportance", "HeadLayout", "HeadMeans",
           "HeadPair", "HeadScore", "HeadScores", "HeadSelection", "HeadStatistics", "Heads",
           "Intervention", "LogitAttribution", "Observation", "ObservedCall",
           "TokenAttribution", "ablate", "attention_layers", "attribution", "compare",
           "composition", "find_heads", "from_pretrained", "head_importance", "head_means",
           "intervene", "logit_attribution", "observe", "patch", "path_patch", "prune_heads",
           "register", "register_layout", "repeated_random_tokens", "token_labels"]
