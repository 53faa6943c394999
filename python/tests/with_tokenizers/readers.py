"""A tokenizer of either package, asked in the same words."""
import itertools
import json
import typing

import tokenizers


class Encoded(typing.NamedTuple):
    ids: list
    offsets: list  # in characters
    bytes: list    # the same in bytes
    types: list
    special: list
    words: list      # None for a token that was added
    sequences: list  # likewise
    overflowing: list


class Failure(typing.NamedTuple):
    """Where an answer should be."""
    why: str


class Cut(typing.NamedTuple):
    """A truncation."""
    length: int
    stride: int
    strategy: str
    side: str


def byte_positions(text):
    """Of each character, and of the end."""
    positions, at = [0], 0
    for character in text:
        code = ord(character)
        at += 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
        positions.append(at)
    return positions


def in_bytes(item, offsets, sequences):
    """Character offsets as bytes of the text, or of the texts of a pair."""
    texts = [item] if isinstance(item, str) else item
    if all(text.isascii() for text in texts):
        return offsets
    positions = [byte_positions(text) for text in texts]
    return [(0, 0) if n is None else (positions[n][begin], positions[n][end])
            for (begin, end), n in zip(offsets, sequences)]


def attempt(call):
    """Its result or a Failure; a panic of the reference is no Exception."""
    try:
        return call()
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:
        return Failure(f"{type(error).__name__}: {error}")


class Reader:
    """encode() gives an Encoded or a Failure for each text or pair."""

    def encode(self, items, special=True, cut=None):
        many = attempt(lambda: self.encode_all(items, special, cut))
        if isinstance(many, Failure) and len(items) > 1:
            return [self.encode([item], special, cut)[0] for item in items]
        if isinstance(many, Failure):
            return [many]
        return [self.encoded(item, each) for item, each in zip(items, many)]

    def decode(self, ids, skip):
        return attempt(lambda: self.decoded(ids, skip))

    def stream(self, ids, skip):
        """What is known after each step, and the whole text."""
        def steps():
            step, finish = self.stream_calls(skip)
            known = list(itertools.accumulate(step(each) or "" for each in ids))
            return known, "".join(known[-1:]) + finish()
        return attempt(steps)


class Reference(Reader):
    """The package `tokenizers`."""

    def __init__(self, text):
        self.tokenizer = tokenizers.Tokenizer.from_str(text)
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()

    def encode_all(self, items, special, cut):
        if cut is None:
            return self.tokenizer.encode_batch(items, add_special_tokens=special)
        self.tokenizer.enable_truncation(cut.length, stride=cut.stride,
                                         strategy=cut.strategy, direction=cut.side)
        try:
            return self.tokenizer.encode_batch(items, add_special_tokens=special)
        finally:
            self.tokenizer.no_truncation()

    def encoded(self, item, one, whole=True):
        offsets, sequences = one.offsets, one.sequence_ids
        # Of what overflows of a pair the reference does not always know the text. Its
        # tokens are not compared: it has the text that was matched there.
        known = whole or isinstance(item, str)
        return Encoded(one.ids, offsets,
                       in_bytes(item, offsets, sequences) if known else [],
                       one.type_ids, one.special_tokens_mask, one.word_ids,
                       sequences if known else [],
                       # Parts of a pair have some of the other parts once more.
                       [self.encoded(item, each, False)
                        for each in one.overflowing] if whole else [])

    def decoded(self, ids, skip):
        return self.tokenizer.decode(ids, skip_special_tokens=skip)

    def stream_calls(self, skip):
        stream = tokenizers.decoders.DecodeStream(skip_special_tokens=skip)
        return lambda each: stream.step(self.tokenizer, each), lambda: ""

    def size(self):
        return self.tokenizer.get_vocab_size()

    def id(self, token):
        return self.tokenizer.token_to_id(token)

    def token(self, number):
        return self.tokenizer.id_to_token(number)


def changed_reference(change):
    """The reference with a deliberate mistake: change(the parsed tokenizer.json)."""
    def make(text):
        document = json.loads(text)
        change(document)
        return Reference(json.dumps(document))
    return make


class Headwise(Reader):
    def __init__(self, text):
        import headwise
        self.package = headwise
        self.executor = headwise.Executor.with_threads(1)
        self.tokenizer = headwise.Tokenizer.parse(text)

    def encode_all(self, items, special, cut):
        options = {} if cut is None else {
            "max_tokens": cut.length, "stride": cut.stride,
            "truncation": cut.strategy, "side": cut.side, "overflowing": True}
        return self.tokenizer.encode_batch(items, add_special_tokens=special,
                                           executor=self.executor, **options)

    def encoded(self, item, one, whole=True):
        def pairs(values):
            return [tuple(each) for each in values]
        known = whole or isinstance(item, str)
        return Encoded(list(one.ids), pairs(one.offsets),
                       pairs(one.byte_offsets) if known else [],
                       list(one.token_types), list(one.special_mask), list(one.words),
                       list(one.sequences) if known else [],
                       [self.encoded(item, each, False) for each in one.overflowing])

    def decoded(self, ids, skip):
        return self.tokenizer.decode(ids, skip_special_tokens=skip)

    def stream_calls(self, skip):
        stream = self.package.DecodeStream(self.tokenizer, skip_special_tokens=skip)
        return stream.step, stream.finish

    def size(self):
        return self.tokenizer.vocab_size

    def id(self, token):
        return self.tokenizer.id(token)

    def token(self, number):
        return self.tokenizer.token(number)
