#!/usr/bin/env python3
"""Names in the unnamed namespaces of a room are unique.

A unity build (HEADWISE_UNITY) compiles several sources of a room as one, so that
their unnamed namespaces are one namespace, too. The compiler sees two definitions
that are the same. It does not see two functions that differ in their parameters: a
call could then choose the other file's function.
"""

import collections
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace\n", re.M | re.S)
# What begins a line there is a declaration: the code is formatted.
DECLARATIONS = [
    re.compile(r"^(?!using enum )(?:struct|class|enum(?: class)?|union|using) "
               r"(\w+)\b(?!::)"),
    re.compile(r"^(?=\w)(?!using |namespace |static_assert|template |HEADWISE_)"
               r"(?:[\w:<>,&*\[\] ]*[ &*>])?(\w+)\("),
    re.compile(r"^(?:inline |static )*(?:constexpr|constinit|const) [^(]*?"
               r"\b(\w+)(?:\[[^\]]*\])*(?:\(|\{| =|;)"),
]


def names_of(text):
    """What the unnamed namespaces of a source declare."""
    names = set()
    for block in UNNAMED.findall(text):
        for line in block.splitlines():
            line = re.sub(r"^template <[^;{]*> (?=\w)", "", line)
            for declaration in DECLARATIONS:
                if match := declaration.match(line):
                    names.add(match.group(1))
                    break
    return names


def room_of(path):
    """src/core/attention of src/core/attention/forward/tiled_kernel.cc."""
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[:3])


class UniqueNamesTest(unittest.TestCase):
    def test_a_name_stands_in_one_source_of_a_room(self):
        files = collections.defaultdict(list)
        for folder in ("src", "apps/cli"):
            for path in sorted((ROOT / folder).rglob("*.cc")):
                room = room_of(path)
                if room == "src/core/kernels":  # compiled one by one
                    continue
                for name in names_of(path.read_text(encoding="utf-8")):
                    files[room, name].append(path.name)
        twice = [f"{room}: {name} in {', '.join(where)}"
                 for (room, name), where in sorted(files.items())
                 if len(where) > 1]
        self.assertEqual([], twice)

    def test_finds_every_kind_of_declaration(self):
        self.assertEqual(
            {"Place", "Kind", "Ids", "kMost", "kNames", "rows_of", "check",
             "is_odd", "Box"},
            names_of("""namespace {
constexpr std::size_t kMost = 3;
constexpr std::array<std::string_view, 2> kNames = {"a", "b"};
struct Place {
  int row_of(int n);
};
enum class Kind { first };
using Ids = std::vector<int>;
using internal::ignored;
std::vector<int> rows_of(const Ids& ids) {
  return check(ids);
}
template <class T>
Status check(
    T x) {
}
bool is_odd(int n) { return n % 2 != 0; }
template <class T>
class Box {
};
}  // namespace
void outside() {}
"""))


if __name__ == "__main__":
    unittest.main()
