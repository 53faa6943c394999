"""A call of a command that options are added to, and values that do not fit an option."""

import dataclasses

from frozen import base_calls, values


@dataclasses.dataclass(frozen=True)
class Call:
    command: str
    words: tuple
    options: tuple  # (name, values)

    def has(self, name):
        return any(name == each for each, _ in self.options)

    def with_options(self, *added):
        """With these in place of its own of the same name."""
        options = dict(self.options)
        for name, words in added:
            options[name] = tuple(words)
        return dataclasses.replace(self, options=tuple(options.items()))

    def without(self, name):
        kept = tuple(each for each in self.options if each[0] != name)
        return dataclasses.replace(self, options=kept)

    def argv(self, *more):
        given = [word for name, words in self.options for word in (name, *words)]
        return [self.command, *self.words, *given, *more]


def calls_of(command):
    """name -> Call; a command that is not listed is called without options."""
    listed = base_calls.CALLS.get(command, {"bare": ([], [])})
    return {name: Call(command, tuple(words), ()).with_options(*options)
            for name, (words, options) in listed.items()}


def entry(command, option):
    """The option with its value and what it needs."""
    return [*values.needs_of(command, option.name),
            (option.name, values.value_of(command, option))]


def together(call, command, a, b):
    """Both options; what one needs of the other replaces the other's own value."""
    own = [(each.name, values.value_of(command, each)) for each in (a, b)]
    needs = [need for each in (a, b) for need in values.needs_of(command, each.name)]
    return call.with_options(*own, *needs)


def wrong_values(option):
    """`lines.txt`, a text, is in the folder of every job; so is the folder itself."""
    if not option.kind:
        return []
    if option.is_number:
        return ["", "x", "-1", "0", "1.5", "nan", "99999999999999999999999"]
    return ["", "x", "-1", "missing/none.npy", "lines.txt", ".", "-"]


def written_otherwise(call, option, words):
    """The option twice, with =, without its value, misspelt and shortened."""
    name, rest = option.name, list(words)
    bare = call.without(name)
    yield bare.argv(name, *rest, name, *rest)
    yield bare.argv(name + "=" + (rest[0] if rest else "true"), *rest[1:])
    yield bare.argv(name[:-1])
    yield bare.argv(name + "x", *rest)
    if rest:
        yield bare.argv(name)
        yield bare.argv(name, *rest, "more")
