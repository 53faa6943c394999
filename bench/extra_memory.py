"""The memory that one run takes at its peak, over what its process has before."""
import pathlib
import sys

from harness import Worker, status_of

# Every tensor of a megabyte gets pages of its own and returns them.
EXACT_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**20)}


def of(program, form, few, folder, threads, log, environment):
    """Bytes of one run of the workload in `folder`. The worker has run the one in
    `few` before: its code is loaded and its threads have started."""
    worker = Worker([sys.executable, "-B", program], threads, log,
                    {**environment, **EXACT_MEMORY})
    try:
        for words in (("load", form, few), ("run", form, 1), ("drop", form),
                      ("load", form, folder)):
            worker.expect(*words)
        # From here on VmHWM is the peak of what follows.
        pathlib.Path(f"/proc/{worker.process.pid}/clear_refs").write_text("5")
        before = status_of(worker.process)["VmHWM"]
        worker.expect("run", form, 1)
        return status_of(worker.process)["VmHWM"] - before
    finally:
        worker.stop()
