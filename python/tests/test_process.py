"""Threads, forked processes and the collector of garbage."""

import gc
import multiprocessing
import threading
import weakref

import numpy as np
import pytest
from interpreter_lock import released_by

import headwise


def tensors(length=200):
    random = np.random.default_rng(71)
    return [
        random.standard_normal((2, length, 4, 16), dtype=np.float32) for _ in range(3)
    ]


def test_eight_threads_at_once():
    given = tensors()
    mask = headwise.causal() & headwise.key_lengths([200, 50])
    expected = headwise.attention(*given, mask=mask)
    wrong = []

    def work():
        for _ in range(10):
            if not np.array_equal(headwise.attention(*given, mask=mask), expected):
                wrong.append(threading.current_thread().name)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_interpreter_lock_is_released():
    given = tensors(1500)
    one = headwise.Executor.with_threads(1)
    assert released_by(lambda: headwise.attention(*given, executor=one))


def attend_in_child(queue):
    queue.put(headwise.attention(*tensors()).tobytes())


def children_give(count, kind):
    """What `count` processes compute that all start before one is waited for."""
    context = multiprocessing.get_context(kind)
    queue = context.Queue()
    children = [
        context.Process(target=attend_in_child, args=(queue,)) for _ in range(count)
    ]
    for child in children:
        child.start()
    given = [queue.get(timeout=60) for _ in children]
    for child in children:
        child.join()
        assert child.exitcode == 0
    return given


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("kind", ["fork", "spawn"])
def test_processes_after_use(kind):
    expected = headwise.attention(*tensors()).tobytes()
    assert children_give(2, kind) == [expected] * 2


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_fork_while_threads_compute():
    given = tensors()
    expected = headwise.attention(*given).tobytes()
    done = threading.Event()

    def work():
        while not done.is_set():
            headwise.attention(*given)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        assert [children_give(1, "fork") for _ in range(5)] == [[expected]] * 5
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_results_outlive_everything_else():
    query, key, value = tensors(5)
    result = headwise.attention(query, key, value, statistics={"rows": True})
    rows = result.statistics.rows
    kept = rows[0, 0]
    expected = kept.copy()
    del result, rows, query, key, value
    gc.collect()
    [np.full(10000, 9, np.float32) for _ in range(100)]
    np.testing.assert_array_equal(kept, expected)


def test_arguments_are_let_go():
    query, key, value = tensors(5)
    bias = np.zeros((5, 5), np.float32)
    held = [weakref.ref(array) for array in (query, bias)]
    headwise.attention(query, key, value, bias=bias)
    with pytest.raises(TypeError):
        headwise.attention(query, key, value, bias=bias, scale="x")
    del query, bias
    gc.collect()
    assert [reference() for reference in held] == [None, None]
