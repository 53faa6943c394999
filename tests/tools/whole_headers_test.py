"""headwise.h and io.h include every public header, each those of its library;
those of headwise::mpi and headwise::onnx are included by themselves."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).parent.parent.parent
INCLUDE = ROOT / "include"


def reached(header):
    """All public headers that `header` includes, itself among them."""
    found, open_ends = set(), [header]
    while open_ends:
        name = open_ends.pop()
        if name not in found:
            found.add(name)
            text = (INCLUDE / name).read_text(encoding="utf-8")
            open_ends += re.findall(r'^#include "(headwise/.*)"', text, re.M)
    return found


def headers_of(cmake_file):
    """The public headers that a library lists."""
    text = (ROOT / cmake_file).read_text(encoding="utf-8")
    return set(re.findall(r"^ *include/(headwise/\S+\.h)$", text, re.M))


COMPONENTS = ("Files", "Ranks", "View", "Models")
IO_HEADER = {"headwise/io.h"}  # of no component, but of all


def headers_of_io():
    return set().union(*(headers_of(f"cmake/Headwise{c}.cmake") for c in COMPONENTS))


class WholeHeadersTest(unittest.TestCase):
    def test_every_public_header_belongs_to_one_library(self):
        lists = [headers_of("CMakeLists.txt"), IO_HEADER,
                 *(headers_of(f"cmake/Headwise{name}.cmake")
                   for name in (*COMPONENTS, "Mpi", "Onnx"))]
        files = {p.relative_to(INCLUDE).as_posix() for p in INCLUDE.rglob("*.h")}
        self.assertEqual(files, set().union(*lists))
        self.assertEqual(len(files), sum(map(len, lists)))

    def test_headwise_h_includes_the_core(self):
        self.assertEqual(headers_of("CMakeLists.txt"), reached("headwise/headwise.h"))

    def test_io_h_includes_the_rest(self):
        self.assertEqual(set(), headers_of_io() - reached("headwise/io.h"))


if __name__ == "__main__":
    unittest.main()
