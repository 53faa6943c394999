"""Compares two folders of golden cases: compare.py OLD NEW

What is given must be equal, bit by bit. What is to be reproduced must be within
OLD's tolerances; each tensor that is not equal is listed, with its largest
difference and that difference's share of the tolerance. Options must agree if
both have them. Fails if NEW cannot replace OLD.
"""
import json
import pathlib
import sys

import numpy as np

failures = 0


def fail(*what):
    global failures
    failures += 1
    print("FAILED", *what)


def cases_of(root):
    return {str(path.parent.relative_to(root)) for path in root.rglob("case.json")}


def in_both(where, old, new):
    for missing in sorted(set(old) - set(new)):
        fail(where, "has no", missing)
    for added in sorted(set(new) - set(old)):
        fail(where, "also has", added)
    return sorted(set(old) & set(new))


def same_bytes(folders, old, new):
    return (folders[0] / old).read_bytes() == (folders[1] / new).read_bytes()


def is_equal(name, folders, old, new):
    """Whether a tensor is equal, bit by bit. Fails if it is not even near."""
    for key in ("role", "dtype", "shape", "rows", "of", "file", "f64", "rtol"):
        if old.get(key) != new.get(key):
            fail(name, key, "was", old.get(key), "is", new.get(key))
    files = {"file", "f64", "pb"} & old.keys() & new.keys()
    if all(same_bytes(folders, old[key], new[key]) for key in files):
        return True
    a, b = (np.load(folder / tensor.get("f64", tensor["file"])).astype(np.float64)
            for folder, tensor in zip(folders, (old, new)))
    if "atol" not in old or a.shape != b.shape:
        fail(name, "is not equal")
        return False
    # Equal infinities and NaN for NaN.
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    a, b = np.where(same, 0, a), np.where(same, 0, b)
    off = np.abs(a - b)
    share = (off / (old["atol"] + old["rtol"] * np.abs(a))).max()
    print(f"{name} differs by {off.max():.2g}, {share:.2g} of the tolerance")
    if not share <= 1:
        fail(name, "is not within the tolerance")
    return False


def main():
    roots = [pathlib.Path(argument) for argument in sys.argv[1:]]
    equal = total = 0
    for name in in_both("the folder", *map(cases_of, roots)):
        folders = [root / name for root in roots]
        old, new = (json.loads((folder / "case.json").read_text()) for folder in folders)
        tensors = old.pop("tensors"), new.pop("tensors")
        natives = old.pop("native_files", {}), new.pop("native_files", {})
        for key in in_both(name, *natives):
            if not same_bytes(folders, *(each[key]["file"] for each in natives)):
                fail(name, natives[0][key]["file"], "is not equal")
        old |= old.pop("options", {})
        new |= new.pop("options", {})
        for key in (old.keys() & new.keys()) - {"framework"}:
            if old[key] != new[key]:
                fail(name, key, "was", old[key], "is", new[key])
        for tensor in in_both(name, *tensors):
            total += 1
            equal += is_equal(f"{name}: {tensor}", folders, *(each[tensor] for each in tensors))
    print(f"{equal} of {total} tensors are equal, {failures} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
