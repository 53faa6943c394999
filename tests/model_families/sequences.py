"""The token ids that models are compared with."""
import numpy as np

from forms import VOCABULARY

LENGTHS = (23, 1, 11)
DECODER_LENGTHS = (9, 23, 1)


def random_ids(lengths, seed):
    rng = np.random.default_rng(seed)
    return [rng.integers(6, VOCABULARY, length).tolist() for length in lengths]


def sequences():
    """The first has ids inside that are padding in some models."""
    made = random_ids(LENGTHS, 0)
    made[0][7:10] = 0, 1, 5
    return made


def decoder_sequences():
    return random_ids(DECODER_LENGTHS, 1)
