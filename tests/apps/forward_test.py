"""headwise forward: random models of every family give the hidden states, attention
weights and logits of the reference in tests/model_families."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import peers  # noqa: E402

peers.need("numpy", "safetensors")

import numpy as np  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402

import cli_case  # noqa: E402
from cli_case import BAD_INPUT, USAGE, CliTest  # noqa: E402

FAMILIES = pathlib.Path(__file__).parent.parent / "model_families"
sys.path.insert(0, str(FAMILIES))
import compare  # noqa: E402
import gguf_files  # noqa: E402
import reference  # noqa: E402
from sequences import decoder_sequences, sequences  # noqa: E402

SHAPES = json.loads((FAMILIES / "shapes.json").read_text("utf-8"))


def strong(rng, name, shape, gemma):
    """Weights large enough that no rule of a family is lost in rounding."""
    if name.endswith("bias"):
        return rng.normal(0, 0.3, shape)
    if "relative_attention_bias" in name:
        return rng.normal(0, 1, shape)
    if name.endswith(("SelfAttention.q.weight", "EncDecAttention.q.weight")):
        return rng.normal(0, 0.25 / 12 ** 0.5, shape)  # T5 does not scale its scores
    if len(shape) == 1:
        return (0 if gemma else 1) + rng.normal(0, 0.3, shape)
    return rng.normal(0, 0.25, shape)


def write_model(folder, name, changes=(), seed=7):
    """`changes`: settings, where None removes the key."""
    config, shapes = SHAPES[name]
    folder.mkdir()
    rng = np.random.default_rng(seed)
    tensors = {key: strong(rng, key, shape, "gemma" in name).astype("f4")
               for key, shape in shapes.items()}
    save_file(tensors, folder / "model.safetensors")
    config = {**config, **dict(changes)}
    (folder / "config.json").write_text(json.dumps(
        {key: value for key, value in config.items()
         if (key, None) not in dict(changes).items()}))
    return tensors


class ForwardTest(CliTest):
    def test_every_form_equals_the_reference(self):
        for name in SHAPES:
            with self.subTest(name):
                write_model(self.folder / name, name)
                told, right = compare.compare(cli_case.HEADWISE, self.folder / name)
                self.assertTrue(right, told)

    def forward(self, *arguments):
        return self.succeed("forward", "--model", "model", *arguments)

    def test_bits_depend_on_a_sequence_alone(self):
        for name in ("qwen2_layer_types", "llama_longrope", "gpt_oss",
                     "deberta_v2_conv_groups", "bart"):
            with self.subTest(name):
                self.check_bits(name)

    def check_bits(self, name):
        write_model(self.folder / name, name)
        given = sequences()
        decoders = decoder_sequences() if name == "bart" else given

        def states(some, *options):
            self.put_text(json.dumps([given[n] for n in some]).encode(), "ids.json")
            if name == "bart":
                self.put_text(json.dumps([decoders[n] for n in some]).encode(),
                              "decoder.json")
                options += ("--decoder-ids", "decoder.json")
            self.succeed("forward", "--model", name, "--ids", "ids.json", "--hidden",
                         "hidden.npy", *options)
            return np.load(self.folder / "hidden.npy")
        together = states(range(len(given)), "--threads", "1")
        np.testing.assert_array_equal(
            together, states(range(len(given)), "--threads", "2"))
        ends = np.cumsum([len(ids) for ids in decoders])
        for n, end in enumerate(ends):
            np.testing.assert_array_equal(
                together[:, end - len(decoders[n]):end], states([n]))

    def hidden_of(self, model, *options):
        self.succeed("forward", "--model", model, "--ids", "5,17,3,40,41,42,43,44,45",
                     "--hidden", "hidden.npy", *options)
        return np.load(self.folder / "hidden.npy")

    def test_gguf_files_have_the_numbers_of_their_models(self):
        for name, changes, exact in (
                ("llama_gqa", {}, True), ("llama_linear", {}, True),
                ("llama_yarn", {}, True), ("llama_biased", {"hidden_act": "silu"}, True),
                ("qwen2", {}, True), ("qwen3", {}, True), ("gpt2", {}, True),
                ("gemma2_caps", {"query_pre_attn_scalar": 16}, False),
                ("gemma3", {"query_pre_attn_scalar": 16}, False)):
            with self.subTest(name):
                tensors = write_model(self.folder / name, name, changes.items())
                config, _ = reference.files(self.folder / name)
                gguf_files.write_floats(self.folder / f"{name}.gguf", config, tensors)
                expected, found = (self.hidden_of(each)
                                   for each in (name, f"{name}.gguf"))
                if exact:
                    np.testing.assert_array_equal(found, expected)
                np.testing.assert_allclose(found, expected, rtol=0,
                                           atol=2e-6 * np.abs(expected).max())

    def quantised_model(self, rng, kinds):
        """A Llama with matrices of these types in turns: as a GGUF file, and in
        float32."""
        config = {"model_type": "llama", "vocab_size": 96, "hidden_size": 256,
                  "intermediate_size": 512, "num_hidden_layers": 2,
                  "num_attention_heads": 4, "num_key_value_heads": 2,
                  "max_position_embeddings": 64, "rms_norm_eps": 1e-5,
                  "tie_word_embeddings": True}
        shapes = {"model.embed_tokens": (96, 256), "model.norm": (256,)}
        for n in range(2):
            shapes |= {f"model.layers.{n}.{part}": shape for part, shape in (
                ("input_layernorm", (256,)), ("post_attention_layernorm", (256,)),
                ("self_attn.q_proj", (256, 256)), ("self_attn.k_proj", (128, 256)),
                ("self_attn.v_proj", (128, 256)), ("self_attn.o_proj", (256, 256)),
                ("mlp.gate_proj", (512, 256)), ("mlp.up_proj", (512, 256)),
                ("mlp.down_proj", (256, 512)))}
        stored, floats = {}, {}
        for n, (name, shape) in enumerate(shapes.items()):
            kind = kinds[n % len(kinds)] if len(shape) == 2 else "F32"
            if kind in gguf_files.READERS:
                raw, values = gguf_files.blocks(rng, kind, shape)
            else:
                values = rng.normal(0.5 * (len(shape) == 1), 0.1, shape).astype("f4")
                if kind == "F16":
                    raw = values.astype("f2")
                    values = raw.astype("f4")
                elif kind == "BF16":
                    raw = gguf_files.bfloat16(values)
                    values = (raw.astype("u4") << 16).view("f4")
                else:
                    raw = values
                raw = raw.tobytes()
            stored[gguf_files.name_of(f"{name}.weight", False)] = (kind, shape, raw)
            # The file has rows of queries and keys in pairs; here they are apart.
            if name.endswith(("q_proj", "k_proj")):
                halves = values.reshape(-1, 32, 2, 256).swapaxes(1, 2)
                values = np.ascontiguousarray(halves).reshape(shape)
            floats[f"{name}.weight"] = values
        return config, stored, floats

    def test_every_type_of_a_gguf_file_is_read(self):
        rng = np.random.default_rng(5)
        config, stored, floats = self.quantised_model(rng, list(gguf_files.TYPES))
        gguf_files.write(self.folder / "q.gguf", gguf_files.settings(config), stored,
                         alignment=64)
        (self.folder / "model").mkdir()
        (self.folder / "model/config.json").write_text(json.dumps(config))
        save_file(floats, self.folder / "model/model.safetensors")
        for arithmetic in ("exact", "bf16"):
            np.testing.assert_array_equal(
                self.hidden_of("q.gguf", "--arithmetic", arithmetic),
                self.hidden_of("model", "--arithmetic", arithmetic))

    def test_gguf_files_that_are_not_obeyed_are_errors(self):
        tensors = write_model(self.folder / "llama_gqa", "llama_gqa")
        config, _ = reference.files(self.folder / "llama_gqa")
        path = self.folder / "m.gguf"
        for changes, said in (
                ({"general.architecture": "rwkv7"},
                 'general.architecture is "rwkv7", expected llama, qwen2, '),
                ({"llama.clamp_kqv": 1.5},
                 "llama.clamp_kqv is a setting that is not known"),
                ({"llama.expert_count": 8}, "llama.expert_count is 8, expected no "),
                ({"llama.rope.scaling.type": "spiral"},
                 'llama.rope.scaling.type is "spiral", expected none, linear or yarn'),
                ({"llama.rope.dimension_count": 4}, "llama.rope.dimension_count is 4"),
                ({"llama.vocab_size": 95}, "(vocab_size, hidden_size) = (95, 48)"),
                ({"llama.block_count": 9}, "has no blk.3.attn_norm.weight"),
                ({"llama.block_count": 2}, "blk.2.attn_k.weight is a tensor that is "),
                ({"general.alignment": 24},
                 "general.alignment is not a power of 2 that fits")):
            with self.subTest(said):
                gguf_files.write_floats(path, config, tensors, **changes)
                self.fail_with("m.gguf", said, "m.gguf")
        stored = {name: ("F32", values.shape, values.tobytes()) for name, values in
                  gguf_files.tensors_of(config, tensors).items()}
        first = next(iter(stored))
        _, shape, raw = stored[first]
        for kind, changed, said in (
                (13, shape, "has the type Q5_K, expected F32, F16, BF16, "),
                (77, shape, "has the type 77, expected F32, "),
                ("Q4_K", shape, "elements, expected a multiple of 256 as Q4_K"),
                ("F32", (10 ** 6, shape[-1]), "bytes, expected at most "),
                ("F32", (2, 2, 2, 2, 2), "has a tensor with 5 axes at byte ")):
            with self.subTest(said):
                gguf_files.write(path, gguf_files.settings(config),
                                 stored | {first: (kind, changed, raw)})
                self.fail_with("m.gguf", said, "m.gguf")
        gguf_files.write(path, gguf_files.settings(config), stored)
        whole = path.read_bytes()
        for size in (0, 3, 23, 300, len(whole) - 1000):
            path.write_bytes(whole[:size])
            self.fail_with("m.gguf", "m.gguf", "m.gguf")

    def test_the_weights_of_some_heads_are_those_of_all(self):
        for name, heads in (("llama_gqa", "0.0,2.5"), ("phi3_longrope", "1.1,1.2"),
                            ("gpt_oss", "1.3"), ("falcon_alibi", "0.7"),
                            ("deberta_v3", "1.2"), ("mpnet", "2.4,0.0"),
                            ("t5", "1.2,cross.2.1,encoder.0.5"), ("bart", "cross.0.3")):
            with self.subTest(name):
                write_model(self.folder / name, name)
                self.put_text(json.dumps(sequences()).encode(), "ids.json")
                options = ["--ids", "ids.json"]
                if name in ("t5", "bart"):
                    self.put_text(json.dumps(decoder_sequences()).encode(), "d.json")
                    options += ["--decoder-ids", "d.json"]
                for said in ((), ("--heads", heads)):
                    self.succeed("forward", "--model", name, *options,
                                 "--attn-weights", f"{len(said)}.npz", *said)
                all_heads, some = (np.load(self.folder / f"{n}.npz") for n in (0, 2))
                self.assertEqual(sorted(some), sorted(heads.split(",")))
                for entry in some:
                    layer, _, head = entry.rpartition(".")
                    np.testing.assert_array_equal(
                        some[entry][:, 0], all_heads[layer][:, int(head)])
        for heads, said in (("0.6", "is 0.6, expected one of 3 layers with 6 heads"),
                            ("9.0", "is 9.0"), ("cross.0.0", "a model without an encoder"),
                            ("0", "is 0, expected LAYER.HEAD"),
                            ("1.2,0.0,1.2", "has 1.2 twice, expected each head once")):
            done = self.run_it("forward", "--model", "llama_gqa", "--ids", "5",
                               "--attn-weights", "w.npz", "--heads", heads)
            self.assertIn(done.returncode, (BAD_INPUT, USAGE), done)
            self.assertIn("--heads", done.stderr.decode())
            self.assertIn(said, done.stderr.decode())

    def test_bf16_is_near(self):
        write_model(self.folder / "model", "gpt2")
        for arithmetic in ("exact", "bf16"):
            self.forward("--ids", "5,17,3", "--logits", f"{arithmetic}.npy",
                         "--arithmetic", arithmetic)
        exact, rounded = (np.load(self.folder / f"{each}.npy")
                          for each in ("exact", "bf16"))
        self.assertFalse(np.array_equal(exact, rounded))
        np.testing.assert_allclose(rounded, exact, atol=0.05 * np.abs(exact).max())

    def test_the_likeliest_tokens_are_printed(self):
        write_model(self.folder / "model", "gpt2")
        made = reference.run(self.folder / "model", [[5, 17, 3]])
        weights = np.exp(made.logits[-1] - made.logits[-1].max())
        best = np.argsort(-weights, kind="stable")[:5]
        printed = json.loads(self.forward("--ids", "5,17,3", "--json"))
        self.assertEqual(printed["model_type"], "gpt2")
        (sequence,) = printed["sequences"]
        self.assertEqual(sequence["tokens"], 3)
        self.assertEqual([each["id"] for each in sequence["next"]], best.tolist())
        np.testing.assert_allclose([each["probability"] for each in sequence["next"]],
                                   weights[best] / weights.sum(), rtol=1e-4)
        self.assertRegex(self.forward("--ids", "5,17,3"),
                         rf"^sequence 0: 3 tokens; next {best[0]} 0\.\d{{3}}, ")
        self.assertRegex(self.forward("--ids", "5,17,3", "--lang", "ko"),
                         rf"^시퀀스 0: 토큰 3개; 다음 {best[0]} 0")
        self.put_text(b"[[9, 9], [], [5, 17, 3]]", "three.json")
        several = json.loads(self.forward("--ids", "three.json", "--json"))["sequences"]
        self.assertEqual([each["tokens"] for each in several], [2, 0, 3])
        self.assertNotIn("next", several[1])
        self.assertEqual(several[2], sequence)

    def test_settings_that_are_not_computed_are_errors(self):
        for changes, said in (
                ({"model_type": "rwkv"}, 'model_type is "rwkv", expected bert, '),
                ({"model_type": None}, "has no model_type"),
                ({"hidden_act": "xielu"}, 'hidden_act is "xielu", expected gelu, '),
                ({"rope_parameters": {"rope_type": "spiral"}},
                 'rope_parameters.rope_type is "spiral", expected default, linear, '),
                ({"layer_types": ["linear_attention"] * 3},
                 "layer_types[0] is not known, expected full_attention, "),
                ({"layer_types": ["full_attention"]}, "layer_types has length 1, "),
                ({"layer_types": ["full_attention", "full_attention", None]},
                 "layer_types[2] is not known, expected full_attention, "),
                ({"hidden_size": 0}, "hidden_size is 0, expected a whole number "),
                ({"hidden_size": "64"}, 'hidden_size is "64", expected a whole number '),
                ({"num_key_value_heads": 5}, "has 6 heads of size 8, and 5 of keys"),
                ({"head_dim": 10 ** 6}, "has 6 heads of size 1000000, and 3 of keys, "),
                ({"quantization_config": {"quant_method": "mxfp4"}},
                 "has quantization_config, mxfp4"),
                ({"auto_map": {"AutoModel": "x"}}, "has auto_map")):
            with self.subTest(changes):
                folder = f"model{len(list(self.folder.iterdir()))}"
                write_model(self.folder / folder, "qwen2_layer_types", changes.items())
                self.fail_with(f"--model: {folder}/config.json", said, folder)

    def fail_with(self, where, said, folder, ids="5,17,3"):
        done = self.run_it("forward", "--model", folder, "--ids", ids)
        self.assertEqual(done.returncode, BAD_INPUT, done)
        message = done.stderr.decode()
        self.assertIn(where, message)
        self.assertIn(said, message)

    def test_tensors_that_do_not_fit_are_named(self):
        name = "layers.1.mlp.up_proj.weight"

        def without(tensors):
            del tensors[f"model.{name}"]

        def longer(tensors):
            tensors[f"model.{name}"] = np.zeros((3, 5), "f4")

        def infinite(tensors):
            tensors[f"model.{name}"][0, 0] = np.inf

        def headless(tensors):
            tensors.pop("lm_head.weight", None)
        for change, said in ((without, f"has no model.{name}"),
                             (longer, "expected (intermediate_size, hidden_size)"),
                             (infinite, "is inf at (0, 0)"),
                             (headless, "has no lm_head.weight")):
            with self.subTest(said):
                folder = change.__name__
                tensors = write_model(self.folder / folder, "llama_gqa",
                                      {"tie_word_embeddings": False}.items())
                change(tensors)
                save_file(tensors, self.folder / folder / "model.safetensors")
                self.fail_with(f"{folder}/model.safetensors", said, folder)

    def test_ids_of_a_decoder_are_of_encoder_decoders_alone(self):
        write_model(self.folder / "model", "gpt2")
        write_model(self.folder / "both", "bart")
        for model, ids, said in (
                ("model", ("5,17,3",), "is given, expected none for a model of type "),
                ("both", (), "is not given"),
                ("both", ("5,17,96",), "96"),
                ("both", (",".join(["5"] * 33),), "at most 32")):
            with self.subTest(said):
                options = [part for each in ids for part in ("--decoder-ids", each)]
                done = self.run_it("forward", "--model", model, "--ids", "5,17",
                                   *options)
                self.assertEqual(done.returncode, BAD_INPUT, done)
                self.assertIn("--decoder-ids", done.stderr.decode())
                self.assertIn(said, done.stderr.decode())
        self.put_text(b"[[1], [2]]", "two.json")
        done = self.run_it("forward", "--model", "both", "--ids", "5", "--decoder-ids",
                           "two.json")
        self.assertIn("has 2 sequences, expected 1 as the encoder", done.stderr.decode())

    def test_ids_and_options_that_do_not_fit_are_errors(self):
        write_model(self.folder / "model", "gpt2")
        write_model(self.folder / "encoder", "bert")
        self.fail_with("--ids", "at most 32", "model", ",".join(["5"] * 33))
        self.fail_with("--ids", "96", "model", "5,96")
        done = self.run_it("forward", "--model", "encoder", "--ids", "5", "--logits",
                           "l.npy")
        self.assertEqual(done.returncode, BAD_INPUT, done)
        self.assertIn("a model of type bert has no logits", done.stderr.decode())
        self.assertEqual(self.run_it("forward", "--ids", "5").returncode, USAGE)


if __name__ == "__main__":
    cli_case.main()
