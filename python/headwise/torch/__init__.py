"""headwise in PyTorch: attention, the attention module, and batch invariance.

    scaled_dot_product_attention   torch.nn.functional's, on headwise
    MultiheadAttention             torch.nn's, on headwise
    attention                      differentiable, with headwise's other options
    make_batch_invariant           a model's results do not depend on the batch
"""

from headwise._extras import require

require(__name__, "torch")

from headwise.torch.attention_operator import attention
from headwise.torch.batch_invariance import make_batch_invariant
from headwise.torch.call_arguments import Operands, Positions
from headwise.torch.multihead_attention import MultiheadAttention
from headwise.torch.dot_product_attention import scaled_dot_product_attention

__all__ = [
    "MultiheadAttention", "Operands", "Positions", "attention", "make_batch_invariant",
    "scaled_dot_product_attention",
]
