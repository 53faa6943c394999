"""The most that can flow from an output token to each input token."""
import numpy as np
import pytest

from headwise._core import attention_flow

WEIGHTS = np.array([[[1, 0, 0], [1/2, 1/2, 0], [1/2, 1/4, 1/4]],
                    [[1, 0, 0], [1/4, 3/4, 0], [1/4, 1/2, 1/4]]], np.float32)


def test_flow_is_the_one_by_hand():
    np.testing.assert_allclose(attention_flow(WEIGHTS, 2), [5/8, 3/8, 5/8], rtol=1e-12)


@pytest.mark.parametrize("weights, token, error, message", [
    (WEIGHTS, 3, ValueError, "token is 3"),
    (-WEIGHTS, 0, ValueError, "at least 0"),
    (WEIGHTS[:, :2], 0, ValueError, "weights"),
    (WEIGHTS.astype(np.float64), 0, TypeError, "float32"),
    (np.zeros((1, 129, 129), np.float32), 0, NotImplementedError, "at most 128"),
])
def test_errors_name_the_argument(weights, token, error, message):
    with pytest.raises(error, match=message):
        attention_flow(weights, token)
