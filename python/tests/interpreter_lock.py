"""Whether a call gives the interpreter lock away."""

import sys
import threading


def released_by(call):
    """Whether another thread runs while call() computes, on one thread."""
    computing, seen = threading.Event(), threading.Event()

    def watch():
        computing.wait()
        seen.set()

    watcher = threading.Thread(target=watch)
    watcher.start()
    # The watcher gets the lock only if the call gives it away: there is no other
    # line of Python between the two.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        computing.set()
        call()
        return seen.is_set()
    finally:
        sys.setswitchinterval(interval)
        watcher.join()
