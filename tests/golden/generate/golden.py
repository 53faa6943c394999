"""Writes a golden case: a folder with case.json and .npy files.

    case = Case(root, "my_case", "sdpa", "torch", "2.15.0", seed=1, options={...})
    case.give_all({"q": q, "k": k, "v": v})
    case.finish([(steps32, gradients32), (steps64, gradients64)])

case.json names each tensor with its file, dtype, shape and role. The roles
input, weight, mask and token are given to the code under test. The roles
intermediate, attention, output and gradient are to be reproduced:

    |got - want| <= atol + rtol * |want|

where want is the float64 file (f64) if there is one, and otherwise the float32
file of the framework. A gradient is that of sum(output * grad_output) with
respect to the tensor named in `of`. With `rows`, the file holds only the rows
start, start + step, ... of a tensor of full_shape.
"""
import json
import math

import numpy as np

HALF_ULP = 2.0 ** -24  # of a float32, relative
RTOL = 1e-5
STORED = {"f": "<f4", "i": "<i8", "b": "|b1"}
ROLES = {"output": "output", "output_no_weights": "output", "x": "output",
         "weights": "attention", "attention": "attention"}
AFTER_SOFTMAX = {*ROLES, "context", "concat"}


def random(seed):
    return np.random.Generator(np.random.PCG64(seed))


def normal(generator, *shape):
    return generator.standard_normal(shape).astype(np.float32)


def uniform(generator, *shape, limit):
    return generator.uniform(-limit, limit, shape).astype(np.float32)


def stored(array):
    """As it is stored, unless it is a float64 reference."""
    array = np.asarray(array)
    return np.ascontiguousarray(array.astype(STORED[array.dtype.kind])).reshape(array.shape)


def largest(x):
    """The largest finite magnitude."""
    x = np.asarray(x)
    return float(np.abs(x[np.isfinite(x)]).max(initial=0.0))


def rounded_up(x):
    """To two digits."""
    unit = 10.0 ** (math.floor(math.log10(x)) - 1)
    return float(f"{math.ceil(x / unit - 1e-9) * unit:.1e}")


def tolerance(error, size, scores):
    """The atol of a tensor whose float32 values are off by up to `error`.

    The factor 8 leaves room for another order of summation and another exp. The
    second term is what rounding the largest score to float32 changes in a softmax.
    """
    atol = max(8 * error, 4 * HALF_ULP * (1 + scores) * size)
    return rounded_up(atol) if atol > 0 else 1e-12


def text_of(document):
    """JSON with one tensor per line."""
    def text(x):
        return json.dumps(x, allow_nan=False)

    def lines(key, value):
        if key != "tensors":
            return text(value)
        return "{\n" + ",\n".join(f"  {text(name)}: {text(tensor)}"
                                  for name, tensor in value.items()) + "\n }"
    return "{\n" + ",\n".join(f" {text(key)}: {lines(key, value)}"
                              for key, value in document.items()) + "\n}\n"


class Case:
    def __init__(self, root, name, kind, framework, version, seed, options):
        self.folder = root / name
        self.folder.mkdir(parents=True)
        self.json = {"case": name, "kind": kind,
                     "framework": {"name": framework, "version": version},
                     "seed": seed, "options": options, "tensors": {}, "native_files": {}}

    @classmethod
    def reopen(cls, root, name):
        case = cls.__new__(cls)
        case.folder = root / name
        case.json = json.loads((case.folder / "case.json").read_text())
        return case

    def array(self, file):
        return np.load(self.folder / file)

    def native(self, key, file):
        """The path of a file in the framework's own format."""
        self.json["native_files"][key] = {"file": file}
        return self.folder / file

    def _describe(self, name, array, role, file, **more):
        self.json["tensors"][name] = {
            "file": file, "dtype": str(array.dtype), "shape": list(array.shape), "role": role,
            **more}

    def give(self, name, array, role="input", file=None):
        """Adds a given tensor, which may be in a `file` of another case."""
        array = stored(array)
        if file is None:
            file = name.replace("/", ".") + ".npy"
            np.save(self.folder / file, array)
        self._describe(name, array, role, file)

    def give_all(self, arrays, role="input"):
        """Adds those that are not None."""
        for name, array in arrays.items():
            if array is not None:
                self.give(name, array, role)

    def expect(self, name, single, double, role="output", *, scores=0.0, like=0.0,
               keep_double=True, rows=None, **more):
        """Adds a tensor to be reproduced, computed in float32 and in float64.

        scores       the largest score
        like         a tensor that sets the tolerance if its values are larger
        keep_double  whether to store the float64 values
        rows         (start, step) of the rows that are stored
        """
        single = np.asarray(single, np.float32)
        double = np.asarray(double, np.float64)
        finite = np.isfinite(single)
        if single.shape != double.shape or (finite != np.isfinite(double)).any():
            raise ValueError(f"{self.folder.name}: {name} differs between float32 and float64 "
                             "in its shape or in its non-finite values")
        if name == "masked_scores":  # masked cells set no tolerance
            finite &= double > self.json["options"]["mask_fill"] / 2
        error = largest(single[finite] - double[finite])
        top = largest(double[finite])
        size = max(top, largest(like))
        if error > 1e-5 * size:
            raise ValueError(f"{self.folder.name}: {name} in float32 is off by {error}, "
                             "which is more than rounding")
        more.update(atol=tolerance(error, size, scores), rtol=RTOL,
                    err=float(f"{error:.3g}"), max=float(f"{top:.6g}"))
        if rows is not None:
            start, step = rows
            more["rows"] = {"start": start, "step": step, "full_shape": list(single.shape)}
            single, double = single[start::step], double[start::step]
        if keep_double:
            more["f64"] = f"{name}_f64.npy"
            np.save(self.folder / more["f64"], np.ascontiguousarray(double))
        np.save(self.folder / f"{name}.npy", stored(single))
        self._describe(name, single, role, f"{name}.npy", **more)

    def expect_steps(self, single, double, scores, doubles=None, rows=None):
        """Adds steps by name. `doubles` names those whose float64 values are stored (all of
        them by default), `rows` those of which only some rows are."""
        for name in single:
            self.expect(name, single[name], double[name], ROLES.get(name, "intermediate"),
                        scores=scores if name in AFTER_SOFTMAX else 0.0,
                        keep_double=doubles is None or name in doubles,
                        rows=(rows or {}).get(name))

    def expect_gradients(self, single, double, scores, zero=None, rows=None):
        """Adds gradients by the name of their tensor.

        The gradient of a key's bias is zero in exact arithmetic, since a softmax does not
        change when all scores move together. Float32 leaves noise. `zero` names that bias and
        the key's weight, whose gradient then sets the tolerance.
        """
        bias, weight = zero or (None, None)
        for name in single:
            self.expect(f"grad_{name.replace('/', '.')}", single[name], double[name], "gradient",
                        scores=scores, like=single[weight] if name == bias else 0.0,
                        keep_double=False, rows=(rows or {}).get(name), of=name)

    def finish(self, results, scores=None, zero=None):
        """Adds (steps, gradients) of float32 and of float64, and saves. Without `scores`, the
        largest score is that of the steps."""
        (single, single_grad), (double, double_grad) = results
        if scores is None:
            scores = largest(single["scores"])
        self.expect_steps(single, double, scores)
        self.expect_gradients(single_grad, double_grad, scores, zero)
        self.save()

    def save(self):
        (self.folder / "case.json").write_text(text_of(self.json))
