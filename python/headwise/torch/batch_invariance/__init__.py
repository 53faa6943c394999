"""A model whose results for one row do not depend on the batch around it."""

from headwise.torch.batch_invariance.model_hooks import make_batch_invariant

__all__ = ["make_batch_invariant"]
