"""Cases flax (generate.py torch ROOT): both attention layers of flax.

Kernels have the axes (in, heads, dim), that of the output (heads, dim, out). A
row that attends to nothing has uniform attention weights.
"""
import flax
import jax
import numpy as np
from flax import linen, nnx
from jax import numpy as jnp

from golden import Case, normal, random, uniform

B, LQ, LK, SIZE, HEADS = 2, 5, 7, 12, 3
LARGEST_SCORE = 6
INPUTS = ("inputs_q", "inputs_k", "inputs_v")


def linen_call(params, x, mask, options, dtype):
    """Output and attention weights; x is (query,) or (query, key, value)."""
    layer = linen.MultiHeadDotProductAttention(
        num_heads=HEADS, deterministic=True, dtype=dtype, param_dtype=dtype, **options)
    output, state = layer.apply(
        {"params": flax.traverse_util.unflatten_dict(params, sep="/")},
        *x, mask=mask, sow_weights=True, mutable=["intermediates"])
    return output, state["intermediates"]["attention_weights"][0]


def nnx_call(params, x, mask, options, dtype):
    """The same, of the other layer."""
    layer = nnx.MultiHeadAttention(
        num_heads=HEADS, in_features=SIZE, in_kv_features=x[-1].shape[-1], decode=False,
        deterministic=True, dtype=dtype, param_dtype=dtype, rngs=nnx.Rngs(0), **options)
    nnx.update(layer, flax.traverse_util.unflatten_dict(params, sep="/"))
    output = layer(*x, mask=mask, sow_weights=True)
    return output, layer.attention_weights.get_value()[0]


def random_params(generator, kv_size, head_dim, out, bias, normalized):
    params = {}
    for name, size in (("query", SIZE), ("key", kv_size), ("value", kv_size)):
        params[f"{name}/kernel"] = (size, HEADS, head_dim)
        params[f"{name}/bias"] = (HEADS, head_dim)
    params["out/kernel"] = (HEADS, head_dim, out)
    params["out/bias"] = (out,)
    params = {name: uniform(generator, *shape, limit=0.5 if "bias" in name
                            else (3 / SIZE) ** 0.5)
              for name, shape in params.items() if bias or "bias" not in name}
    if normalized:
        for name in ("query_ln/scale", "key_ln/scale"):
            params[name] = 1 + uniform(generator, head_dim, limit=0.3)
    return params


def results_of(call, params, x, mask, options, grad_output, dtype):
    """Steps and gradients."""
    def loss(params, x):
        # JAX sorts the keys of a dictionary.
        in_order = [x[name] for name in INPUTS if name in x]
        output, weights = call(params, in_order, mask, options, dtype)
        steps = {"output": output, "weights": weights}
        return (output * jnp.asarray(grad_output, dtype)).sum(), steps
    params, x = ({name: jnp.asarray(a, dtype) for name, a in arrays.items()}
                 for arrays in (params, x))
    (of_params, of_x), steps = jax.grad(loss, argnums=(0, 1), has_aux=True)(params, x)
    return steps, of_x | of_params


def write(root, api, name, seed, self_attention=False, kv_size=SIZE, qkv=SIZE,
          out=SIZE, bias=True, mask=None, normalized=False):
    generator = random(seed)
    x = {"inputs_q": normal(generator, B, LQ, SIZE)}
    if not self_attention:
        x["inputs_k"] = normal(generator, B, LK, kv_size)
        x["inputs_v"] = normal(generator, B, LK, kv_size)
    head_dim = qkv // HEADS
    params = random_params(generator, kv_size, head_dim, out, bias, normalized)
    grad_output = normal(generator, B, LQ, out)
    versions = {"flax": flax.__version__, "jax": jax.__version__}
    case = Case(root, f"flax_{api}_{name}", "flax_mha", f"flax {api}", versions, seed, {
        "num_heads": HEADS, "scale": head_dim ** -0.5, "normalize_qk": normalized,
        "fully_masked_row": "uniform over all keys, masked ones too"})
    case.give_all(x | {"grad_output": grad_output})
    case.give_all({"mask": mask}, "mask")
    case.give_all(params, "weight")
    call, prefix = {"linen": (linen_call, "params/"), "nnx": (nnx_call, "")}[api]
    np.savez(case.native("flax", "flax.npz"), **{prefix + n: a for n, a in params.items()})

    options = {"qkv_features": qkv, "out_features": out, "use_bias": bias,
               "normalize_qk": normalized}
    case.finish([results_of(call, params, x, mask, options, grad_output, dtype)
                 for dtype in (jnp.float32, jnp.float64)],
                LARGEST_SCORE, zero=("key/bias", "key/kernel"))


def write_all(root):
    jax.config.update("jax_enable_x64", True)
    some = random(9500).random((B, 1, LQ, LK)) < 0.6
    some[..., 0] = True
    for api, seed in (("linen", 9501), ("nnx", 9521)):
        write(root, api, "self", seed, self_attention=True)
        # linen has one size for all inputs.
        write(root, api, "cross", seed + 1, kv_size=SIZE if api == "linen" else 10,
              qkv=15, out=9)
        write(root, api, "no_bias", seed + 2, bias=False)
        write(root, api, "mask", seed + 3, mask=some)
        write(root, api, "normalize_qk", seed + 4, normalized=True)
    row_empty = some.copy()
    row_empty[1, 0, 2] = False
    write(root, "linen", "fully_masked", 9540, mask=row_empty)
