"""The mean over examples, with the interval that the command prints."""

import math

import pytest

from headwise._core import mean_with_interval


# Half widths: t of the table (Student 1908 and later), times s / sqrt(n).
@pytest.mark.parametrize("values, mean, half", [
    ([0.4, 0.5, 0.6], 0.5, 4.302652730 * 0.1 / math.sqrt(3)),
    ([1, -1], 0, 12.706204736 * math.sqrt(2) / math.sqrt(2)),
    (range(11), 5, 2.228138852 * math.sqrt(11) / math.sqrt(11)),
    ([2.0, math.nan, 2.0], 2, 0),
])
def test_half_the_width_of_the_interval(values, mean, half):
    assert mean_with_interval(list(values)) == pytest.approx((mean, half), abs=1e-8)


def test_too_few_values_have_no_interval():
    assert mean_with_interval([3])[0] == 3
    assert all(map(math.isnan, [mean_with_interval([3])[1], *mean_with_interval([])]))
