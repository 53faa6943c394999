"""Pairs of rows and columns, one to one, whose gains have the largest sum: the Hungarian
method (Kuhn 1955) by shortest augmenting paths (Jonker and Volgenant 1987).
"""

from __future__ import annotations

import torch


def best_pairs(gains: torch.Tensor) -> list[int | None]:
    """The column of each row of `gains` (n, m); None for n - m of the rows, if n > m.

    The time grows with min(n, m)^2 max(n, m).
    """
    if gains.shape[0] > gains.shape[1]:
        rows = best_pairs(gains.T)
        return [rows.index(row) if row in rows else None for row in range(len(gains))]
    costs = -gains.double()
    row_potential, column_potential = (costs.new_zeros(size) for size in costs.shape)
    row_of: list[int | None] = [None] * costs.shape[1]
    for start in range(len(costs)):
        # Dijkstra's algorithm, in reduced costs, to a column that is free.
        distance = torch.full((costs.shape[1],), torch.inf, dtype=torch.float64)
        before: list[int | None] = [None] * costs.shape[1]
        seen = torch.zeros(costs.shape[1], dtype=torch.bool)
        passed: list[tuple[int, int | None]] = []  # row, its column
        row: int | None = start
        column: int | None = None
        reached = 0.0
        while row is not None:
            passed.append((row, column))
            to = costs[row] - row_potential[row] - column_potential + reached
            nearer = ((to < distance) & ~seen).nonzero()[:, 0].tolist()
            distance[nearer] = to[nearer]
            for each in nearer:
                before[each] = column
            column = nearest = int(distance.masked_fill(seen, torch.inf).argmin())
            reached = float(distance[nearest])
            seen[nearest] = True
            row = row_of[nearest]
        for of_row, of_column in passed:
            at = 0.0 if of_column is None else float(distance[of_column])
            row_potential[of_row] += reached - at
            if of_column is not None:
                column_potential[of_column] -= reached - at
        while column is not None:
            previous = before[column]
            row_of[column] = start if previous is None else row_of[previous]
            column = previous
    return [row_of.index(row) for row in range(len(costs))]
