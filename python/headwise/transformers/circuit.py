"""A matrix of a head as the product of two thin ones."""

from __future__ import annotations

import torch


class Circuit:
    """left (n, D) times right (D, m), which are the parameters of a head.

        circuit.matrix             (n, m)
        first @ then               the circuit of both, one after the other
        circuit.T                  transposed
        circuit.between(rows, columns)     rows @ matrix @ columns

    Everything but `matrix` is computed from the factors, so n and m may be the size of
    the vocabulary.
    """

    def __init__(self, left: torch.Tensor, right: torch.Tensor):
        if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[0]:
            raise ValueError(f"left has the shape {tuple(left.shape)} and right "
                             f"{tuple(right.shape)}, expected (n, D) and (D, m)")
        self.left, self.right = left, right

    @property
    def shape(self) -> tuple[int, int]:
        return self.left.shape[0], self.right.shape[1]

    @property
    def rank(self) -> int:
        """D, the features of the head: the rank is at most that."""
        return self.left.shape[1]

    @property
    def matrix(self) -> torch.Tensor:
        return self.left @ self.right

    @property
    def T(self) -> Circuit:
        return Circuit(self.right.T, self.left.T)

    def __matmul__(self, then: Circuit) -> Circuit:
        return Circuit(self.left, (self.right @ then.left) @ then.right)

    def between(self, rows: torch.Tensor | None = None,
                columns: torch.Tensor | None = None) -> Circuit:
        """rows (a, n) @ this @ columns (m, b): from embeddings, or to logits. None: as
        it is.
        """
        left = self.left if rows is None else rows @ self.left
        right = self.right if columns is None else self.right @ columns
        return Circuit(left, right)

    def norm(self) -> torch.Tensor:
        """The Frobenius norm."""
        return self.writing().norm()

    def singular_values(self) -> torch.Tensor:
        """(min(D, n, m)), the largest first; all others are 0."""
        return torch.linalg.svdvals(_triangle(self.left) @ _triangle(self.right.T).T)

    def eigenvalues(self) -> torch.Tensor:
        """(D), complex, the largest absolute value first; all others are 0. Raises
        ValueError for a circuit that is not square.
        """
        if self.shape[0] != self.shape[1]:
            raise ValueError(f"the circuit is {self.shape}, expected a square one")
        values = torch.linalg.eigvals(self.right @ self.left)
        return values[values.abs().argsort(descending=True)]

    def copying_score(self) -> float:
        """The sum of the eigenvalues over the sum of their absolute values, from -1 to 1:
        1 if tokens only raise their own logits (Elhage et al. 2021). Meant for
        `ov("tokens")`.
        """
        values = self.eigenvalues()
        return float(values.real.sum() / values.abs().sum())

    def writing(self) -> torch.Tensor:
        """(D or n, m): a matrix with the norms and the products on the right of this."""
        return _triangle(self.left) @ self.right

    def reading(self) -> torch.Tensor:
        """(n, D or m): a matrix with the norms and the products on the left of this."""
        return self.left @ _triangle(self.right.T).T

    def __repr__(self) -> str:
        return f"Circuit {self.shape}, rank {self.rank}, norm {float(self.norm()):.4g}"


def _triangle(thin: torch.Tensor) -> torch.Tensor:
    """R of thin = Q R, where the columns of Q are orthonormal."""
    return torch.linalg.qr(thin, mode="r").R
