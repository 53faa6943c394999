"""Each class that another file could see has a name of its own.

Two classes of one name are undefined behaviour in a program that links both: a
static build takes the destructor of either for both.
"""
import collections
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKENS = re.compile(r"""
    (?P<space>\bnamespace\b(?P<space_name>[^{;=]*)\{)
  | (?P<class>\b(?:struct|class|enum(?:\s+class)?)\s+(?P<name>\w+)\s*(?:final\s*)?
      (?::(?!:)[^;{()]*)?\{)
  | (?P<open>\{) | (?P<close>\})""", re.VERBOSE)
TEXTS = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'')


def classes_in(text):
    """(namespace, name) of the classes that are not local, nested or unnamed."""
    blocks = []
    for token in TOKENS.finditer(TEXTS.sub("", text)):
        if token["close"]:
            del blocks[-1:]
        elif token["space"]:
            blocks.append(token["space_name"].strip())
        else:
            if token["class"] and all(blocks):
                yield "::".join(blocks), token["name"]
            blocks.append("")


class OneDefinitionTest(unittest.TestCase):
    def test_no_two_files_define_a_class_of_one_name(self):
        files = collections.defaultdict(set)
        for folder in ("include", "src", "apps"):
            for path in (ROOT / folder).rglob("*"):
                if path.suffix in (".h", ".cc"):
                    for name in classes_in(path.read_text(encoding="utf-8")):
                        files[name].add(str(path.relative_to(ROOT)))
        self.assertGreater(len(files), 500)
        self.assertEqual({name: sorted(found) for name, found in files.items()
                          if len(found) > 1}, {})

    def test_classes_that_others_can_see(self):
        text = """
            namespace a::inline B { struct C { struct D {}; }; class E : F<int> {}; }
            namespace a { namespace { struct G {}; } enum class H : int { i }; }
            struct C::Impl {}; // struct J {}
            void f() { struct K {}; }"""
        self.assertEqual(list(classes_in(text)), [
            ("a::inline B", "C"), ("a::inline B", "E"), ("a", "H")])


if __name__ == "__main__":
    unittest.main()
