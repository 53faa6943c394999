#!/usr/bin/env python3
"""Checks who includes whom.

    tools/check_layers.py [ROOT]

A file includes its own folder and folders of lower rank, nothing else: two
folders of one rank don't know each other, and a cycle can't arise. Public
headers include the standard library and other public headers only, and so does
the command: it uses the library as any other program does. A third party is
included by the folders named for it below.

Prints one line a violation; exits 1 if there is one.
"""

import pathlib
import re
import sys

# The libraries, each a folder of rooms.
COMPONENTS = ("core", "files", "tokenizer", "ranks", "mpi", "view", "models", "onnx")

# The rooms on the data's way and their ranks.
RANKS = {
    "base": 0,
    "run": 1,
    "kernels": 1,
    "words": 1,
    "steps": 2,
    "attention": 3,
    "cuda": 4,
    "decode": 4,
    "module": 5,
    "json": 5,
    "distribute": 6,
    "inspect": 6,
    "interop": 6,
    "unicode": 7,
    "onnx": 7,
    "patterns": 8,
    "tokenizer": 9,
    "transformer": 9,
    "models": 10,
    "generate": 11,
    "train": 11,
    "prune": 12,
    "heads": 13,
}

# Rooms that are divided, and the ranks of their own folders; files beside those
# folders have rank 0.
INNER_RANKS = {
    "attention": {
        "few_rows": 1,
        "forward": 1,
        "reference": 1,
        "statistics": 2,
        "backward": 2,
    },
    "transformer": {"families": 1},
    "inspect": {"words": 1, "trace": 2, "pictures": 2, "page": 3},
}

# The rooms of the command, apps/cli/ROOM. Every other room serves one command,
# or two of one kind, and shares a rank with its neighbours. Files in apps/cli
# itself know all commands and have the highest rank.
COMMAND_RANKS = {"shell": 14, "operation": 15}
ONE_COMMAND_RANK = 16
ALL_COMMANDS_RANK = 17

# Headers outside a room. headwise.h and io.h include all others; they are for
# users only.
ROOT_HEADERS = {
    "headwise.h": "apps/cli/shell",
    "io.h": "apps/cli/shell",
    "version.h": "base",
}

# Who may include which third party: paths that start with one of these.
THIRD_PARTIES = {
    "hwy/": ["src/core/kernels/"],
    "cuda": ["src/core/cuda/"],
    "tbb/": ["src/core/run/tbb_executor.cc"],
    "oneapi/tbb": ["src/core/run/tbb_executor.cc"],
    "zip.h": ["src/files/interop/"],
    "png.h": ["src/view/inspect/"],
    "zlib.h": ["src/view/inspect/"],
    "nlohmann/": [
        "src/files/json/json.cc",
        "src/files/interop/json_events.cc",
    ],
    "Eigen/": ["src/models/prune/"],
    "utf8proc.h": ["src/files/interop/"],
    "oniguruma.h": ["src/tokenizer/patterns/"],
    "CLI/": [
        "apps/cli/shell/args.cc",
        "apps/cli/shell/help_text.cc",
        "apps/cli/shell/parse_errors.cc",
    ],
    "mpi.h": ["src/mpi/", "apps/cli/shell/mpi/mpi_job.cc"],
    "onnx/onnx_pb.h": ["src/onnx/onnx/messages.cc", "src/onnx/onnx/write_messages.cc"],
    "google/protobuf/": ["src/onnx/onnx/messages.cc"],
    "fmt/": ["apps/"],
    "cairo": ["apps/"],
    "gio/": ["apps/"],
    "librsvg/": ["apps/"],
    "nettle/": [
        "src/view/inspect/",
        "src/files/interop/",
        "src/tokenizer/tokenizer/base64.cc",
    ],
    # The system, where the standard library has no word for it.
    "unistd.h": [
        "src/files/interop/",
        "src/onnx/onnx/external_data.cc",
        "src/core/run/machine_memory.h",
        "apps/",
    ],
    "dlfcn.h": ["apps/"],
    "pthread.h": ["src/core/run/tbb_executor.cc"],
    "dirent.h": ["src/files/interop/"],
    "fcntl.h": [
        "src/files/interop/",
        "src/onnx/onnx/external_data.cc",
        "apps/cli/shell/in_child.cc",
        "apps/cli/shell/ranks/shared_folder.cc",
    ],
    "sys/": [
        "src/files/interop/",
        "src/onnx/onnx/external_data.cc",
        "src/core/run/",
        "apps/",
    ],
    "signal.h": ["apps/"],
    "spawn.h": ["apps/"],
    "immintrin.h": ["src/core/kernels/"],
    "xmmintrin.h": ["src/core/kernels/", "src/core/run/"],
    "pmmintrin.h": ["src/core/kernels/", "src/core/run/"],
}

STANDARD = set(
    """
    algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv
    cfloat charconv chrono cinttypes climits clocale cmath codecvt compare
    complex concepts condition_variable coroutine csetjmp csignal cstdarg
    cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque
    exception execution filesystem format forward_list fstream functional
    future initializer_list iomanip ios iosfwd iostream istream iterator latch
    limits list locale map memory memory_resource mutex new numbers numeric
    optional ostream queue random ranges ratio regex scoped_allocator semaphore
    set shared_mutex source_location span sstream stack stdexcept stop_token
    streambuf string string_view strstream syncstream system_error thread tuple
    type_traits typeindex typeinfo unordered_map unordered_set utility valarray
    variant vector version
    """.split()
)

SOURCES = {".h", ".cc", ".cpp", ".inc", ".cu", ".cuh"}
INCLUDE = re.compile(r"""\s*\#\s*include\s*(?:<([^>]*)>|"([^"]*)"|(.*))""")


def room_of(path):
    """The room of a file, named from the root; None where there is none."""
    parts = path.split("/")
    if parts[0] == "apps":
        return "/".join(parts[: min(3, len(parts) - 1)])
    inside = parts[2:]
    if len(inside) == 1:
        return ROOT_HEADERS.get(inside[0])
    return inside[0] if inside[0] in RANKS else None


def rank_of(room):
    if room in RANKS:
        return RANKS[room]
    parts = room.split("/")
    if len(parts) < 3:
        return ALL_COMMANDS_RANK
    return COMMAND_RANKS.get(parts[2], ONE_COMMAND_RANK)


def inner_room_of(path):
    """The folder in a divided room that a source is in, and its rank there."""
    parts = path.split("/")
    if parts[0] != "src" or len(parts) < 5:
        return ".", 0
    return parts[3], INNER_RANKS.get(parts[2], {}).get(parts[3])


def find(root, path, name):
    """The file that `path` gets by including "name", from the root, or None."""
    beside = pathlib.PurePosixPath(path).parent.as_posix()
    sources = (f"src/{component}" for component in COMPONENTS)
    for folder in (beside, "include", *sources, "apps/cli"):
        if (root / folder / name).is_file():
            return (root / folder / name).resolve().relative_to(root).as_posix()
    return None


def is_third_party_of(path, name):
    """May `path` include the third party's `name`? None: it is not known."""
    for prefix, allowed in THIRD_PARTIES.items():
        if name.startswith(prefix):
            return any(path.startswith(folder) for folder in allowed)
    return None


def violation(root, path, name):
    """What is wrong with `path` including `name`; None when nothing is."""
    public = path.startswith("include/")
    found = find(root, path, name)
    if found is None and name not in STANDARD:
        if public:
            return "a public header includes a third party"
        allowed = is_third_party_of(path, name)
        if allowed is None:
            return "neither ours, nor standard, nor a third party that is known"
        return None if allowed else "this folder may not include this third party"
    if found is None:
        return None
    if public and not found.startswith("include/"):
        return "a public header includes a private one"
    if path.startswith("apps/") and found.startswith("src/"):
        return "the command includes a private header of the library"
    if path in ("include/headwise/headwise.h", "include/headwise/io.h"):
        return None  # everything
    mine, other = room_of(path), room_of(found)
    if other is None:
        return "in no room of the way"
    if other != mine and rank_of(other) >= rank_of(mine):
        kind = "sideways" if rank_of(other) == rank_of(mine) else "upward"
        return (
            f"{kind}: {mine} has rank {rank_of(mine)}, "
            f"{other} has rank {rank_of(other)}"
        )
    return inner_violation(path, found) if other == mine else None


def inner_violation(path, found):
    """The same inside a room that is divided."""
    mine, my_rank = inner_room_of(path)
    other, other_rank = inner_room_of(found)
    if mine == other or my_rank > other_rank:
        return None
    kind = "sideways" if my_rank == other_rank else "upward"
    return f"{kind}: {mine} has rank {my_rank}, {other} has rank {other_rank}"


def check(root):
    """Every violation below `root`, as `path:line: <header>: what is wrong`."""
    root = root.resolve()
    violations = []
    for folder in ("include", "src", "apps"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SOURCES:
                continue
            path = file.relative_to(root).as_posix()
            if room_of(path) is None or inner_room_of(path)[1] is None:
                violations.append(f"{path}: in no room of the way")
                continue
            lines = file.read_text(encoding="utf-8").splitlines()
            for number, line in enumerate(lines, 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                angled, quoted, computed = match.groups()
                name = angled or quoted
                problem = (
                    "an include that only the preprocessor can read"
                    if computed
                    else violation(root, path, name)
                )
                if problem:
                    violations.append(
                        f"{path}:{number}: {name or computed}: {problem}"
                    )
    return violations


def main():
    here = pathlib.Path(__file__).parent.parent
    violations = check(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here)
    for text in violations:
        print(text)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
