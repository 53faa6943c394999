#include "headwise/models/causal_model.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "headwise/module/optimizer.h"
#include "headwise/prune/remove_heads.h"
#include "models/causal_reference.h"
#include "models/context_gradients.h"
#include "models/small_causal.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

const RaggedTokens kTexts = {{5, 6, 8, 5, 6}, {9}, {13, 12, 11, 10, 9, 8, 7}};
const CausalReference::Rows kGates = {{1, 0.5, 0}, {0.25, 1, 2}};

std::vector<Tensor<float, 1>> gates() {
  std::vector<Tensor<float, 1>> made;
  for (const auto& layer : kGates) {
    made.push_back(Tensor<float, 1>::create({layer.size()}).value());
    std::ranges::transform(layer, made.back().data(), [](double gate) {
      return static_cast<float>(gate);
    });
  }
  return made;
}

void expect_near(TensorView<const float, 2> logits,
                 const CausalReference& reference,
                 const CausalReference::Rows& gates) {
  std::size_t row = 0;
  for (const auto& text : kTexts) {
    for (const auto& expected : reference.logits(text, gates)) {
      for (std::size_t c = 0; c < expected.size(); ++c) {
        ASSERT_NEAR(logits(row, c), expected[c], 1e-5)
            << "row " << row << ", token " << c;
      }
      ++row;
    }
  }
  EXPECT_EQ(row, logits.extent(0));
}

TEST(CausalModelTest, LogitsAreThoseOfTheReference) {
  const CausalModel model = small_causal_model();
  const CausalReference reference(model);
  const auto plain = model.logits(kTexts).value();
  expect_near(plain, reference, {});
  const auto on = gates();
  const auto gated = model.logits(kTexts, {.head_gates = on}).value();
  expect_near(gated, reference, kGates);
  const auto saved =
      model.forward_for_backward(kTexts, {.head_gates = on}).value();
  EXPECT_TRUE(
      same_bits({saved.logits().data(), gated.size()}, gated.elements()));
}

TEST(CausalModelTest, ATokensBitsDependOnTheTokensBeforeItAlone) {
  const CausalModel model = small_causal_model();
  const auto together = model.logits(kTexts).value();
  const auto alone = model.logits({{13, 12, 11}}).value();
  EXPECT_TRUE(same_bits({&together(6, 0), 3 * 14}, alone.elements()));
  for (const std::size_t threads : {1u, 3u}) {
    const Executor executor = Executor::with_threads(threads).value();
    EXPECT_TRUE(same_bits(
        model.logits(kTexts, {.executor = &executor}).value().elements(),
        together.elements()));
  }
}

// ---- Gradients. ----

// The mean over the rows of cross-entropies with these targets, in double.
double loss_of(const CausalReference& reference,
               const CausalReference::Rows& gates,
               const std::vector<std::int64_t>& targets) {
  double loss = 0;
  std::size_t row = 0;
  for (const auto& text : kTexts) {
    for (const auto& logits : reference.logits(text, gates)) {
      double sum = 0;
      for (const double logit : logits) {
        sum += std::exp(logit);
      }
      loss += std::log(sum) - logits[static_cast<std::size_t>(targets[row++])];
    }
  }
  return loss / static_cast<double>(row);
}

const std::vector<std::int64_t> kTargets = {1, 2, 3, 4, 5, 6, 7,
                                            8, 9, 0, 1, 2, 3};
constexpr double kStep = 1e-5;

ModelGradients gradients_of(const CausalModel& model,
                            const std::vector<Tensor<float, 1>>& on,
                            ModelWanted wanted) {
  auto saved = model.forward_for_backward(kTexts, {.head_gates = on}).value();
  const auto loss =
      cross_entropy(saved.logits(), {kTargets.data(), {kTargets.size()}})
          .value();
  return model.backward(saved, loss.d_logits, wanted).value();
}

TEST(CausalModelTest, GradientsOfParametersAreDifferencesOfTheLoss) {
  const CausalModel model = small_causal_model();
  const auto on = gates();
  const ModelGradients by =
      gradients_of(model, on, ModelWanted::params_and_gates);
  CausalReference reference(model);
  EXPECT_EQ(by.params.size(), reference.params().size());
  for (auto& [name, values] : reference.params()) {
    const auto& gradient = by.params.find(name)->second;
    ASSERT_EQ(gradient.size(), values.size()) << name;
    for (std::size_t n = 0; n < values.size(); n += 5) {
      const double value = values[n];
      values[n] = value + kStep;
      const double more = loss_of(reference, kGates, kTargets);
      values[n] = value - kStep;
      const double less = loss_of(reference, kGates, kTargets);
      values[n] = value;
      ASSERT_NEAR(gradient(n), (more - less) / (2 * kStep), 2e-6)
          << name << " " << n;
    }
  }
}

TEST(CausalModelTest, GradientsOfGatesAreGivenPerText) {
  const CausalModel model = small_causal_model();
  const auto on = gates();
  const ModelGradients by = gradients_of(model, on, ModelWanted::gates);
  EXPECT_THAT(by.params, IsEmpty());
  const CausalReference reference(model);
  for (std::size_t n = 0; n < 2; ++n) {
    ASSERT_EQ(by.head_gates[n].extents(), (Extents<2>{3, 3}));
    for (std::size_t h = 0; h < 3; ++h) {
      auto moved = kGates;
      moved[n][h] += kStep;
      const double more = loss_of(reference, moved, kTargets);
      moved[n][h] -= 2 * kStep;
      const double less = loss_of(reference, moved, kTargets);
      double sum = 0;
      for (std::size_t b = 0; b < 3; ++b) {
        sum += static_cast<double>(by.head_gates[n](b, h));
      }
      EXPECT_NEAR(sum, (more - less) / (2 * kStep), 2e-6) << n << "." << h;
    }
  }
}

TEST(CausalModelTest, RefusesWhatNoModelCanHave) {
  const auto refused = [](const auto& change) {
    CausalConfig config = kSmallCausal;
    change(config);
    return CausalModel::create(
        config, parse_vocabulary(kSmallVocabulary, "vocab.txt").value(),
        Seed{3});
  };
  const auto about = [](const std::string& argument) {
    return HasError({.code = ErrorCode::invalid_argument,
                     .argument = "config." + argument});
  };
  EXPECT_THAT(refused([](CausalConfig& c) { c.num_layers = 0; }),
              about("num_layers"));
  EXPECT_THAT(refused([](CausalConfig& c) { c.num_heads = 0; }),
              about("num_heads"));
  EXPECT_THAT(refused([](CausalConfig& c) { c.layer_norm_eps = 0; }),
              about("layer_norm_eps"));
  EXPECT_THAT(refused([](CausalConfig& c) {
                c.kept_heads = {{0}, {1}};
              }),
              about("kept_heads"));
}

TEST(CausalModelTest, ASavedPassIsForOneBackwardPass) {
  const CausalModel model = small_causal_model();
  auto saved = model.forward_for_backward(kTexts).value();
  const auto d = Tensor<float, 2>::create({13, 14}).value();
  EXPECT_THAT(
      model.backward(saved, TensorView<const float, 2>(d.data(), {12, 14})),
      HasError({.code = ErrorCode::shape_mismatch,
                .operation = "causal_model",
                .argument = "d_logits"}));
  ASSERT_TRUE(model.backward(saved, d));
  EXPECT_THAT(model.backward(saved, d),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "causal_model",
                        .argument = "saved"}));
}

TEST(CausalModelTest, GradientsByLogitsMayHaveAnyStrides) {
  const CausalModel model = small_causal_model();
  std::vector<float> rows(13 * 14);
  std::vector<float> columns(13 * 14);
  for (std::size_t r = 0; r < 13; ++r) {
    for (std::size_t v = 0; v < 14; ++v) {
      const auto d = static_cast<float>((r * 5 + v * 3) % 7) - 3;
      rows[r * 14 + v] = columns[v * 13 + r] = d;
    }
  }
  const auto by = [&](TensorView<const float, 2> d_logits) {
    auto saved = model.forward_for_backward(kTexts).value();
    return model.backward(saved, d_logits).value();
  };
  const auto expected = by({rows.data(), {13, 14}});
  const auto found = by({columns.data(), {13, 14}, {1, 13}});
  ASSERT_EQ(found.params.size(), expected.params.size());
  for (const auto& [name, gradient] : expected.params) {
    EXPECT_TRUE(
        same_bits(found.params.at(name).elements(), gradient.elements()))
        << name;
  }
}

// ---- As a text model. ----

TEST(CausalModelTest, SaysWhatItIs) {
  const CausalModel model = small_causal_model();
  EXPECT_EQ(model.shape().num_layers, 2u);
  EXPECT_EQ(model.shape().num_heads, 3u);
  EXPECT_EQ(model.shape().max_tokens, 7u);
  EXPECT_EQ(model.shape().added_tokens, 0u);
  EXPECT_TRUE(model.shape().causal);
  EXPECT_THAT(model.heads_in(1), ElementsAre(0, 1, 2));
}

TEST(CausalModelTest, WordsArePartedByWhiteSpace) {
  const CausalModel model = small_causal_model();
  const auto tokens = model.encode("\twe see\r\n heads  Heads \x0b", 7).value();
  EXPECT_THAT(tokens.ids, ElementsAre(8, 9, 5, 1));
  EXPECT_EQ(tokens.cut, 0u);
  const auto cut = model.encode("a a a why", 3).value();
  EXPECT_THAT(cut.ids, ElementsAre(11, 11, 11));
  EXPECT_EQ(cut.cut, 1u);
  EXPECT_THAT(model.encode(" \n", 7).value().ids, IsEmpty());
  EXPECT_THAT(model.encode("we \xff", 7), HasError({.code = ErrorCode::bad_data,
                                                    .operation = "encode",
                                                    .argument = "text",
                                                    .given = {"UTF-8"}}));
}

TEST(CausalModelTest, APassShowsTheNormalisedInputsOfTheLayers) {
  const CausalModel model = small_causal_model();
  std::vector<std::size_t> seen;
  const auto look = [&](std::size_t layer, TensorView<const float, 3> input) {
    seen.push_back(layer);
    EXPECT_EQ(input.extents(), (Extents<3>{1, 13, 12}));
    for (std::size_t row = 0; row < 13; ++row) {
      double sum = 0;
      double squares = 0;
      for (std::size_t e = 0; e < 12; ++e) {
        const double value = input(0, row, e);
        sum += value;
        squares += value * value;
      }
      EXPECT_NEAR(sum, 0, 1e-5);
      EXPECT_NEAR(squares, 12, 1e-3);
    }
    return ok();
  };
  ASSERT_TRUE(model.run(kTexts, {.before_each = look}));
  EXPECT_THAT(seen, ElementsAre(0, 1));
  seen.clear();
  ASSERT_TRUE(model.run(kTexts, {.before_layer = 1, .before_each = look}));
  EXPECT_THAT(seen, ElementsAre(0));
}

// ---- From a layer on, and with hooks. ----

TEST(CausalModelTest, APassFromALayerGoesOnWhereAnotherStopped) {
  const CausalModel model = small_causal_model();
  std::vector<Tensor<float, 2>> entries;
  const auto whole =
      model
          .hidden(kTexts,
                  {.see_entries =
                       [&](std::size_t, TensorView<const float, 3> x) {
                         entries.push_back(
                             Tensor<float, 2>::create({13, 12}).value());
                         std::copy_n(x.data(), x.size(), entries.back().data());
                         return ok();
                       }})
          .value();
  ASSERT_EQ(entries.size(), 2u);
  for (std::size_t n = 0; n < 2; ++n) {
    const auto rest =
        model.hidden(kTexts, {.from = LayerEntry{n, entries[n].view()}})
            .value();
    EXPECT_TRUE(same_bits(rest.elements(), whole.elements()));
  }
  const auto logits = model.unembed(whole).value();
  EXPECT_TRUE(
      same_bits(logits.elements(), model.logits(kTexts).value().elements()));
  EXPECT_THAT(model.hidden(kTexts, {.from = LayerEntry{3, whole.view()}}),
              HasError({.code = ErrorCode::out_of_range,
                        .operation = "causal_model",
                        .argument = "from.layer"}));
  EXPECT_THAT(model.hidden({{5}}, {.from = LayerEntry{1, whole.view()}}),
              HasError({.code = ErrorCode::shape_mismatch,
                        .operation = "causal_model",
                        .argument = "from.hidden"}));
  EXPECT_THAT(model.unembed(TensorView<const float, 2>(whole.data(), {12, 13})),
              HasError({.code = ErrorCode::shape_mismatch,
                        .operation = "causal_model",
                        .argument = "hidden"}));
}

TEST(CausalModelTest, AHookThatFillsAHeadWithZeroIsAGateOfZero) {
  const CausalModel model = small_causal_model();
  std::vector<Tensor<float, 1>> off = gates();
  for (auto& layer : off) {
    std::ranges::fill(layer.elements(), 1.0f);
  }
  off[1](2) = 0;
  const ModelHooks zero{
      .edit = [](std::size_t layer, const HeadContext& heads) {
        for (std::size_t row = 0; layer == 1 && row < 13; ++row) {
          for (std::size_t d = 0; d < 4; ++d) {
            heads.context(0, row, 2, d) = 0;
          }
        }
        return ok();
      }};
  EXPECT_TRUE(
      same_bits(model.logits(kTexts, {.hooks = zero}).value().elements(),
                model.logits(kTexts, {.head_gates = off}).value().elements()));
  EXPECT_THAT(model.forward_for_backward(kTexts, {.hooks = zero}),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "causal_model",
                        .argument = "hooks.edit"}));
}

TEST(CausalModelTest, HooksSeeContextsAndTheirGradients) {
  const CausalModel model = small_causal_model();
  std::vector<Tensor<float, 1>> on = gates();
  for (auto& layer : on) {
    std::ranges::fill(layer.elements(), 1.0f);
  }
  ContextGradients seen(2, 3);
  auto saved = model
                   .forward_for_backward(
                       kTexts, {.head_gates = on, .hooks = seen.hooks()})
                   .value();
  const auto d = uniform<2>({13, 14}, 77);
  seen.expect_sums_of(
      model.backward(saved, d, ModelWanted::gates).value().head_gates);
}

TEST(CausalModelTest, RefusesWhatItCannotRun) {
  const CausalModel model = small_causal_model();
  EXPECT_THAT(model.run({{14}}, {}), HasError({.code = ErrorCode::out_of_range,
                                               .argument = "tokens[0][0]",
                                               .given = {"14"},
                                               .expected = {"13"}}));
  EXPECT_THAT(model.run({{}, RaggedTokens::value_type(8, 5)}, {}),
              HasError({.code = ErrorCode::out_of_range,
                        .operation = "causal_model",
                        .argument = "tokens[1]",
                        .given = {"8"},
                        .expected = {"7"}}));
  EXPECT_THAT(model.run({}, {.before_layer = 3}),
              HasError({.code = ErrorCode::out_of_range,
                        .operation = "causal_model",
                        .argument = "before_layer"}));
  auto on = gates();
  on[1] = Tensor<float, 1>::create({2}).value();
  EXPECT_THAT(model.run({}, {.head_gates = on}),
              HasError({.code = ErrorCode::shape_mismatch,
                        .operation = "causal_model",
                        .argument = "head_gates[1]"}));
  on.pop_back();
  EXPECT_THAT(model.run({}, {.head_gates = on}),
              HasError({.code = ErrorCode::shape_mismatch,
                        .operation = "causal_model",
                        .argument = "head_gates"}));
  EXPECT_EQ(model.logits({}).value().extents(), (Extents<2>{0, 14}));
}

// ---- Files. ----

class CausalFolderTest : public testing::Test {
 protected:
  CausalFolderTest() { EXPECT_TRUE(model_.write(folder_.path())); }

  void put(std::string_view name, std::string_view text) {
    put_file(folder_ / name, bytes_of(text));
  }

  TempFolder folder_;
  CausalModel model_ = small_causal_model();
};

TEST_F(CausalFolderTest, WhatIsWrittenIsRead) {
  const auto read = CausalModel::read(folder_.path()).value();
  EXPECT_TRUE(same_bits(read.logits(kTexts).value().elements(),
                        model_.logits(kTexts).value().elements()));
  EXPECT_EQ(read.config().layer_norm_eps, kSmallCausal.layer_norm_eps);
  const auto any = read_text_model(folder_.path()).value();
  EXPECT_TRUE(any->shape().causal);
  EXPECT_EQ(any->token(8), "we");
}

// A folder blocks the place of the parameters. The vocabulary, which is written
// before them, must not be replaced either.
TEST_F(CausalFolderTest, AFailureLeavesTheOldModel) {
  put("vocab.txt", "of the old model");
  std::filesystem::remove(folder_ / "model.safetensors");
  std::filesystem::create_directory(folder_ / "model.safetensors");
  EXPECT_THAT(model_.write(folder_.path()),
              IsFileError(ErrorCode::io_error, folder_ / "model.safetensors"));
  EXPECT_EQ(file_bytes(folder_ / "vocab.txt"), bytes_of("of the old model"));
  EXPECT_EQ(folder_.count(), 3u);
}

TEST_F(CausalFolderTest, FilesThatItDoesNotWriteStay) {
  const std::vector<std::string> keep = {"checkpoint.npz", "texts.txt", "none"};
  std::vector<std::string> names = {"checkpoint.npz"};
  // The folder is replaced as a whole, and then file by file.
  for (const std::string name :
       {"texts.txt", "tokenizer.json", "classifier.safetensors",
        "mine/config.json", "mine/model.safetensors"}) {
    std::filesystem::create_directory(folder_ / "mine");
    names.push_back(name);
    for (const std::string& other : names) {
      put(other, "mine");
    }
    put("config.json", "of the old model");
    ASSERT_TRUE(model_.write(folder_.path(), keep));
    for (const std::string& other : names) {
      EXPECT_EQ(file_bytes(folder_ / other), bytes_of("mine")) << other;
    }
    EXPECT_TRUE(CausalModel::read(folder_.path()));
  }
}

// A folder in place of a file of the model stops the move. A link in its place
// is replaced, and the file that it names stays.
TEST_F(CausalFolderTest, AModelThatCannotMoveInLeavesTheOldOne) {
  put("notes.txt", "mine");
  put("vocab.txt", "of the old model");
  put("config.json", "of the old model");
  put("checkpoint.npz", "of a run");
  std::filesystem::remove(folder_ / "model.safetensors");
  std::filesystem::create_directory(folder_ / "model.safetensors");
  EXPECT_FALSE(model_.write(folder_.path()));
  for (const std::string name : {"vocab.txt", "config.json"}) {
    EXPECT_EQ(file_bytes(folder_ / name), bytes_of("of the old model"));
  }
  std::filesystem::remove(folder_ / "model.safetensors");
  std::filesystem::create_symlink("elsewhere", folder_ / "model.safetensors");
  put("elsewhere", "mine");
  ASSERT_TRUE(model_.write(folder_.path()));
  EXPECT_EQ(file_bytes(folder_ / "elsewhere"), bytes_of("mine"));
  EXPECT_TRUE(CausalModel::read(folder_.path()));
}

TEST_F(CausalFolderTest, OnlyNamesOfFilesThatItDoesNotWriteAreKept) {
  put("vocab.txt", "of the old model");
  const std::vector<std::string> written = {"config.json", "vocab.txt"};
  ASSERT_TRUE(model_.write(folder_.path(), written));
  EXPECT_TRUE(CausalModel::read(folder_.path()));
  EXPECT_NE(file_bytes(folder_ / "vocab.txt"), bytes_of("of the old model"));
  for (const std::string name : {"../x", "a/b", ".."}) {
    const std::vector<std::string> keep = {name};
    EXPECT_THAT(model_.write(folder_.path(), keep),
                HasError({.code = ErrorCode::invalid_argument,
                          .operation = "causal_model",
                          .argument = "keep",
                          .given = {name}}))
        << name;
  }
}

TEST_F(CausalFolderTest, PrunedHeadsAreLeftOutOfTheFile) {
  const auto whole = small_causal_model();
  std::vector<KeptAttention> kept;
  kept.push_back({0,
                  remove_heads(model_.attention(0), std::vector<std::size_t>{1},
                               ConstantPart::dropped)
                      .value(),
                  {0, 2}});
  kept.push_back(
      {1,
       remove_heads(model_.attention(1), std::vector<std::size_t>{0, 1, 2},
                    ConstantPart::dropped)
           .value(),
       {}});
  ASSERT_TRUE(model_.replace_attention(kept));
  ASSERT_TRUE(model_.write(folder_.path()));
  const auto read = CausalModel::read(folder_.path()).value();
  EXPECT_THAT(read.heads_in(0), ElementsAre(0, 2));
  EXPECT_THAT(read.heads_in(1), IsEmpty());
  EXPECT_EQ(read.shape().num_heads, 3u);
  std::vector<Tensor<float, 1>> off;
  off.push_back(Tensor<float, 1>::create({3}).value());
  off.push_back(Tensor<float, 1>::create({3}).value());
  off[0](0) = 1;
  off[0](2) = 1;
  const auto expected = whole.logits(kTexts, {.head_gates = off}).value();
  const auto got = read.logits(kTexts).value();
  for (std::size_t n = 0; n < got.size(); ++n) {
    EXPECT_NEAR(got.data()[n], expected.data()[n], 1e-5);
  }
}

TEST_F(CausalFolderTest, RefusesHeadsThatItDoesNotHaveOrOutOfOrder) {
  for (const std::vector<std::size_t>& heads :
       {std::vector<std::size_t>{0, 3}, std::vector<std::size_t>{2, 0},
        std::vector<std::size_t>{1, 1}}) {
    std::vector<KeptAttention> kept;
    kept.push_back(
        {0,
         remove_heads(model_.attention(0), std::vector<std::size_t>{1},
                      ConstantPart::dropped)
             .value(),
         heads});
    EXPECT_EQ(model_.replace_attention(kept).error().code(),
              ErrorCode::out_of_range);
  }
  EXPECT_THAT(model_.heads_in(0), ElementsAre(0, 1, 2));
}

TEST_F(CausalFolderTest, FaultyFilesAreNamed) {
  put("config.json",
      R"({"model_type": "headwise-causal", "vocab_size": 14, "hidden_size": 12,
          "num_hidden_layers": 2, "num_attention_heads": 5,
          "max_position_embeddings": 7})");
  EXPECT_THAT(CausalModel::read(folder_.path()),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "read_causal_model",
                        .file = folder_ / "config.json",
                        .entry = "num_attention_heads",
                        .given = {"5"},
                        .expected = {"hidden_size = 12"}}));
  put("config.json",
      R"({"model_type": "headwise-causal", "vocab_size": 14, "hidden_size": 12,
          "num_hidden_layers": 2, "num_attention_heads": 3,
          "max_position_embeddings": 9})");
  EXPECT_THAT(CausalModel::read(folder_.path()),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "read_causal_model",
                        .file = folder_ / "model.safetensors",
                        .entry = "position.weight",
                        .given = {"(7, 12)"},
                        .expected = {"(9, 12)"}}));
  put("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n");
  EXPECT_THAT(CausalModel::read(folder_.path()),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "read_causal_model",
                        .argument = "vocabulary",
                        .given = {"5"},
                        .expected = {"14"}}));
}

}  // namespace
}  // namespace headwise::testing_support
