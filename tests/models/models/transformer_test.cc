#include "headwise/transformer/transformer.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "models/bert_reference.h"
#include "models/small_model.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

const RaggedTokens kIds = {{2, 5, 9, 3}, {2, 3}, {2, 13, 0, 1, 5, 6, 7, 8, 3}};

class TransformerTest : public testing::TestWithParam<SmallFamily> {
 protected:
  Result<Transformer> read(const Params& params,
                           const std::string& prefix = "") {
    EXPECT_TRUE(write_params(folder_ / "model.safetensors", params, prefix));
    return read_small(folder_, config_);
  }
  // The model's file is refused: the error is about this entry, or about the
  // whole, and names these values.
  auto IsBad(std::string entry, std::vector<std::string> given,
             std::vector<std::string> expected = {}) const {
    return HasError({.code = ErrorCode::bad_data,
                     .operation = "read_transformer",
                     .file = folder_ / "model.safetensors",
                     .entry = std::move(entry),
                     .given = std::move(given),
                     .expected = std::move(expected)});
  }

  TempFolder folder_;
  SmallConfig config_ = small_config(GetParam());
  Params params_ = small_params(config_);
};

TEST_P(TransformerTest, TokensOfTheSecondSentenceHaveTheirOwnType) {
  const Transformer encoder = read(params_).value();
  RaggedTokens types;
  for (const auto& ids : kIds) {
    types.emplace_back(ids.size(), 0);
    types.back().back() = 1;
  }
  const auto typed = encoder.hidden(kIds, {.token_types = types});
  if (config_.type_vocab_size == 0) {
    EXPECT_THAT(typed, HasError({.code = ErrorCode::out_of_range,
                                 .argument = "token_types[0]"}));
    return;
  }
  const BertReference reference(config_, params_);
  std::size_t row = 0;
  for (std::size_t b = 0; b < kIds.size(); ++b) {
    for (const auto& expected : reference.forward(kIds[b], nullptr, types[b])) {
      for (std::size_t e = 0; e < expected.size(); ++e) {
        EXPECT_NEAR((*typed)(row, e), expected[e], 1e-5);
      }
      ++row;
    }
  }
  // Types of 0 are none.
  for (auto& of_sequence : types) {
    of_sequence.back() = 0;
  }
  EXPECT_TRUE(same_bits(*encoder.hidden(kIds, {.token_types = types}),
                        *encoder.hidden(kIds)));
}

TEST_P(TransformerTest, TokenTypesThatDoNotFitAreRefused) {
  const Transformer encoder = read(params_).value();
  EXPECT_THAT(
      encoder.hidden(kIds, {.token_types = RaggedTokens{{0, 0, 0, 0}}}),
      HasError({.code = ErrorCode::shape_mismatch, .argument = "token_types"}));
  RaggedTokens types = {{0, 0, 0, 0}, {0}, {0, 0, 0, 0, 0, 0, 0, 0, 0}};
  EXPECT_THAT(encoder.hidden(kIds, {.token_types = types}),
              HasError({.code = ErrorCode::shape_mismatch,
                        .argument = "token_types[1]"}));
  types[1] = {0, 2};
  EXPECT_THAT(encoder.hidden(kIds, {.token_types = types}),
              HasError({.code = ErrorCode::out_of_range,
                        .argument = "token_types[1]"}));
  types[1] = {-1, 0};
  EXPECT_THAT(encoder.hidden(kIds, {.token_types = types}),
              HasError({.code = ErrorCode::out_of_range,
                        .argument = "token_types[1]"}));
}

TEST_P(TransformerTest, HiddenStatesAndAttentionWeightsAreThoseInDouble) {
  const Transformer encoder = read(params_).value();
  const auto hidden = encoder.hidden(kIds).value();
  const auto attn_weights = weights_of(encoder, kIds);
  ASSERT_EQ(hidden.extents(), (Extents<2>{15, 12}));
  ASSERT_EQ(attn_weights.size(), 2u);
  const BertReference reference(config_, params_);
  std::size_t row = 0;
  for (std::size_t b = 0; b < kIds.size(); ++b) {
    std::vector<std::vector<BertReference::Rows>> weights;
    for (const auto& expected : reference.forward(kIds[b], &weights)) {
      for (std::size_t e = 0; e < expected.size(); ++e) {
        EXPECT_NEAR(hidden(row, e), expected[e], 1e-5);
      }
      ++row;
    }
    for (std::size_t n = 0; n < 2; ++n) {
      for (std::size_t h = 0; h < 3; ++h) {
        for (std::size_t i = 0; i < 9; ++i) {
          for (std::size_t j = 0; j < 9; ++j) {
            const bool inside = i < kIds[b].size() && j < kIds[b].size();
            EXPECT_NEAR(attn_weights[n](b, h, i, j),
                        inside ? weights[n][h][i][j] : 0, 1e-5);
          }
        }
      }
    }
  }
}

TEST_P(TransformerTest, ASequenceHasTheSameBitsInAnyBatchOnAnyThreads) {
  const Transformer encoder = read(params_).value();
  const Tensor<float, 2> together = encoder.hidden(kIds).value();
  const Executor three = Executor::with_threads(3).value();
  EXPECT_TRUE(
      same_bits(encoder.hidden(kIds, {.executor = &three}).value(), together));
  const auto see = [](const AttentionPlace&, TensorView<const float, 4>) {
    return ok();
  };
  EXPECT_TRUE(same_bits(encoder.hidden(kIds, {.see_attn_weights = see}).value(),
                        together));
  std::size_t row = 0;
  for (const auto& sequence : kIds) {
    const auto alone = encoder.hidden({sequence}).value();
    EXPECT_TRUE(
        same_bits(alone.elements(), {&together(row, 0), sequence.size() * 12}));
    row += sequence.size();
  }
}

TEST_P(TransformerTest, TheStatesBeforeALayerAreWhatItTakes) {
  const Transformer encoder = read(params_).value();
  const auto weights = weights_of(encoder, {kIds[0]});
  for (std::size_t n = 0; n < 2; ++n) {
    const auto before = encoder.hidden({kIds[0]}, {.before_layer = n}).value();
    const TensorView<const float, 3> x(before.data(), {1, 4, 12});
    const auto result =
        encoder.attention(n)
            .forward(x, x, x, {.attn_weights = AttnWeights::per_head})
            .value();
    EXPECT_TRUE(same_bits(result.attn_weights, weights[n]));
  }
  EXPECT_TRUE(same_bits(encoder.hidden({kIds[0]}, {.before_layer = 2}).value(),
                        encoder.hidden({kIds[0]}).value()));
}

TEST_P(TransformerTest, ACallFromALayerGoesOnWhereAnotherStopped) {
  const Transformer encoder = read(params_).value();
  const auto whole = encoder.hidden(kIds).value();
  for (std::size_t n = 0; n <= 2; ++n) {
    const auto before = encoder.hidden(kIds, {.before_layer = n}).value();
    std::vector<std::size_t> run;
    const auto rest = encoder.hidden(
        kIds,
        {.from = LayerEntry{n, before.view()},
         .before_each = [&](std::size_t layer, TensorView<const float, 3>) {
           run.push_back(layer);
           return ok();
         }});
    ASSERT_TRUE(rest);
    EXPECT_EQ(run.size(), 2 - n);
    EXPECT_TRUE(same_bits(*rest, whole)) << n;
  }
}

TEST_P(TransformerTest, AnEntryThatDoesNotFitIsRefused) {
  const Transformer encoder = read(params_).value();
  const auto hidden = encoder.hidden(kIds, {.before_layer = 1}).value();
  EXPECT_THAT(encoder.hidden(kIds, {.from = LayerEntry{3, hidden.view()}}),
              HasError({.code = ErrorCode::out_of_range,
                        .argument = "from.layer",
                        .given = {"3"},
                        .expected = {"at most 2"}}));
  EXPECT_THAT(
      encoder.hidden({kIds[0]}, {.from = LayerEntry{1, hidden.view()}}),
      HasError({.code = ErrorCode::shape_mismatch, .argument = "from.hidden"}));
}

TEST_P(TransformerTest, HooksSeeAndChangeTheContextOfEachLayer) {
  const Transformer encoder = read(params_).value();
  std::vector<std::size_t> seen;
  const ModelHooks looks{
      .edit = [&](std::size_t layer, const HeadContext& heads) {
        seen.push_back(layer);
        EXPECT_EQ(heads.context.extent(2), 3);
        return ok();
      }};
  EXPECT_TRUE(same_bits(encoder.hidden(kIds, {.hooks = looks}).value(),
                        encoder.hidden(kIds).value()));
  EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1}));
  std::vector<Tensor<float, 1>> gates;
  gates.push_back(tensor_of<float, 1>({3}, {1, 1, 1}));
  gates.push_back(tensor_of<float, 1>({3}, {1, 0, 1}));
  const ModelHooks zeros{
      .edit = [](std::size_t layer, const HeadContext& heads) {
        const auto [B, L, H, D] = heads.context.extents();
        for (std::size_t l = 0; layer == 1 && l < L; ++l) {
          for (std::size_t d = 0; d < D; ++d) {
            heads.context(0, l, 1, d) = 0;
          }
        }
        return ok();
      }};
  EXPECT_TRUE(same_bits(encoder.hidden(kIds, {.hooks = zeros}).value(),
                        encoder.hidden(kIds, {.head_gates = gates}).value()));
}

TEST_P(TransformerTest, WhoeverLooksOnIsShownWhatEachLayerTakes) {
  const auto encoder = read(params_).value();
  std::vector<std::size_t> seen;
  const auto look = [&](std::size_t layer, TensorView<const float, 3> hidden) {
    seen.push_back(layer);
    const auto before = encoder.hidden(kIds, {.before_layer = layer}).value();
    EXPECT_EQ(hidden.extents(),
              (Extents<3>{1, before.extent(0), before.extent(1)}));
    EXPECT_TRUE(std::equal(before.elements().begin(), before.elements().end(),
                           hidden.data()));
    return ok();
  };
  const auto result = encoder.hidden(kIds, {.before_each = look}).value();
  EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1}));
  EXPECT_TRUE(same_bits(result, encoder.hidden(kIds).value()));

  const auto refuse = [](std::size_t layer, TensorView<const float, 3>) {
    return layer == 1 ? Status(Error{ErrorCode::bad_data, {.given = "enough"}})
                      : ok();
  };
  EXPECT_THAT(encoder.hidden(kIds, {.before_each = refuse}),
              HasError({.code = ErrorCode::bad_data, .given = {"enough"}}));
}

TEST_P(TransformerTest, NamesMayHaveTheModelsPrefixAndTheNormsTheirOldNames) {
  const auto expected = read(params_).value().hidden(kIds).value();
  Params old;
  for (auto& [name, param] : params_) {
    std::string renamed = name;
    if (name.find("orm.") != std::string::npos) {
      const bool weight = name.ends_with(".weight");
      renamed.replace(renamed.rfind('.'), std::string::npos,
                      weight ? ".gamma" : ".beta");
    }
    old.emplace(renamed, clone(param));
  }
  const std::string prefix =
      GetParam() == SmallFamily::bert ? "bert." : "distilbert.";
  const auto encoder = read(old, prefix).value();
  EXPECT_TRUE(same_bits(encoder.hidden(kIds).value(), expected));
}

TEST_P(TransformerTest, AnEmptyBatchAndEmptySequencesAreLegal) {
  const Transformer encoder = read(params_).value();
  EXPECT_EQ(encoder.hidden({}).value().extents(), (Extents<2>{0, 12}));
  EXPECT_EQ(encoder.hidden({{}, {}}).value().extents(), (Extents<2>{0, 12}));
  EXPECT_TRUE(same_bits(encoder.hidden({{}, kIds[0], {}}).value(),
                        encoder.hidden({kIds[0]}).value()));
}

TEST_P(TransformerTest, IdsAndLengthsAndLayersAreChecked) {
  const Transformer encoder = read(params_).value();
  const auto is_beyond = [](std::string argument, std::string given,
                            std::string expected) {
    return HasError({.code = ErrorCode::out_of_range,
                     .argument = std::move(argument),
                     .given = {std::move(given)},
                     .expected = {std::move(expected)}});
  };
  EXPECT_THAT(encoder.hidden({{1}, {2, 14}}),
              is_beyond("tokens[1][1]", "14", "13"));
  EXPECT_THAT(encoder.hidden({{1}, std::vector<TokenId>(10, 1)}),
              is_beyond("tokens[1]", "10", "9"));
  EXPECT_THAT(encoder.hidden({{1}}, {.before_layer = 3}),
              is_beyond("before_layer", "3", "2"));
}

TEST_P(TransformerTest, AParameterThatIsMissingIsNamed) {
  for (const char* end :
       {"word_embeddings.weight", "position_embeddings.weight"}) {
    Params params = small_params(config_);
    params.erase("embeddings." + std::string(end));
    EXPECT_THAT(read(params), IsBad("", {"embeddings." + std::string(end)}));
  }
  const auto names = part_names(GetParam(), 1);
  for (const auto& name : {names.attention_norm, names.intermediate,
                           names.output, names.output_norm, names.k}) {
    for (const char* part : {".weight", ".bias"}) {
      Params params = small_params(config_);
      params.erase(name + part);
      EXPECT_THAT(read(params), IsBad("", {name + part}));
    }
  }
}

TEST_P(TransformerTest, AParameterOfAnotherSizeIsNamedWithTheRightOne) {
  const auto names = part_names(GetParam(), 0);
  Params params = small_params(config_);
  params.at(names.output + ".weight") = uniform<2>({12, 19}, 1);
  EXPECT_THAT(read(params),
              IsBad(names.output + ".weight", {"(12, 19)"}, {"(12, 20)"}));
  params = small_params(config_);
  params.at("embeddings.word_embeddings.weight") = uniform<2>({13, 12}, 1);
  EXPECT_THAT(read(params), IsBad("embeddings.word_embeddings.weight",
                                  {"(13, 12)"}, {"(14, 12)"}));
}

TEST_P(TransformerTest, AnotherNumberOfLayersIsAnError) {
  config_.num_layers = 3;
  EXPECT_THAT(read(params_), IsBad("", {"layer.2."}));
  config_.num_layers = 1;
  EXPECT_THAT(read(params_), IsBad("", {"layer.1."}, {"1", "config.json"}));
}

TEST_P(TransformerTest, ParametersThatAreNotFiniteAreNamed) {
  const auto names = part_names(GetParam(), 1);
  for (const auto& name : {names.q + ".weight", names.intermediate + ".bias",
                           std::string("embeddings.word_embeddings.weight")}) {
    Params params = small_params(config_);
    params.at(name).data()[3] = std::numeric_limits<float>::infinity();
    EXPECT_THAT(read(params), IsBad(name, {"inf"}, {"finite"}));
  }
}

TEST_P(TransformerTest, TheFileMayGoOrBeReplacedOnceItWasRead) {
  const Transformer mapped = read(params_).value();
  const Transformer whole =
      read_small(folder_, config_, {.file = FileAccess::read}).value();
  const auto before = mapped.hidden(kIds).value();
  Params zeros = small_params(config_);
  for (auto& [name, param] : zeros) {
    std::ranges::fill(param.elements(), 0.0f);
  }
  ASSERT_TRUE(write_params(folder_ / "model.safetensors", zeros));
  const auto replaced = mapped.hidden(kIds).value();
  std::filesystem::remove(folder_ / "model.safetensors");
  EXPECT_TRUE(same_bits(before.elements(), replaced.elements()));
  EXPECT_TRUE(
      same_bits(before.elements(), mapped.hidden(kIds).value().elements()));
  EXPECT_TRUE(
      same_bits(before.elements(), whole.hidden(kIds).value().elements()));
}

// Words that cannot stay in the file's bytes.
TEST_P(TransformerTest, WordsOfAnotherTypeAreWidened) {
  Params params = small_params(config_);
  Tensor<float, 2>& word = params.at("embeddings.word_embeddings.weight");
  std::vector<double> wide(word.elements().begin(), word.elements().end());
  const auto expected = read(params).value().hidden(kIds).value();
  std::map<std::string, AnyView> views;
  for (const auto& [name, param] : params) {
    views.emplace(name, param);
    if (param.extent(0) == 1) {
      views[name] = TensorView<const float, 1>(param.data(), {param.extent(1)});
    }
  }
  views["embeddings.word_embeddings.weight"] =
      TensorView<const double, 2>(wide.data(), word.extents());
  ASSERT_TRUE(write_safetensors(folder_ / "model.safetensors", views));
  const auto given = read_small(folder_, config_).value().hidden(kIds).value();
  EXPECT_TRUE(same_bits(expected.elements(), given.elements()));
}

TEST_P(TransformerTest, AFolderWithoutParametersSaysWhatItLacks) {
  const auto lacks = [&](std::vector<std::string> given) {
    return HasError({.code = ErrorCode::bad_data,
                     .operation = "read_transformer",
                     .file = folder_.path(),
                     .given = std::move(given)});
  };
  EXPECT_THAT(
      read_small(folder_, config_),
      lacks({"model.safetensors", "model.safetensors.index.json", "NAME.npy"}));
  put_file(folder_ / "pytorch_model.bin", bytes_of("x"));
  EXPECT_THAT(read_small(folder_, config_), lacks({"pytorch_model.bin"}));
}

INSTANTIATE_TEST_SUITE_P(Families, TransformerTest, both_families(),
                         family_name);

}  // namespace
}  // namespace headwise::testing_support
