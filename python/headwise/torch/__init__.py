"""headwise in PyTorch: attention and the attention module.

    scaled_dot_product_attention   torch.nn.functional's, on headwise
    MultiheadAttention             torch.nn's, on headwise
    attention                      differentiable, with headwise's other options
"""

from headwise.torch.attention_operator import attention
from headwise.torch.call_arguments import Operands, Positions
from headwise.torch.multihead_attention import MultiheadAttention
from headwise.torch.dot_product_attention import scaled_dot_product_attention

__all__ = [
    "MultiheadAttention",
    "Operands",
    "Positions",
    "attention",
    "scaled_dot_product_attention",
]
