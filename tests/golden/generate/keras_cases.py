"""Cases keras (generate.py tf ROOT): Keras' attention layers on TensorFlow.

Kernels have the axes (in, heads, dim), that of the output (heads, dim, out).
When a row attends to nothing, the layer gives zero attention weights where it
returns them, and uniform ones on the fused path, where it does not.
"""
import keras
import numpy as np
import tensorflow as tf

from golden import Case, normal, random, uniform

B, LQ, LK, SIZE, KEY_DIM = 2, 5, 7, 12, 4
LARGEST_SCORE = 6
PRECISIONS = ("float32", "float64")


def name_of(variable):
    """Below the layer, such as query/kernel."""
    return variable.path.split("/", 1)[1]


def build(dtype, heads, kv_heads, **options):
    if kv_heads is not None:
        return keras.layers.GroupQueryAttention(KEY_DIM, heads, kv_heads, name="gqa",
                                                dtype=dtype)
    return keras.layers.MultiHeadAttention(heads, KEY_DIM, name="mha", dtype=dtype, **options)


def call(layer, x, masks, causal, scores):
    masks = dict(masks)
    if "query_mask" in masks:
        # Keras ignores the argument and reads the mask that the tensor carries.
        x["query"]._keras_mask = tf.constant(masks.pop("query_mask"))
    return layer(x["query"], x["value"], key=x.get("key"),
                 use_causal_mask=causal, return_attention_scores=scores, **masks)


def save_weights(path, layer, fresh, inputs):
    """As a model of this one layer saves them."""
    ports = {n: keras.Input(x.shape[1:], name=n) for n, x in inputs.items()}
    model = keras.Model(list(ports.values()), fresh(
        ports["query"], ports["value"], key=ports.get("key")))
    fresh.set_weights(layer.get_weights())
    model.save_weights(path)


def results_of(layer, inputs, masks, causal, grad_output):
    """Steps and gradients."""
    x = {n: tf.constant(a, layer.dtype) for n, a in inputs.items()}
    with tf.GradientTape() as tape:
        tape.watch(list(x.values()))
        output, weights = call(layer, x, masks, causal, scores=True)
        loss = tf.reduce_sum(output * tf.constant(grad_output, layer.dtype))
    fused = call(layer, x, masks, causal, scores=False)
    of = x | {name_of(w): w.value for w in layer.weights}
    grads = dict(zip(of, tape.gradient(loss, list(of.values()))))
    return {"output": output, "weights": weights, "output_no_weights": fused}, grads


def write(root, name, seed, Lq=LQ, sizes=None, heads=3, kv_heads=None,
          causal=False, masks=None, fully_masked=False, **options):
    """sizes: of keys and values, if the key is a tensor of its own."""
    masks = masks or {}
    generator = random(seed)
    key_size, value_size = sizes or (SIZE, SIZE)
    inputs = {"query": normal(generator, B, Lq, SIZE),
              "value": normal(generator, B, LK, value_size)}
    if sizes is not None:
        inputs["key"] = normal(generator, B, LK, key_size)
    keras.utils.set_random_seed(seed)
    layers = []
    for dtype in PRECISIONS:
        layers.append(build(dtype, heads, kv_heads, **options))
        # The first call draws the parameters.
        call(layers[-1], {n: tf.constant(x, dtype) for n, x in inputs.items()},
             masks, causal, scores=True)
    # Keras starts biases at zero, which would hide a bias left out.
    for variable in layers[0].weights:
        if variable.name == "bias":
            variable.assign(uniform(generator, *variable.shape, limit=0.5))
    layers[1].set_weights(layers[0].get_weights())
    grad_output = normal(generator, B, Lq, options.get("output_shape", SIZE))

    versions = {"keras": keras.__version__, "tensorflow": tf.__version__}
    case = Case(root, name, "keras_mha", "keras with tensorflow", versions, seed, {
        "num_heads": heads, "num_kv_heads": kv_heads or heads, "scale": KEY_DIM ** -0.5,
        "use_causal_mask": causal, "sliding_window": options.get("sliding_window"),
        "fully_masked_row": "zero when the scores are returned; uniform on the fused path"
                            if fully_masked else None})
    case.give_all(inputs | {"grad_output": grad_output})
    case.give_all(masks, "mask")
    weights = {name_of(w): w.numpy() for w in layers[0].weights}
    case.give_all(weights, "weight")
    save_weights(case.native("keras_h5", "keras.weights.h5"), layers[0],
                 build("float32", heads, kv_heads, **options), inputs)
    np.savez(case.native("keras_npz", "keras.npz"), **weights)

    results = [results_of(layer, inputs, masks, causal, grad_output) for layer in layers]
    steps = results[0][0]
    if not fully_masked:
        assert np.allclose(steps["output"], steps.pop("output_no_weights"), atol=1e-5)
    case.finish(results, LARGEST_SCORE, zero=("key/bias", "key/kernel"))


def write_all(root):
    some = random(9000).random((B, LQ, LK)) < 0.6
    some[..., 0] = True
    row_empty = some.copy()
    row_empty[1, 2] = False
    write(root, "keras_mha_plain", 9001)
    write(root, "keras_mha_key_value", 9002, sizes=(10, 14))
    write(root, "keras_mha_value_dim", 9003, value_dim=6, output_shape=9)
    write(root, "keras_mha_no_bias", 9004, use_bias=False)
    write(root, "keras_mha_mask", 9005, masks={"attention_mask": some})
    write(root, "keras_mha_causal", 9006, causal=True)
    write(root, "keras_mha_masks", 9007, causal=True, fully_masked=True,
          masks={"query_mask": np.arange(LQ) < [[5], [3]],
                 "value_mask": np.arange(LK) < [[7], [4]]})
    write(root, "keras_mha_window", 9008, Lq=7, sliding_window=3)
    write(root, "keras_gqa", 9009, heads=6, kv_heads=2)
    write(root, "keras_mha_fully_masked", 9010, fully_masked=True,
          masks={"attention_mask": row_empty})
