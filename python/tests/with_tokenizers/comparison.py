"""Compares two readers of one tokenizer.json: ids, offsets, decoded texts."""
import collections
import functools
import itertools
import random
import re
import typing

from readers import Cut, Encoded, Failure, Reference, attempt
from sample_texts import Lines, scalar_texts, scalars

# Differences that are meant: (part, answer of the reference, answer here, reason), all
# but the reason regular expressions.
EXCEPTIONS = [
    ("errors", "", r"truncation\.stride is \d+, expected less than",
     "a stride as long as a part is an error, whether or not the text is cut"),
    ("errors", "", r"truncation\.max_tokens is \d+, expected at least \d+, for the "
     "tokens that are added", "no room for the added tokens is an error; the reference "
     "cuts nothing then"),
    ("errors", "tokenizer stride set to", "", "a stride that is too long for texts "
     "with added tokens, where the text is not cut"),
    ("overflowing types", "1", r"^\[0(, 0)*\]$", "without special tokens, "
     "parts of the second text have the type of the text"),
    ("errors", "PanicException.*bad split", "", "the reference panics where an added "
     "token lies in the white space that another has taken"),
    ("decoded|streamed", "PanicException", "", "the reference panics"),
]

BATCH = 200
STRATEGIES = ("longest_first", "only_first", "only_second")


class Difference(typing.NamedTuple):
    part: str
    given: object
    reference: object
    other: object

    def __str__(self):
        return (f"{self.part} of {self.given!r}:\n    reference {self.reference!r}\n"
                f"    here      {self.other!r}")


def first_difference(reference, other):
    """(part, value there, value here) of two answers, or None."""
    if isinstance(reference, Failure) or isinstance(other, Failure):
        if isinstance(reference, Failure) and isinstance(other, Failure):
            return None
        return "errors", reference, other
    if reference == other:
        return None
    for part, there, here in zip(Encoded._fields, reference, other):
        if there == here:
            continue
        if part != "overflowing":
            return part, there, here
        if len(there) != len(here):
            return "number of overflowing", len(there), len(here)
        part, *values = next(found for found in map(first_difference, there, here)
                             if found)
        return f"overflowing {part}", *values
    raise AssertionError("unequal, but no part is")


def smaller(text):
    """Parts of a text, the smallest first."""
    size = len(text)
    for width in (size // 2, size // 4, size // 8, 2, 1):
        if width:
            for at in range(0, size, width):
                yield text[:at] + text[at + width:]


def smallest(item, differs):
    """The item, a text, a pair or a list of ids, without what its difference does not need."""
    def shrink(text, rebuild):
        tries = 400
        while tries > 0:
            for shorter in smaller(text):
                tries -= 1
                if shorter != text and differs(rebuild(shorter)):
                    text = shorter
                    break
            else:
                break
        return text
    if not isinstance(item, tuple):
        return shrink(item, lambda text: text)
    first, second = item
    first = shrink(first, lambda text: (text, second))
    return first, shrink(second, lambda text: (first, text))


class Comparison:
    """Of one tokenizer. Collects at most `most` differences and counts the rest."""

    def __init__(self, name, text, make_other, most=5):
        self.name, self.text, self.most = name, text, most
        self.reference, self.other = Reference(text), make_other(text)
        self.counts, self.found = collections.Counter(), []
        self.excepted = collections.Counter()

    @functools.cached_property
    def references(self):
        """The order of its hash tables is another each time: added tokens that are
        equal once they are normalized find another one of them."""
        return [Reference(self.text) for _ in range(256)]

    def may_be(self, item, special, cut, answer):
        """Whether another object of the reference gives this answer."""
        return any(first_difference(each.encode([item], special, cut)[0], answer) is None
                   for each in self.references)

    def note(self, part, there, here, make):
        """make() gives the Difference, once that is wanted."""
        for which, *patterns, reason in EXCEPTIONS:
            if re.fullmatch(which, part) and all(map(re.search, patterns,
                                                     (str(there), str(here)))):
                self.excepted[reason] += 1
                return
        self.counts[part] += 1
        if self.counts[part] <= 2 and len(self.found) < self.most:
            self.found.append(make())

    def encode(self, items, special=True, cut=None):
        """Compares; gives the ids of the reference."""
        there = self.reference.encode(items, special, cut)
        here = self.other.encode(items, special, cut)
        for item, one, two in zip(items, there, here):
            if one == two:
                continue
            difference = first_difference(one, two)
            if difference and self.may_be(item, special, cut, two):
                self.excepted["the reference's answer changes from run to run"] += 1
            elif difference:
                self.note(*difference, lambda: self.minimal(
                    item, difference[0], special, cut))
        return [[] if isinstance(one, Failure) else one.ids for one in there]

    def minimal(self, item, part, special, cut):
        def differs(item):
            found = first_difference(self.reference.encode([item], special, cut)[0],
                                     self.other.encode([item], special, cut)[0])
            return found if found and found[0] == part else None
        item = smallest(item, differs)
        found = differs(item)
        options = "" if special else " without special tokens"
        options += f" {cut}" if cut else ""
        _, there, here = found or (part, "not the same twice", "")
        return Difference(part + options, item, there, here)

    def decode(self, ids, skip, stream=False):
        self.compare_ids("decoded", ids, skip, lambda ids: (
            self.reference.decode(ids, skip), self.other.decode(ids, skip)))
        if stream:
            self.compare_ids("streamed", ids, skip,
                             lambda ids: self.streams(ids, skip))

    def streams(self, ids, skip):
        """Equal unless something is wrong here. A stream gives whole characters, as
        soon as the reference or before; it holds back a token with a part of one and
        stops for good at one that is never complete."""
        whole = self.reference.decode(ids, skip)
        there = self.reference.stream(ids, skip)
        here = self.other.stream(ids, skip)
        if isinstance(whole, Failure) or isinstance(here, Failure):
            return whole, here
        late = "\ufffd" not in whole and not isinstance(there, Failure) and not all(
            map(str.startswith, here[0], there[0]))
        # A run of byte tokens that is no UTF-8 becomes U+FFFD as a whole: a stream has
        # given the characters in it by then.
        right = "\ufffd" in whole or here[1] == whole and not late and all(
            map(whole.startswith, here[0]))
        return (whole, whole) if right else ((there, whole), here)

    def compare_ids(self, part, ids, skip, answers):
        def differs(ids):
            there, here = answers(ids)
            both = isinstance(there, Failure) and isinstance(here, Failure)
            return None if both or there == here else (there, here)

        def minimal():
            least = smallest(list(ids), differs)
            return Difference(f"{part}, skip {skip},", [
                (each, self.reference.token(each)) for each in least],
                *differs(least))
        found = differs(list(ids))
        if found:
            self.note(part, *found, minimal)

    def added_tokens(self, of_pairs, special):
        """How many the reference adds to a text, or to a pair."""
        one, = self.reference.encode([("", "") if of_pairs else ""], special)
        return 0 if isinstance(one, Failure) else one.special.count(1)

    def vocabulary(self, rng, count=300):
        size = self.reference.size()
        if size != self.other.size():
            self.note("size", size, self.other.size(), lambda: Difference(
                "size", "", size, self.other.size()))
        numbers = [*range(min(size, 20)), *range(size - 40, size + 5), 2**31 - 1,
                   *(rng.randrange(size + 1) for _ in range(count))]
        for number in numbers:
            if number < 0:
                continue
            there, here = self.reference.token(number), self.other.token(number)
            if there != here:
                self.note("token", there, here,
                          lambda: Difference("token", number, there, here))
            for token in {there or "", (there or "x") + "é"}:
                one, two = self.reference.id(token), self.other.id(token)
                if one != two:
                    self.note("id", one, two,
                              lambda: Difference("id", token, one, two))

    def lines(self, lines, seed=0):
        """All parts. Most lines alone, some in pairs, some cut."""
        rng = random.Random(f"comparison {seed}")
        self.vocabulary(rng)
        size = self.reference.size()
        for n in range(0, len(lines), BATCH):
            batch = lines[n:n + BATCH]
            ids = self.encode(batch, special=n // BATCH % 4 != 3)
            for each in ids:
                self.decode(each, rng.random() < 0.5, rng.random() < 0.05)
            few = batch[:BATCH // 10]
            self.encode(list(zip(few, batch[-len(few):])), rng.random() < 0.8)
            cut = Cut(rng.randint(0, 14), rng.choice((0, 0, 1, 2, 5)),
                      rng.choice(STRATEGIES), rng.choice(("right", "left")))
            some = batch[BATCH // 10:BATCH // 5] or few
            if rng.random() < 0.5:
                some = list(zip(some, reversed(some)))
            special = rng.random() < 0.7
            room = cut.length - self.added_tokens(isinstance(some[0], tuple), special)
            if 0 <= room < 2:
                # Of a text without room for a token the reference has one part with
                # all of it.
                cut = cut._replace(length=cut.length + 2)
            self.encode(some, special, cut)
            for _ in range(4):
                self.decode([rng.randrange(size + 2) for _ in range(
                    rng.randint(0, 9))], rng.random() < 0.5, rng.random() < 0.3)
        return self

    def scalars(self, step):
        """Only ids and offsets are looked at, which takes a third of the time."""
        for some in batches(scalars(step), 500):
            items = [text for each in some for text in scalar_texts(each)]
            there = attempt(lambda: self.reference.encode_all(items, True, None))
            here = attempt(lambda: self.other.encode_all(items, True, None))
            if isinstance(there, Failure) or isinstance(here, Failure):
                self.encode(items)
                continue
            unlike = [item for item, one, two in zip(items, there, here)
                      if one.ids != list(two.ids) or
                      one.offsets != list(two.offsets)]
            if unlike:
                self.encode(unlike)
        return self

    def report(self):
        return {"name": self.name, "differences": dict(self.counts),
                "excepted": dict(self.excepted), "cases": list(map(str, self.found))}


def batches(values, size):
    values = iter(values)
    while some := list(itertools.islice(values, size)):
        yield some


def contents_of(document):
    """What texts should have to hit the added tokens."""
    return [each["content"] for each in document["added_tokens"] if each["content"]]


def lines_for(name, document, count):
    return Lines(name, contents_of(document)[:200]).take(count)
