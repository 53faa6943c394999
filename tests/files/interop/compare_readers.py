"""Files that were changed at random are read or refused here as by the libraries
that made them (Python's safetensors, NumPy):

    compare_readers.py VERDICTS COUNT SEED

VERDICTS is the program of verdicts.cc; COUNT mutants of each format. Runs in the
Python of the environment's HEADWISE_PEERS_PYTHON (script/test makes it); without
the libraries it is skipped.
"""
import collections
import io
import json
import pathlib
import random
import re
import resource
import struct
import subprocess
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import peers  # noqa: E402

peers.need("numpy", "safetensors")
import numpy  # noqa: E402
import safetensors  # noqa: E402

DATA = pathlib.Path(__file__).resolve().parent / "data"

NUMBERS = ["0", "1", "2", "3", "4", "8", "12", "24", "-1", "-0", "1.0", "1e0",
           "01", "2147483647", "4294967296", "9223372036854775807",
           "9223372036854775808", "18446744073709551615",
           "18446744073709551616"]
WORDS = {
    "safetensors": [
        '"F64"', '"F32"', '"F16"', '"BF16"', '"I64"', '"I32"', '"I8"', '"U8"',
        '"BOOL"', '"F8_E4M3"', '"C64"', '"f32"', '"dtype"', '"shape"',
        '"data_offsets"', '"__metadata__"', '"a"', '"\\u0061"', '"\\ud800"',
        "null", "true", "[]", "{}", "[0,0]", "[0]", '{"a":"b"}', " ", "\n",
        "\t", ",", ":", "[", "]", "{", "}", "\0", "\x01", "\ufeff", "\u00e9"],
    "npy": [
        "'<f4'", "'>f4'", "'|b1'", "'<i8'", "'=u2'", "'f8'", "'<c8'", "'|O'",
        "'<U3'", "'<M8'", "'|V2'", "'descr'", "'shape'", "'fortran_order'",
        "True", "False", "None", "(3,)", "()", "(2, 3)", "(0,)", "[3]", " ",
        "\n", ",", ":", "(", ")", "{", "}", "\0", "#", "L", "_", "b''"],
}

# Where the library reads what is refused here: the start of the reason given
# here, and why it is.
KNOWN = {
    "safetensors": [
        (r".* twice( in its header)?$", "a key stands twice; the library keeps the last"),
        (r".* has the unknown key ", "unknown keys of a tensor are passed over"),
        (r"has a malformed header", "blanks before the header"),
        (r"__metadata__ holds null", "null for no metadata"),
        (r".* holds an array, expected an object",
         "a tensor as an array of its three values"),
        (r".*\.dtype holds an object",
         "a type as an object of its name"),
        (r".* holds elements of type (F4|F6|F8|C64)",
         "element types that are not read here"),
        (r".* which take more bytes than there can be",
         "an axis of 0 hides an overflow"),
        (r".* has more than 32 axes", "more than 32 axes"),
    ],
    "npy": [
        (r"has .* bytes of data", "bytes behind the array"),
        (r"holds ", "element types that are not read here"),
        (r"has a malformed header at byte .*, expected ",
         "Python that is not as numpy.save writes it"),
        (r"has '.*' twice in its header", "a key stands twice"),
        (r"has a number for the shape in its header", "a number for a shape"),
    ],
}


def library_accepts(reader, file):
    # A size that is believed is an error, not the end of this program.
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, limits[1]))
    try:
        if reader == "safetensors":
            safetensors.deserialize(file)
        else:
            numpy.lib.format.read_array(io.BytesIO(file), allow_pickle=False)
        return True
    except Exception:  # whatever it raises, it does not read the file
        return False
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def changed_bytes(rng, data):
    """One change that knows nothing of the format."""
    data = bytearray(data)
    at = rng.randrange(len(data) + 1)
    end = min(len(data), at + rng.choice((1, 1, 2, 4, 8, 30)))
    kind = rng.randrange(6)
    if kind == 0 and at < len(data):
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 1 and at < len(data):
        data[at] = rng.choice((0, 1, 0x20, 0x7f, 0x80, 0xff, rng.randrange(256)))
    elif kind == 2:
        data[at:at] = rng.randbytes(rng.randint(1, 3))
    elif kind == 3:
        del data[at:end]
    elif kind == 4:
        data[at:at] = data[at:end]
    else:
        other = rng.randrange(len(data) + 1)
        data[other:other] = data[at:end]
    return bytes(data)


def changed_words(rng, reader, text):
    """One change of a number or a word of a header."""
    spots = [m.span() for m in re.finditer(
        rb"-?\d+|\"[^\"]*\"|'[^']*'|[a-zA-Z]+|[][{}(),:]", text)]
    if not spots:
        return changed_bytes(rng, text)
    start, end = rng.choice(spots)
    kind = rng.randrange(5)
    if kind == 0:  # a number for a number
        numbers = [s for s in spots if text[s[0]:s[0] + 1].isdigit()]
        start, end = rng.choice(numbers or spots)
        new = rng.choice(NUMBERS).encode()
    elif kind == 1:
        new = rng.choice(WORDS[reader]).encode()
    elif kind == 2:  # a word beside it
        new = text[start:end] + rng.choice(WORDS[reader]).encode()
    elif kind == 3:  # what stands elsewhere
        first, last = rng.choice(spots)
        new = text[first:last]
    else:  # a part twice
        last = max(end, rng.choice(spots)[1])
        end = start
        new = text[start:last]
    return text[:start] + new + text[end:]


def other_tree(rng, header):
    """A safetensors header of the same grammar that says something else."""
    try:
        tree = json.loads(header)
        tensors = [t for name, t in tree.items() if name != "__metadata__"]
        tensor, other = rng.choice(tensors), rng.choice(tensors)
        kind = rng.randrange(7)
        if kind == 0:
            tree = dict(rng.sample(list(tree.items()), len(tree)))
        elif kind == 1:
            tensor["shape"].insert(rng.randrange(4), rng.choice((1, 1, 0, 2)))
        elif kind == 2:
            tensor["dtype"] = other["dtype"]
        elif kind == 3:
            tree[rng.choice(("", "a", "\u00e9\n", "__metadata__"))] = {
                "dtype": "F32", "shape": [0],
                "data_offsets": [rng.choice(tensor["data_offsets"])] * 2}
        elif kind == 4:
            tree["__metadata__"] = {"a": rng.choice(("", "b", 1, None))}
        elif kind == 5:
            tensor["data_offsets"], other["data_offsets"] = (
                other["data_offsets"], tensor["data_offsets"])
        else:
            rng.choice((tensor["shape"], tensor["data_offsets"])).reverse()
        return json.dumps(tree, indent=rng.choice((None, 1)),
                          ensure_ascii=rng.random() < 0.5).encode()
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return changed_bytes(rng, header)  # it was changed before


def other_literal(rng, header):
    """A .npy header of the same grammar that says something else."""
    old, new = rng.choice((
        (b"(", b"(1, "), (b",)", b", 1)"), (b"'", b'"'), (b": ", b":"),
        (b", ", b" ,\t"), (b"False", b"True"), (b"<", b">"), (b">", b"="),
        (b"f", b"i"), (b"4", b"2"), (b"(", b"(0, "), (b", }", b"}")))
    return header.replace(old, new)


def mutant(rng, reader, file):
    start = 8 if reader == "safetensors" else 10
    format_ = "<Q" if reader == "safetensors" else "<H"
    size = struct.calcsize(format_)
    length, = struct.unpack(format_, file[start - size:start])
    magic, header = file[:start - size], file[start:start + length]
    data = file[start + length:]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        where = rng.random()
        if where < 0.35:
            header = (other_tree if reader == "safetensors" else
                      other_literal)(rng, header)
        elif where < 0.65:
            header = changed_words(rng, reader, header)
        elif where < 0.85:
            header = changed_bytes(rng, header)
        else:
            data = changed_bytes(rng, data)
    file = magic + struct.pack(format_, len(header)) + header + data
    return changed_bytes(rng, file) if rng.random() < 0.15 else file


def verdicts(program, reader, files):
    """None where a file is read, else why not."""
    stream = b"".join(struct.pack("<Q", len(f)) + f for f in files)
    done = subprocess.run([program, reader], input=stream, timeout=600,
                          capture_output=True, check=True)
    lines = done.stdout.decode("utf-8", "replace").split("\n")[:-1]
    assert len(lines) == len(files), (len(lines), len(files))
    return [None if line == "accepted" else
            re.sub(r"^refused: \w+: file:? ", "", line) for line in lines]


def compare(program, reader, count, seed):
    """Prints what differs; how much of it is unknown."""
    rng = random.Random(f"{reader} {seed}")
    seeds = [path.read_bytes() for path in sorted(DATA.glob(f"*.{reader}"))
             if path.name != "objects.npy"]
    files = [mutant(rng, reader, rng.choice(seeds)) for _ in range(count)]
    totals, known, unknown = collections.Counter(), collections.Counter(), []
    for file, refusal in zip(files, verdicts(program, reader, files)):
        there, here = library_accepts(reader, file), refusal is None
        totals[here, there] += 1
        if here == there:
            continue
        why = None if here else next(
            (why for start, why in KNOWN[reader] if re.match(start, refusal)),
            None)
        if why:
            known[why] += 1
        else:
            unknown.append((refusal or "read here only", file))
    print(f"{reader}: {count} files: {totals[True, True]} read by both, "
          f"{totals[False, False]} by none, {totals[False, True]} by the "
          f"library only, {totals[True, False]} here only")
    for why, times in known.most_common():
        print(f"  {times:5} by the library only: {why}")
    for refusal, file in unknown[:20]:
        print(f"  UNKNOWN: {refusal}\n    {file[:300]!r}")
    return len(unknown)


def main():
    program, count, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    warnings.simplefilter("ignore")
    unknown = sum(compare(program, reader, count, seed) for reader in KNOWN)
    if unknown:
        sys.exit(f"{unknown} differences that are not known")


if __name__ == "__main__":
    main()
