"""Attention in PyTorch runs on torch's own threads."""

import multiprocessing

import pytest

torch = pytest.importorskip("torch")

from headwise import _core  # noqa: E402
from headwise.torch import scaled_dot_product_attention, threads  # noqa: E402


@pytest.fixture
def restored_threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def attend():
    tokens = torch.randn(2, 4, 100, 16, generator=torch.Generator().manual_seed(1))
    return scaled_dot_product_attention(tokens, tokens, tokens, is_causal=True)


def test_torch_says_how_many_threads_and_the_bits_stay(restored_threads):
    expected = attend()
    for count in 1, 2, 3, 7:
        torch.set_num_threads(count)
        assert count == 1 or threads.executor().threads == count
        assert torch.equal(attend(), expected)


def test_the_threads_are_those_of_torch():
    pool = _core.openmp_executor(str(threads._LIBRARY), 2)
    assert pool is not None
    assert pool.threads == 2


def test_a_library_that_is_not_in_use_has_no_threads():
    assert _core.openmp_executor("/no/such/library.so", 2) is None


def attend_in_child(queue):
    torch.set_num_threads(2)
    queue.put(attend().tolist())


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own(restored_threads):
    torch.set_num_threads(2)
    expected = attend().tolist()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=attend_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == expected
    child.join()
    assert child.exitcode == 0
