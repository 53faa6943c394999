"""What the d2l cases share: one attention layer in four frameworks, on the same
parameters and inputs. Keys are masked by valid lengths, per sequence or per
query, with the fill -1e6; a length of 0 gives uniform attention weights.

d2l_torch.py begins each case and computes the float64 reference. The other files
set the same parameters in a layer of their framework, save them in its native
format and add its results.
"""
import dataclasses
import math

from golden import Case, normal, random, uniform

FILL = -1e6
NUM_HEADS = 5
B, LQ, LK = 2, 4, 6
INPUTS = ("queries", "keys", "values")
LAYERS = ("W_q", "W_k", "W_v", "W_o")
PER_SEQUENCE = [3, 2]
PER_QUERY = [[1, 2, 3, 6], [6, 5, 2, 1]]


@dataclasses.dataclass
class Config:
    name: str
    seed: int
    hidden: int
    sizes: tuple  # of queries, keys and values
    bias: bool
    runs: dict  # valid lengths by name
    npz: bool = False  # also as .npz
    grads: bool = False  # of the first run

    def weights(self):
        """Weights have the axes (out, in)."""
        generator = random(self.seed)
        weights = {}
        for layer, size in zip(LAYERS, (*self.sizes, self.hidden)):
            weights[f"{layer}.weight"] = uniform(
                generator, self.hidden, size, limit=math.sqrt(3 / size))
            if self.bias:
                weights[f"{layer}.bias"] = uniform(generator, self.hidden, limit=0.5)
        return weights

    def inputs(self):
        generator = random(self.seed + 500)
        return {name: normal(generator, B, length, size) for name, length, size
                in zip(INPUTS, (LQ, LK, LK), self.sizes)}

    def grad_output(self):
        return normal(random(self.seed + 900), B, LQ, self.hidden)


CONFIGS = [
    Config("d2l_h100", 8001, 100, (100, 100, 100), False,
           {"valid1d": PER_SEQUENCE, "valid2d": PER_QUERY, "none": None,
            "ones": PER_SEQUENCE, "zero": [0, 4]}),
    Config("d2l_h100_bias", 8002, 100, (100, 100, 100), True,
           {"valid1d": PER_SEQUENCE, "valid2d": PER_QUERY}),
    Config("d2l_sizes", 8003, 100, (20, 30, 40), False,
           {"valid1d": PER_SEQUENCE, "valid2d": PER_QUERY}, npz=True,
           grads=True),
    Config("d2l_sizes_bias", 8004, 40, (20, 30, 50), True,
           {"valid1d": PER_SEQUENCE, "none": None}, npz=True, grads=True),
]


def add_framework(root, framework, versions, layer_of):
    """Adds the results of a framework to each case. layer_of(config, case) saves the
    parameters and returns a layer, which takes queries, keys, values and valid lengths and
    returns the output and the attention weights."""
    for config in CONFIGS:
        case = Case.reopen(root, config.name)
        case.json["framework"]["version"].update(versions)
        layer = layer_of(config, case)
        for run in case.json["runs"]:
            inputs = [case.array(f"{run[name]}.npy") for name in INPUTS]
            lengths = run["valid_lens"] and case.array(f"{run['valid_lens']}.npy")
            for step, role, result in zip(
                    ("output", "weights"), ("output", "attention"),
                    layer(*inputs, lengths)):
                case.expect(f"{run[step]}_{framework}", result,
                            case.array(f"{run[step]}_f64.npy"), role,
                            scores=run["score_max"], keep_double=False)
            run["frameworks"].append(framework)
        case.save()
