"""Heads of eager models, read and changed by hooks of plain torch."""
import contextlib
import re

import torch

HEADS = 4  # of every small model
_OUTPUTS = re.compile(r"(attention\.output\.dense|attention\.dense|attn\.c_proj|o_proj"
                      r"|out_proj|Attention\.o)$")
_INPUTS = {"query": "q", "q_proj": "q", "q": "q", "key": "k", "k_proj": "k", "k": "k",
           "value": "v", "v_proj": "v", "v": "v"}


class HookedModel:
    """Layers are numbered as their output projections are called."""

    def __init__(self, model):
        self.model = model
        model.set_attn_implementation("eager")
        self._outputs = [module for name, module in model.named_modules()
                         if _OUTPUTS.search(name)]
        self._inputs = [(_INPUTS[name.rpartition(".")[2]], module)
                        for name, module in model.named_modules()
                        if name.rpartition(".")[2] in _INPUTS
                        and isinstance(module, torch.nn.Linear)]

    def run(self, batch, change_z=None, change_input=None, **arguments):
        """The output, and by layer z (B, L, heads, Dv) and the inputs (B, L, heads, D).

        change_z(layer, z) and change_input(layer, "q", query) give new ones.
        """
        zs, inputs = [], {}

        def before_output(_, args):
            shape = (*args[0].shape[:2], HEADS, -1)
            z = args[0].view(shape)
            z = z if change_z is None else change_z(len(zs), z)
            zs.append(z)
            return (z.reshape(args[0].shape),)

        def after_input(letter):
            def hook(module, _, output):
                size = self.model.config.hidden_size // HEADS
                size = getattr(self.model.config, "head_dim", None) or size
                given = output.view(*output.shape[:2], -1, size)
                if change_input is not None:
                    given = change_input(len(zs), letter, given)
                inputs[len(zs), letter] = given
                return given.reshape(output.shape)
            return hook

        hooks = [each.register_forward_pre_hook(before_output) for each in self._outputs]
        hooks += [module.register_forward_hook(after_input(letter))
                  for letter, module in self._inputs]
        with contextlib.ExitStack() as stack:
            for hook in hooks:
                stack.callback(hook.remove)
            output = self.model(**batch, **arguments)
        return output, zs, inputs


def with_heads(z, heads, values, positions=slice(None)):
    """z (B, L, heads, Dv) with `values` in some heads and positions."""
    z = z.clone()
    z[:, positions, heads] = values
    return z
