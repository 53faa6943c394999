// Each allocation fails once: an error comes back and nothing leaks (as the
// sanitizer sees it).
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "headwise/interop/file_subject.h"
#include "headwise/models/label_probe.h"
#include "headwise/models/model_settings.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/models/write_model.h"
#include "headwise/tokenizer/tokenizer.h"
#include "interop/files.h"
#include "models/model_texts.h"
#include "models/pruned_model.h"
#include "models/small_model.h"
#include "models/vocabularies.h"
#include "support/failures.h"

namespace headwise::testing_support {
namespace {

TEST(OutOfMemoryTest, EveryAllocationOfAnErrorMayFail) {
  expect_failures_of_errors(
      {{"check_utf8", [] {
          return check_utf8(
              not_counted([] { return ErrorDetails{.argument = "text"}; }),
              "\xff");
        }}});
}

TEST(OutOfMemoryTest, EveryAllocationOfATokenizerMayFail) {
  const TempFolder folder;
  const std::string path = folder / "vocab.txt";
  put_file(path, bytes_of(vocabulary_text({"the", "##s", "head"})));
  EXPECT_GT(failures_of([&] { return Tokenizer::read(path); }), 50);
  const std::string sentence = "The h\u00E9ads [MASK] a\u302E\u0334 unknown";
  const std::vector<std::string_view> batch = {sentence, "a", sentence};
  const Executor executor = Executor::with_threads(1).value();
  EXPECT_GT(failures_of([&] {
              const auto tokenizer =
                  not_counted([&] { return Tokenizer::read(path).value(); });
              return tokenizer.encode_batch(batch, {.executor = &executor});
            }),
            10);
}

TEST(OutOfMemoryTest, EveryAllocationOfAModelsSettingsMayFail) {
  const TempFolder folder;
  const auto put = [&](std::string_view name, std::string_view text) {
    put_file(folder / name, bytes_of(text));
  };
  put("config.json", json(bert_fields()));
  put("modules.json", modules_text("Transformer", "Pooling", "Normalize"));
  put("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer"})");
  put("sentence_bert_config.json", R"({"max_seq_length": 256})");
  put("config_sentence_transformers.json", R"({"prompts": {}})");
  std::filesystem::create_directory(folder / "1_Pooling");
  put("1_Pooling/config.json",
      R"({"embedding_dimension": 384, "pooling_mode": ["cls", "mean"]})");
  const std::string path = folder.path();
  EXPECT_GT(failures_of([&] { return read_model_settings(path); }), 100);
  EXPECT_GT(failures_of([&] { return look_at_model_folder(path, ""); }), 3);
}

TEST(OutOfMemoryTest, EveryAllocationOfAModelMayFail) {
  const TempFolder folder;
  put_small_model(folder, small_params(small_config(SmallFamily::bert)));
  const std::string path = folder.path();
  for (const FileAccess access : {FileAccess::read, FileAccess::mapped}) {
    EXPECT_GT(failures_of([&] {
                return SentenceEncoder::read(path, {.file = access});
              }),
              100);
  }
  const SentenceEncoder model = SentenceEncoder::read(path).value();
  const Executor alone = Executor::with_threads(1).value();
  const std::vector<std::string_view> sentences = {"we see heads", "", "why"};
  EXPECT_GT(failures_of(
                [&] { return model.encode(sentences, {.executor = &alone}); }),
            10);
  const RaggedTokens ids = {{2, 5, 3}};
  const auto see = [](const AttentionPlace&, TensorView<const float, 4>) {
    return ok();
  };
  EXPECT_GT(failures_of([&] {
              return model.encoder().hidden(
                  ids, {.see_attn_weights = see, .executor = &alone});
            }),
            10);
}

TEST(OutOfMemoryTest, EveryAllocationOfAnErrorOfAModelMayFail) {
  const TempFolder folder;
  const auto config = small_config(SmallFamily::bert);
  put_small_model(folder, small_params(config));
  const TempFolder other;
  put_small_model(other, {});
  const std::string without_params = other.path();
  const std::string path = folder.path();
  SentenceEncoder model = SentenceEncoder::read(path).value();
  const Executor alone = Executor::with_threads(1).value();
  const std::vector<std::string_view> sentences = {"\xff"};
  const RaggedTokens unknown = {{2, 99}};
  const auto too_wide = [] {
    return not_counted([] {
      return MultiHeadAttention::create({.embed_dim = 4, .num_heads = 2},
                                        Seed{1})
          .value();
    });
  };
  expect_failures_of_errors(
      {{"Transformer::read", [&] { return Transformer::read(without_params); }},
       {"encode",
        [&] { return model.encode(sentences, {.executor = &alone}); }},
       {"tokenize",
        [&] { return model.tokenize(sentences, {.executor = &alone}); }},
       {"forward",
        [&] { return model.encoder().hidden(unknown, {.executor = &alone}); }},
       {"forward_for_backward",
        [&] {
          return model.forward_for_backward(unknown, {.executor = &alone});
        }},
       {"replace_attention", [&] {
          auto kept = not_counted([&] {
            return KeptAttention{0, too_wide(), {0, 1}};
          });
          return model.encoder().replace_attention({&kept, 1});
        }}});
}

TEST(OutOfMemoryTest, EveryAllocationOfReplacingAttentionMayFail) {
  const TempFolder folder;
  const auto config = small_config(SmallFamily::bert);
  put_small_model(folder, small_params(config));
  SentenceEncoder model =
      SentenceEncoder::read(folder.path(), {.use = ModelUse::training}).value();
  const auto replace = [&] {
    auto kept = not_counted([] {
      return KeptAttention{
          1,
          MultiHeadAttention::create({.embed_dim = 12, .num_heads = 3}, Seed{1})
              .value(),
          {0, 1, 2}};
    });
    return model.encoder().replace_attention({&kept, 1});
  };
  EXPECT_GT(failures_of(replace), 0);
}

TEST(OutOfMemoryTest, EveryAllocationOfTrainingAModelMayFail) {
  const TempFolder folder;
  const auto config = small_config(SmallFamily::bert);
  const KeptHeads kept = {{0, 2}, {}};
  put_small_model(folder, {});
  ASSERT_TRUE(write_params(
      folder / "model.safetensors", pruned(small_params(config), config, kept),
      "", {{"kept_heads", "[[0, 2], []]"}, {"num_heads", "[2, 0]"}}));
  const std::string path = folder.path();
  const ModelAccess access = {.use = ModelUse::training};
  EXPECT_GT(failures_of([&] { return SentenceEncoder::read(path, access); }),
            100);
  const SentenceEncoder model = SentenceEncoder::read(path, access).value();
  const Executor alone = Executor::with_threads(1).value();
  const std::vector<std::string_view> sentences = {"we see heads", "", "why"};
  EXPECT_GT(failures_of([&] {
              return model.tokenize(sentences, {.executor = &alone});
            }),
            5);
  const RaggedTokens ids = {{2, 5, 3}, {2, 3}};
  std::vector<Tensor<float, 1>> gates;
  gates.push_back(filled<float, 1>({2}, 1));
  gates.push_back(filled<float, 1>({0}, 1));
  const auto forward = [&] {
    return model.forward_for_backward(
        ids, {.head_gates = gates, .executor = &alone});
  };
  EXPECT_GT(failures_of(forward), 20);
  const auto d = uniform<2>({2, 12}, 80);
  // Each backward pass has a forward pass of its own, before its count.
  long failed = 0;
  for (bool was_served = false; !was_served; ++failed) {
    auto saved = forward().value();
    failing_allocation() = failed + 1;
    const auto gradients = model.backward(saved, d.view());
    was_served = failing_allocation() > 0;
    failing_allocation() = 0;
    // Without memory to keep a layer's in, that is let go.
    EXPECT_TRUE(gradients || !was_served);
    if (!gradients) {
      EXPECT_EQ(gradients.error().code(), ErrorCode::out_of_memory);
    }
  }
  EXPECT_GT(failed, 50);
  SentenceEncoder moved = SentenceEncoder::read(path, access).value();
  // All names were made before.
  EXPECT_EQ(failures_of([&] {
              return moved.encoder().update(
                  [](std::string_view, std::span<float>) { return ok(); });
            }),
            0);
}

TEST(OutOfMemoryTest, EveryAllocationOfAProbeMayFail) {
  const auto embeddings = uniform<2>({4, 3}, 81);
  const auto targets = tensor_of<std::int64_t, 1>({4}, {0, 1, 0, 1});
  const std::vector<std::string> labels = {"a label that is long enough",
                                           "and another one like it"};
  // What is passed by value is the caller's.
  const auto own_labels = [&] { return not_counted([&] { return labels; }); };
  const auto train = [&] {
    return LabelProbe::train(embeddings.view(), targets.view(), own_labels(),
                             {.steps = 2});
  };
  EXPECT_GT(failures_of(train), 10);
  const TempFolder folder;
  const std::string path = folder.path();
  const LabelProbe probe = train().value();
  EXPECT_GT(failures_of([&] { return probe.write(path); }), 5);
  EXPECT_GT(failures_of([&] { return LabelProbe::read(path, 3); }), 10);
  const auto wide = uniform<2>({4, 5}, 81);
  const auto linear = [] {
    return not_counted([] {
      return Linear::create({.in_features = 3, .out_features = 2},
                            RandomStream(Seed{1}, 1))
          .value();
    });
  };
  expect_failures(
      {{"create", [&] { return LabelProbe::create(3, own_labels()); }},
       {"create of a projection",
        [&] { return LabelProbe::create(linear(), own_labels()); }},
       {"logits", [&] { return probe.logits(embeddings); }},
       {"probabilities", [&] { return probe.probabilities(embeddings); }}});
  expect_failures_of_errors(
      {{"create", [&] { return LabelProbe::create(3, {}); }},
       {"create of a projection",
        [&] { return LabelProbe::create(linear(), {}); }},
       {"logits", [&] { return probe.logits(wide); }},
       {"probabilities", [&] { return probe.probabilities(wide); }}});
}

TEST(OutOfMemoryTest, EveryAllocationOfWritingAModelMayFail) {
  const TempFolder folder;
  SmallConfig config = small_config(SmallFamily::bert);
  config.num_layers = 1;  // each call writes files to the disk
  put_small_model(folder, small_params(config));
  const TempFolder target;
  const std::string from = folder.path();
  const std::string to = target / "new";
  const auto bias = uniform<1>({12}, 82);
  const ModelChanges changes = {
      .params = {{"encoder.layer.0.output.dense.bias", bias.view()}},
      .kept_heads = KeptHeads{{0, 1, 2}}};
  constexpr long kStep = 7;
  EXPECT_GT(failures_of([&] { return write_model(from, to, changes); }, kStep),
            100);
}

}  // namespace
}  // namespace headwise::testing_support
