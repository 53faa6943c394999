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


def headers_of(component):
    """The public headers of a library: those of its rooms."""
    rooms = {path.name for path in (ROOT / "src" / component).iterdir() if path.is_dir()}
    found = {path.relative_to(INCLUDE).as_posix()
             for room in rooms for path in (INCLUDE / "headwise" / room).glob("*.h")}
    return found & MPI if component == "mpi" else found - MPI


MPI = {"headwise/distribute/mpi.h"}  # the one that is not where its room says
ROOT_HEADERS = {"headwise/headwise.h", "headwise/version.h", "headwise/io.h"}
IO = ("files", "tokenizer", "ranks", "view", "models")


class WholeHeadersTest(unittest.TestCase):
    def test_every_public_header_belongs_to_one_library(self):
        lists = [ROOT_HEADERS, *map(headers_of, ("core", *IO, "mpi", "onnx"))]
        files = {p.relative_to(INCLUDE).as_posix() for p in INCLUDE.rglob("*.h")}
        self.assertEqual(files, set().union(*lists))
        self.assertEqual(len(files), sum(map(len, lists)))

    def test_headwise_h_includes_the_core(self):
        self.assertEqual(headers_of("core") | {"headwise/headwise.h", "headwise/version.h"},
                         reached("headwise/headwise.h"))

    def test_io_h_includes_the_rest(self):
        self.assertEqual(set(), set().union(*map(headers_of, IO)) - reached("headwise/io.h"))


if __name__ == "__main__":
    unittest.main()
