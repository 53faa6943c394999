"""Changes a tokenizer.json at random, such that most of it stays: a key is missing or
stands twice, a value is of another kind, a part is another one."""
import json

NUMBERS = ["0", "1", "-1", "2", "100", "-0", "1.0", "1.5", "1e3", "1e999", "-1e-999",
           "255", "4294967295", "4294967296", "-2147483649", "9223372036854775808",
           "18446744073709551615", "18446744073709551616", "01", "+1", "NaN"]
WORDS = ["", "a", " ", "é", "▁", "##", "[UNK]", "<unk>", "<0x41>", "\0", "\U0010ffff",
         "the", "a b", "always", "first", "Never", "Isolated", "Removed", "contiguous",
         "Left", "A", "1.0", "2.0", "x" * 300, "\\p{L}+", "(", "[a", "(?<!a)b", "a{,3}",
         "(?i:'s)", "\\h", "$^", "", "(?=a)", "a*", "AAAA", "!"]
TYPES = ["BPE", "Unigram", "WordPiece", "WordLevel", "ByteLevel", "BertPreTokenizer",
         "BertNormalizer", "Whitespace", "WhitespaceSplit", "Metaspace", "Split",
         "Punctuation", "Digits", "CharDelimiterSplit", "FixedLength", "UnicodeScripts",
         "Sequence", "NFC", "NFKD", "Nmt", "Lowercase", "Strip", "StripAccents",
         "Prepend", "Replace", "Precompiled", "TemplateProcessing", "BertProcessing",
         "RobertaProcessing", "Fuse", "ByteFallback", "CTC", "BPEDecoder", "bpe",
         "Unknown", ""]
KEYS = ["type", "vocab", "merges", "unk_id", "content", "id", "pattern", "prefix",
        "dropout", "extra", "normalizers", "pretokenizers", "decoders", "processors",
        "str_rep", "add_prefix_space", "prepend_scheme", "replacement", "byte_fallback"]


class Object(list):
    """Pairs, so that keys keep their order and may stand twice."""


class Raw(str):
    """A number as it is written."""


def parse(text):
    return json.loads(text, object_pairs_hook=Object, parse_int=Raw, parse_float=Raw)


def written(value):
    if isinstance(value, Object):
        return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{written(each)}"
                              for key, each in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return value if isinstance(value, Raw) else json.dumps(value, ensure_ascii=False)


def another(rng, parts):
    """A value of any kind."""
    return rng.choice((
        lambda: None, lambda: True, lambda: False, lambda: Raw(rng.choice(NUMBERS)),
        lambda: rng.choice(WORDS), lambda: [], lambda: Object(),
        lambda: [rng.choice(WORDS), Raw(rng.choice(NUMBERS))],
        lambda: Object([("type", rng.choice(TYPES))]), lambda: rng.choice(parts)))()


def places(value, path=()):
    """(container, index, path) from the root to a random place are chosen by walk()."""
    return [(value, n, (*path, value[n][0] if isinstance(value, Object) else "*"))
            for n in range(len(value))]


def walk(rng, document):
    """A place, each key of an object as likely as the others."""
    value, path, found = document, (), None
    while isinstance(value, list) and value:
        found = rng.choice(places(value, path))
        container, at, path = found
        value = container[at][1] if isinstance(container, Object) else container[at]
        if rng.random() < 0.35:
            break
    return found


def copy(value):
    if isinstance(value, Object):
        return Object((key, copy(each)) for key, each in value)
    return [copy(each) for each in value] if isinstance(value, list) else value


def change(rng, document, parts):
    """Changes `document` in place; tells where and how."""
    container, at, path = walk(rng, document)
    of_object = isinstance(container, Object)
    key, old = container[at] if of_object else (None, container[at])

    def put(value):
        container[at] = (key, value) if of_object else value
    kind = rng.choice(("drop", "null", "other", "other", "kin", "kin", "twice", "order",
                       "key", "extra"))
    if kind == "drop":
        del container[at]
    elif kind == "null":
        put(None)
    elif kind == "other":
        put(copy(another(rng, parts)))
    elif kind == "kin":  # a value of the same kind
        if isinstance(old, bool):
            put(not old)
        elif isinstance(old, Raw):
            put(Raw(rng.choice(NUMBERS)))
        elif isinstance(old, str):
            put(rng.choice(TYPES if key == "type" else WORDS))
        else:
            put(copy(rng.choice(parts)))
    elif kind == "twice":
        again = copy(rng.choice((old, another(rng, parts))))
        container.insert(rng.randrange(len(container) + 1),
                         (key, again) if of_object else again)
    elif kind == "order":
        rng.shuffle(container)
    elif of_object:
        name = rng.choice(KEYS)
        if kind == "key":
            container[at] = (name, old)
        else:
            container.append((name, copy(another(rng, parts))))
    return f"{'.'.join(path)}: {kind}"


def parts_of(document):
    """The small parts, to be put elsewhere."""
    found, waiting = [], [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            if 0 < len(value) < 12 and isinstance(value, Object):
                found.append(value)
            if len(value) < 50:
                waiting += [each[1] if isinstance(value, Object) else each
                            for each in value]
    return [each for each in found if len(written(each)) < 2000]


def changed(rng, text, parts):
    """(where and how, the changed text)"""
    document = parse(text)
    told = [change(rng, document, parts)]
    while rng.random() < 0.2:
        told.append(change(rng, document, parts))
    return "; ".join(told), written(document)
