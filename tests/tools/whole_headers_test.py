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


class WholeHeadersTest(unittest.TestCase):
    def test_every_public_header_belongs_to_a_library(self):
        core, io = headers_of("CMakeLists.txt"), headers_of("cmake/HeadwiseIo.cmake")
        mpi = headers_of("cmake/HeadwiseMpi.cmake")
        onnx = headers_of("cmake/HeadwiseOnnx.cmake")
        files = {p.relative_to(INCLUDE).as_posix() for p in INCLUDE.rglob("*.h")}
        self.assertEqual(files, core | io | mpi | onnx)
        self.assertEqual(set(), core & io)
        self.assertEqual({"headwise/distribute/mpi.h"}, mpi)
        self.assertTrue(all(name.startswith("headwise/onnx/") for name in onnx))

    def test_headwise_h_includes_the_core(self):
        self.assertEqual(headers_of("CMakeLists.txt"), reached("headwise/headwise.h"))

    def test_io_h_includes_the_rest(self):
        io = headers_of("cmake/HeadwiseIo.cmake")
        self.assertEqual(set(), io - reached("headwise/io.h"))


if __name__ == "__main__":
    unittest.main()
