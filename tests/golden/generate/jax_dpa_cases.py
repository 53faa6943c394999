"""Cases jax_dpa (generate.py torch ROOT): jax.nn.dot_product_attention.
Tensors have the axes (B, L, heads, D)."""
import jax
from jax import numpy as jnp

from golden import Case, normal, random

B, LK, D = 2, 8, 8
LARGEST_SCORE = 6


def results_of(inputs, bias, grad_output, options, dtype):
    """Steps and gradients."""
    if bias is not None:
        options = options | {"bias": jnp.asarray(bias, dtype)}

    def loss(x):
        output = jax.nn.dot_product_attention(
            x["q"], x["k"], x["v"], implementation="xla", **options)
        return (output * jnp.asarray(grad_output, dtype)).sum(), output
    grads, output = jax.grad(loss, has_aux=True)(
        {name: jnp.asarray(x, dtype) for name, x in inputs.items()})
    return {"output": output}, grads


def write(root, name, seed, Lq=6, H=4, Hkv=4, causal=False, window=None,
          mask=None, bias=None, lengths=None):
    generator = random(seed)
    inputs = {"q": normal(generator, B, Lq, H, D),
              "k": normal(generator, B, LK, Hkv, D),
              "v": normal(generator, B, LK, Hkv, D)}
    grad_output = normal(generator, B, Lq, H, D)
    case = Case(root, f"jax_dpa_{name}", "jax_dpa", "jax", jax.__version__, seed, {
        "num_heads": H, "num_kv_heads": Hkv, "scale": D ** -0.5, "is_causal": causal,
        "local_window_size": window, "query_seq_lengths": lengths is not None,
        "fully_masked_row": "uniform over all keys; rows past query_seq_lengths are zero"})
    case.give_all(inputs | {"grad_output": grad_output})
    case.give_all({"mask": mask, "bias": bias}, "mask")
    lengths = lengths or {}
    case.give_all(lengths, "token")

    options = {"scale": D ** -0.5, "is_causal": causal, "mask": mask,
               "local_window_size": window,
               **{n: jnp.array(x, jnp.int32) for n, x in lengths.items()}}
    case.finish([results_of(inputs, bias, grad_output, options, dtype)
                 for dtype in (jnp.float32, jnp.float64)], LARGEST_SCORE)


def write_all(root):
    jax.config.update("jax_enable_x64", True)
    write(root, "plain", 9550)
    write(root, "gqa_causal", 9551, H=8, Hkv=2, causal=True)
    write(root, "window", 9552, Lq=8, window=(2, 1))
    write(root, "lengths", 9553, lengths={"query_seq_lengths": [6, 3],
                                          "key_value_seq_lengths": [8, 5]})
    generator = random(9500)
    generator.random((B, 1, 5, 7))  # those that flax_cases.py draws first
    bias = normal(generator, B, 4, 6, LK)
    some = generator.random((B, 1, 6, LK)) < 0.7
    some[..., 0] = True
    write(root, "bias_mask", 9554, bias=bias, mask=some)
