"""Where the heads of models lie in their parameters."""
import pytest

torch = pytest.importorskip("torch")
tf = pytest.importorskip("transformers")

from headwise.transformers import attention_layers
from headwise.transformers.head_layout import HeadFeatures
from small_models import inputs_of, small_model


class Recorded:
    """What one attention module computed: inputs of the projections, and the heads'
    queries, keys and values before norms and rotary positions.
    """

    def __init__(self, model, name, inputs):
        self.features = HeadFeatures(model, name)
        self.read, self.gave = {}, {}
        modules = {**self.features.inputs, "output": self.features.output}
        hooks = [module.register_forward_hook(self._hook(path))
                 for path, module in modules.items()]
        with torch.no_grad():
            model(**inputs)
        for hook in hooks:
            hook.remove()

    def _hook(self, path):
        def keep(_, inputs, output):
            self.read[path], self.gave[path] = inputs[0], output
        return keep


@pytest.mark.parametrize("name", ["bert", "gpt2", "gpt_neox", "llama", "phi3", "bart"])
def test_matrices_of_heads_are_what_the_projections_compute(name):
    model = small_model(name)
    for layer in attention_layers(model):
        seen = Recorded(model, layer, inputs_of(name))
        found = seen.features
        whole = sum(seen.read["output"][..., found.of_output([head])] @ found.w_o(head)
                    for head in range(found.query_heads))
        if found.output.bias is not None:
            whole = whole + found.output.bias
        torch.testing.assert_close(whole, seen.gave["output"], atol=1e-5, rtol=1e-5)
        for letter in "qkv":
            check_letter(seen, letter)


def check_letter(seen, letter):
    found = seen.features
    path = found.path_of(letter)
    for head in range(found.query_heads):
        read = head if letter == "q" else head // found.group_size
        computed = seen.read[path] @ getattr(found, f"w_{letter}")(head)
        bias = getattr(found, f"b_{letter}")(head)
        computed = computed if bias is None else computed + bias
        torch.testing.assert_close(
            computed, seen.gave[path][..., found.of_input(path, letter, [read])],
            atol=1e-5, rtol=1e-5)
