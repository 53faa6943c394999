"""What the PyTorch cases share: one computation in float32 and in float64."""
import copy

import torch

VERSION = torch.__version__.split("+")[0]
PRECISIONS = (torch.float32, torch.float64)


def tensor(array, precision, grad=False):
    """Integers, masks and None are kept as they are."""
    if array is None:
        return None
    made = torch.tensor(array)
    if made.is_floating_point():
        made = made.to(precision).requires_grad_(grad)
    return made


def tensors(arrays, precision, grad=False):
    return {name: tensor(array, precision, grad) for name, array in arrays.items()}


def compute(attend, inputs, constants=None, grad_output=None, layer=None):
    """Calls attend(inputs, constants, layer) in float32 and in float64. It
    returns its steps by name, the last of them the output.

    Returns the steps, and the gradients of sum(output * grad_output) with
    respect to inputs and parameters, for each of the two.
    """
    results = []
    for precision in PRECISIONS:
        x = tensors(inputs, precision, grad=True)
        here = copy.deepcopy(layer).to(precision) if layer else None
        steps = attend(x, tensors(constants or {}, precision), here)
        grads = {}
        if grad_output is not None:
            of = x | dict(here.named_parameters() if layer else {})
            grads = dict(zip(of, torch.autograd.grad(
                list(steps.values())[-1], list(of.values()),
                tensor(grad_output, precision))))
        results.append(({name: step.detach() for name, step in steps.items()}, grads))
    return results
