"""The texts in C++ sources: what each expression that holds a literal becomes.

    texts_in(Path("src/files/json/json.cc")) ->
        [Text(line=7, callee="bad", position=0, forms=["has no {}"]), ..],
        {"has no ", ..}

A form has {} for what is only known as the program runs. Literals that are
added or formatted are one text; each side of a ?: is a form of its own.
"""
import dataclasses
import itertools
import re

HOLE = "{}"
TOKEN = re.compile(r"""
  (?P<skipped> //[^\n]* | /\*.*?\*/ | ^[ \t]*\#(?:[^\n]*\\\n)*[^\n]* )
| R"(?P<mark>[^(\s]*)\( (?P<raw>.*?) \)(?P=mark)"
| "(?P<string>(?:[^"\\\n]|\\.)*)"
| '(?P<char>(?:[^'\\\n]|\\.)+)'
| (?P<name>[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)
| (?P<other>\d[\w.']*|->|[-+*/=!<>&|]=|&&|\|\||\+\+|--|\S)
""", re.VERBOSE | re.DOTALL | re.MULTILINE)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
KEYWORDS = {"return", "else", "const", "constexpr", "static", "auto"}
# Calls whose value is their argument.
COPIES = {"", "std::string", "std::string_view", "std::move"}


@dataclasses.dataclass
class Token:
    kind: str  # "text", "name", "other", or an opening bracket
    text: str
    line: int
    inner: list = dataclasses.field(default_factory=list)  # in brackets


@dataclasses.dataclass
class Text:
    line: int
    callee: str  # what takes it: a function or, of {.member = }, the member
    position: int  # among the arguments
    forms: list


def unescaped(literal):
    return re.sub(r"\\(x[0-9a-fA-F]{2}|.)",
                  lambda found: ESCAPES.get(found[1], found[1]), literal,
                  flags=re.DOTALL)


def tokens_of(source):
    line, at = 1, 0
    for found in TOKEN.finditer(source):
        line += source.count("\n", at, found.start())
        at = found.start()
        if found["skipped"] is not None:
            continue
        for kind in ("raw", "string", "char"):
            if found[kind] is not None:
                yield Token("text", found["raw"] if kind == "raw" else
                            unescaped(found[kind]), line)
                break
        else:
            kind = "name" if found["name"] else "other"
            yield Token(kind, found[0], line)


def tree_of(source):
    """Tokens, brackets with what is in them; neighbouring literals are one."""
    stack = [[]]
    for token in tokens_of(source):
        if token.kind == "other" and token.text in "([{":
            token.kind = token.text
            stack[-1].append(token)
            stack.append(token.inner)
        elif token.kind == "other" and token.text in ")]}":
            stack.pop()
        elif token.kind == "text" and stack[-1] and \
                stack[-1][-1].kind == "text":
            stack[-1][-1].text += token.text
        else:
            stack[-1].append(token)
    return stack[0]


def split(tokens, separators):
    parts = [[]]
    for token in tokens:
        if token.kind == "other" and token.text in separators:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def has_text(tokens):
    return any(token.kind == "text" or has_text(token.inner)
               for token in tokens)


def branches(tokens):
    """Both sides of a ?:, or nothing."""
    depth = 0
    first = None
    for n, token in enumerate(tokens):
        if token.text == "?" and token.kind == "other":
            first = n if first is None else first
            depth += 1
        elif token.text == ":" and token.kind == "other" and depth:
            depth -= 1
            if depth == 0:
                return tokens[first + 1:n], tokens[n + 1:]
    return None


def callee_of(tokens):
    """The function, or the type of the variable, before the brackets that end
    the tokens; of a.b() it is b."""
    names = []
    for token in reversed(tokens[:-1]):
        if token.kind != "name" or token.text in KEYWORDS:
            break
        names.append(token.text)
    return names[-1] if names else ""


def values_of(tokens):
    """The forms of a part of a text."""
    empty = len(tokens) == 2 and tokens[0].text == "std::string" and \
        not tokens[1].inner
    return [""] if empty else forms_of(tokens) or [HOLE]


def formatted(arguments):
    """The forms of fmt::format()."""
    values = [values_of(argument) for argument in arguments[1:]]
    for taken in itertools.product(*values):
        rest = iter(taken)

        def value(found, taken=taken, rest=rest):
            if found[0] in ("{{", "}}"):
                return found[0][0]
            return taken[int(found[1])] if found[1] else next(rest, HOLE)
        yield re.sub(r"\{\{|\}\}|\{(\d*)(?::(?:[^{}]|\{\})*)?\}", value,
                     arguments[0][0].text)


def forms_of(tokens):
    """What an expression becomes; nothing where it has no literal."""
    if not has_text(tokens):
        return []
    for n, token in enumerate(tokens):
        if token.text == "return" and token.kind == "name":
            return forms_of(tokens[n + 1:])
    sides = branches(tokens)
    if sides:
        return values_of(sides[0]) + values_of(sides[1])
    parts = split(tokens, "+")
    if len(parts) > 1:
        return ["".join(taken) for taken in itertools.product(
            *(values_of(part) for part in parts))]
    if len(tokens) == 1 and tokens[0].kind == "text":
        return [tokens[0].text]
    if tokens[-1].kind in ("(", "{") and has_text(tokens[-1].inner) and \
            tokens[-1].inner[0].text != ".":  # not {.member = ..}
        arguments = split(tokens[-1].inner, ",")
        name = callee_of(tokens)
        if name == "fmt::format" and arguments[0][0].kind == "text":
            return list(formatted(arguments))
        if name in COPIES and len(arguments) == 1 and \
                len(tokens) == (2 if name else 1):
            return forms_of(arguments[0])
    return []


def assigned(tokens):
    """The member or variable that is assigned to, and its value."""
    for n, token in enumerate(tokens):
        if token.text in ("=", "+=") and token.kind == "other":
            return (tokens[n - 1].text if n else ""), tokens[n + 1:]
    return None, tokens


def rule_forms(arguments):
    """What {"--chunk|--page", needs, "--cache"} says (command_line.cc)."""
    if len(arguments) < 3 or [token.kind for token in arguments[1]] != ["name"]:
        return []
    option, _, others, words = [
        "".join(token.text for token in argument if token.kind == "text")
        for argument in arguments[:4] + [[]] * (4 - len(arguments))]
    kind = arguments[1][0].text.split("::")[-1]
    refused = HOLE + " cannot be used with "
    if kind == "needs":
        return [HOLE + " needs " + (words or HOLE)]
    if kind == "apart":
        return [HOLE + " and " + HOLE + " cannot be used together"]
    if kind in ("excludes", "only"):
        refusing = option if kind == "only" else others.replace("+", " and ")
        return [refused + (f"{refusing}: {words}" if words else HOLE)]
    return [words] if kind in ("never", "always") else []


def find_texts(tokens, callee, found):
    for position, part in enumerate(split(tokens, ",;")):
        member, value = assigned(part)
        forms = [form for form in forms_of(value)
                 if form.replace(HOLE, "").strip()]
        if forms:
            found.append(Text(value[0].line, member or callee, position, forms))
        for n, token in enumerate(part):
            if token.inner and has_text(token.inner):
                name = callee_of(part[:n + 1])
                arguments = split(token.inner, ",")
                rule = rule_forms(arguments) if token.kind == "{" else []
                if rule:
                    found.append(Text(token.line, "usage_error", 0, rule))
                    continue
                if not (forms and name in COPIES | {"fmt::format"} and
                        token.kind != "{"):
                    find_texts(token.inner, name or callee + token.kind, found)


def literals_in(tokens):
    for token in tokens:
        if token.kind == "text":
            yield token.text
        yield from literals_in(token.inner)


def texts_in(path):
    """The texts of a source, and all of its literals."""
    tree = tree_of(path.read_text("utf-8"))
    found = []
    find_texts(tree, "", found)
    return found, set(literals_in(tree))
