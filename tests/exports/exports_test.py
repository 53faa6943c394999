#!/usr/bin/env python3
"""What the shared libraries export: what public headers declare, nothing else.

    exports_test.py [--update] [--readelf READELF] BUILD

BUILD is the folder that libheadwise.so and libheadwise_internals.a are in. The
exported symbols are compared with the lists beside this file; --update writes
the lists.
"""

import argparse
import collections
import difflib
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
LIBRARIES = ("headwise", "headwise_files", "headwise_tokenizer", "headwise_ranks",
             "headwise_view", "headwise_models", "headwise_mpi", "headwise_onnx")

# Of a symbol table: the mangled name, the binding (GLOBAL, WEAK, UNIQUE or LOCAL),
# its visibility, the version node ("" without one), whether it is defined here.
Symbol = collections.namedtuple("Symbol", "name binding visibility node defined")


class Version:
    """The version that the headers declare, as it is in names and in nodes."""

    def __init__(self):
        text = (ROOT / "include/headwise/version.h").read_text(encoding="utf-8")
        full = re.search(r'HEADWISE_VERSION_STRING "([^"]*)"', text).group(1)
        minor = full.rsplit(".", 1)[0]
        self.namespace = "v" + minor.replace(".", "_")
        self.public_node = f"HEADWISE_{minor}"
        self.internal_node = f"HEADWISE_INTERNAL_{full}"
        versioned = f"{len(self.namespace)}{self.namespace}"
        prefix = r"_Z(?:N[KRO]*|T[ISTV]N|GVN)8headwise"
        self.public = re.compile(prefix + versioned)
        self.internal = re.compile(prefix + "8internal" + versioned)
        self.unversioned = re.compile(
            f"N[KRO]*8headwise(?!{versioned}|8internal{versioned})"
        )


def symbols_of(readelf, table, path):
    """The symbols of a library or of the objects in an archive."""
    lines = subprocess.run(
        [readelf, "--wide", table, path], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    symbols = []
    for line in lines:
        fields = line.split()
        # Num: Value Size Type Bind Vis Ndx Name. Skip the entries of file names.
        if len(fields) < 8 or not fields[0][:-1].isdigit() or fields[3] == "FILE":
            continue
        if fields[6] == "ABS":  # the name of a version node
            continue
        name, _, node = fields[7].partition("@")
        symbols.append(
            Symbol(name, fields[4], fields[5], node.lstrip("@"), fields[6] != "UND")
        )
    return symbols


def matching_end(text, begin, brackets):
    """One past the bracket that closes the one at `begin`."""
    depth = 0
    for end in range(begin, len(text)):
        depth += (text[end] == brackets[0]) - (text[end] == brackets[1])
        if depth == 0:
            return end + 1
    raise ValueError(f"no {brackets[1]} in {text[begin:]!r}")


def without_brackets(text, opening):
    """`text` without any <...> whose opening matches the expression."""
    while match := re.search(opening, text):
        end = matching_end(text, match.end() - 1, "<>")
        text = text[: match.start()] + text[end:]
    return text


def demangled(names, version):
    """Readable names, without what every one of them has."""
    names = sorted(names)
    lines = subprocess.run(
        ["c++filt"], input="\n".join(names), check=True, capture_output=True, text=True
    ).stdout.splitlines()
    readable = {}
    for name, line in zip(names, lines):
        line = line.replace(f"{version.namespace}::", "").replace("headwise::", "")
        line = line.replace("[abi:cxx11]", "").replace("std::__cxx11::", "std::")
        line = without_brackets(
            line, r", std::(?:allocator|char_traits|default_delete|less)<"
        )
        line = re.sub(r" (?=>)", "", line)
        line = re.sub(r"std::basic_string(\w*)<char>", r"std::string\1", line)
        line = line.replace(", 18446744073709551615ul>", ">")  # any extent
        readable[name] = re.sub(r"\b(\d+)ul\b", r"\1", line)
    return readable


def function_name(line):
    """AttentionPlan::run of `Status AttentionPlan::run<float>(int) const`; an
    operator is `operator`, whichever it is."""
    line = re.sub(r"\boperator(\(\)|[^\w\s(]+)", "operator", line)
    return without_brackets(line, "<").partition("(")[0].split(" ")[-1]


def declared_functions(text):
    """What a header declares and leaves to a source file, as function_name()."""
    text = re.sub(r"//[^\n]*|^\s*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
    # A macro that declares an overload per type; the one of float is written out.
    text = re.sub(r"\bHEADWISE_[A-Z_]+\([^()]*\)", "", text)
    found = []
    scopes = []
    chunk = ""
    at = 0
    while at < len(text):
        char = text[at]
        if char == "(":
            end = matching_end(text, at, "()")
            chunk += "()"
            at = end
            continue
        at += 1
        if char == "{":
            scope = re.search(r"\b(namespace|class|struct)\b[^()=]*$", chunk)
            if scope and not re.search(r"\benum\b", chunk):
                head = re.sub(r"(?<!:):(?!:).*", "", scope.group(), flags=re.S)
                name = re.sub(r"\b(final|HEADWISE_\w+)\b", "", head).split()[1:]
                ours = not name or name[0].startswith("headwise")
                inner = "::".join(part.strip(":") for part in name[1:])
                scopes.append(inner if ours else name[0])
                chunk = ""
            else:
                at = matching_end(text, at - 1, "{}")
                if "(" in chunk or "enum" in chunk:  # a body, not an initial value
                    chunk = ""
        elif char == "}":
            scopes.pop()
            chunk = ""
        elif char == ";":
            declaration = " ".join(chunk.split())
            chunk = ""
            if re.match(
                r"(template <.*> )?"
                r"(using|friend|extern template|static_assert|HEADWISE_HIDDEN)\b",
                declaration,
            ):
                continue
            if " = " in declaration.partition("(")[0]:  # a member and its value
                continue
            if re.search(r"= (default|delete|0)$|\bconstexpr\b", declaration):
                continue
            if re.search(r"\)[ a-z&]*$", declaration):
                name = function_name(declaration)
                found.append("::".join([*filter(None, scopes), name]))
        elif char == ":" and re.fullmatch(r"\s*(public|private|protected)", chunk):
            chunk = ""
        else:
            chunk += char
    return found


def declared_by_public_headers():
    headers = sorted((ROOT / "include/headwise").rglob("*.h"))
    return {
        name: header.relative_to(ROOT / "include")
        for header in headers
        for name in declared_functions(header.read_text(encoding="utf-8"))
    }


def check_list(name, lines, update):
    """Compares with the list of that name, or writes it."""
    path = HERE / f"{name}.txt"
    if update:
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return []
    expected = path.read_text(encoding="utf-8").splitlines()
    return list(
        difflib.unified_diff(expected, lines, path.name, "exported", n=0, lineterm="")
    )


def check(build, readelf, update):
    """Everything that is wrong, as lines to read."""
    version = Version()
    declared = declared_by_public_headers()
    problems = []
    dynamic = {}
    for library in LIBRARIES:
        path = build / f"lib{library}.so"
        if path.exists():  # components may be left out
            dynamic[library] = symbols_of(readelf, "--dyn-syms", path)

    every = {s.name for table in dynamic.values() for s in table}
    names = demangled(every, version)
    internals = set()
    needed = set()
    exported_functions = set()
    for library, table in dynamic.items():
        listed = set()
        for symbol in table:
            name = names[symbol.name]
            internal = version.internal.match(symbol.name)
            if not symbol.defined:
                if internal:
                    needed.add(name)
                    if symbol.node != version.internal_node:
                        problems.append(
                            f"lib{library}.so takes {name} from the node "
                            f"{symbol.node or 'of any version'}, expected "
                            f"{version.internal_node}"
                        )
                continue
            node = version.internal_node if internal else version.public_node
            if not (internal or version.public.match(symbol.name)):
                problems.append(f"lib{library}.so exports {name}, which is not ours")
            elif symbol.node != node:
                problems.append(
                    f"lib{library}.so exports {name} in {symbol.node}, expected {node}"
                )
            elif internal:
                # As below, type information is the compiler's choice.
                if not symbol.name.startswith("_ZT") and symbol.binding == "GLOBAL":
                    internals.add(name)
            else:
                function = function_name(name)
                exported_functions.add(function)
                # Type information and instances of inline functions and templates
                # are the compiler's choice; they are weak, and so are the instances
                # of templates that a source file defines.
                is_type = symbol.name.startswith("_ZT")
                if not is_type and (symbol.binding == "GLOBAL" or function in declared):
                    listed.add(name)
        problems += check_list(library, sorted(listed), update)

        kept = {symbol.name for symbol in table}
        archive = build / f"lib{library}_internals.a"
        objects = symbols_of(readelf, "--symbols", archive)
        lost = {
            s.name
            for s in objects
            if s.defined
            and s.binding != "LOCAL"
            and s.visibility == "DEFAULT"
            and (version.public.match(s.name) or version.internal.match(s.name))
        } - kept
        for name in sorted(demangled(lost, version).values()):
            problems.append(f"cmake/exports.map.in leaves out {name}")
        stray = {s.name for s in objects if version.unversioned.search(s.name)}
        for name in sorted(demangled(stray, version).values()):
            problems.append(f"{name} is outside of headwise::{version.namespace}")

    problems += check_list("headwise_internal", sorted(internals), update)
    if "headwise_models" in dynamic:
        # A stub of headwise::mpi needs nothing.
        if any(s.name.startswith("MPI_") for s in dynamic["headwise_mpi"]):
            for name in sorted(internals - needed):
                # A class is exported as a whole.
                if "::" in function_name(name).removeprefix("internal::"):
                    continue
                problems.append(f"no component needs {name}")
        for name in sorted(set(declared) - exported_functions):
            problems.append(f"{declared[name]} declares {name}, which is not exported")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--update", action="store_true", help="write the lists")
    parser.add_argument("--readelf", default="readelf", help="of the toolchain")
    parser.add_argument("build", type=pathlib.Path, help="folder of the libraries")
    args = parser.parse_args()
    problems = check(args.build, args.readelf, args.update)
    if problems:
        print(*problems, sep="\n")
        print(
            "\nIf the lists are to change: python3 "
            f"tests/exports/{pathlib.Path(__file__).name} --update {args.build}"
        )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
