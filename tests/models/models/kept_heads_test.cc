// Models of which heads were pruned: what their file says of it, and that they
// compute what all heads with gates of 0 do.
#include "transformer/kept_heads.h"

#include <string>
#include <vector>

#include "headwise/models/text_model.h"
#include "models/bert_reference.h"
#include "models/pruned_model.h"
#include "models/small_model.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

const RaggedTokens kIds = {{2, 5, 9, 3}, {2, 3}, {2, 13, 0, 1, 5, 6, 7, 8, 3}};
const KeptHeads kKept = {{0, 2}, {}};
const BertReference::Rows kKeptGates = {{1, 0, 1}, {0, 0, 0}};

// ---- The metadata. ----

Status read(const SafetensorsMetadata& metadata, KeptHeads& kept) {
  return read_kept_heads(metadata, {"", "file"}, 2, 3, kept);
}

// The metadata are refused, and the error names these values.
void expect_refused(const SafetensorsMetadata& metadata,
                    const std::string& given, const std::string& expected) {
  KeptHeads kept;
  EXPECT_THAT(read(metadata, kept),
              HasError({.code = ErrorCode::bad_data,
                        .file = "file",
                        .entry = "__metadata__.kept_heads",
                        .given = {given},
                        .expected = {expected}}));
  EXPECT_TRUE(kept.empty());
}

TEST(KeptHeadsTest, WhatIsWrittenIsRead) {
  for (const KeptHeads& kept :
       {KeptHeads{{0, 2}, {}}, KeptHeads{{1}, {0, 1, 2}}, KeptHeads{}}) {
    SafetensorsMetadata metadata = {{"format", "pt"}, {"kept_heads", "old"}};
    write_kept_heads(kept, metadata);
    EXPECT_EQ(metadata.size(), kept.empty() ? 1u : 3u);
    KeptHeads got;
    ASSERT_TRUE(read(metadata, got));
    EXPECT_EQ(got, kept);
  }
  SafetensorsMetadata metadata;
  write_kept_heads(kKept, metadata);
  EXPECT_EQ(metadata.at("num_heads"), "[2,0]");
  EXPECT_EQ(metadata.at("kept_heads"), "[[0,2],[]]");
}

TEST(KeptHeadsTest, TheNumbersAloneAreEnough) {
  KeptHeads kept;
  ASSERT_TRUE(read({{"kept_heads", " [ [ 0 , 2 ] , [ ] ] "}}, kept));
  EXPECT_EQ(kept, kKept);
}

TEST(KeptHeadsTest, WhatIsNoListOfHeadsIsNamed) {
  const std::string deep(100000, '[');
  for (const std::string text : {"",
                                 "heads",
                                 "null",
                                 "3",
                                 "{}",
                                 "[[0], [1]",
                                 "[[0], [1]] 2",
                                 "[0, 1]",
                                 "[[0], 1]",
                                 "[[0], [\"1\"]]",
                                 "[[0], [[1]]]",
                                 "[[0], {\"1\": 2}]",
                                 "[[-1], [1]]",
                                 "[[0.5], [1]]",
                                 "[[1e3], [1]]",
                                 "[[18446744073709551616], [1]]",
                                 "[[0]]",
                                 "[[0], [1], [2]]",
                                 "[]",
                                 "[[0, 1, 2, 3], []]",
                                 "[[0], [1]\x01]"}) {
    expect_refused({{"kept_heads", text}},
                   "is " + (text.ends_with("\x01]") ? "[[0], [1]\\x01]" : text),
                   "2");
  }
  expect_refused({{"kept_heads", deep}}, "[[[", "2");
  KeptHeads kept;
  const Status s = read({{"kept_heads", deep}}, kept);
  ASSERT_FALSE(s);
  EXPECT_LT(s.error().message().size(), 400u);
}

TEST(KeptHeadsTest, HeadsThatAreNotThereOrOutOfOrderAreNamed) {
  for (const std::string text : {"[[3], []]", "[[0, 18446744073709551615], []]",
                                 "[[], [1, 0]]", "[[1, 1], [0]]"}) {
    expect_refused({{"kept_heads", text}}, text, "num_heads = 3");
  }
}

TEST(KeptHeadsTest, AnotherNumberOfHeadsIsNamed) {
  for (const std::string counts :
       {"[2, 1]", "[2]", "[2, 0, 0]", "[2, 0], [1]", "[]", "2", "two", "",
        "[[2, 0]]", "[2.0, 0]"}) {
    expect_refused({{"kept_heads", "[[0, 2], []]"}, {"num_heads", counts}},
                   "[[0, 2], []]", "num_heads, " + counts);
  }
}

// ---- Models. ----

class PrunedModelTest : public testing::TestWithParam<SmallFamily> {
 protected:
  void put(const Params& params, const SafetensorsMetadata& metadata) {
    EXPECT_TRUE(write_params(path(), params, "", metadata));
  }
  void put_pruned(const KeptHeads& kept = kKept) {
    SafetensorsMetadata metadata;
    write_kept_heads(kept, metadata);
    put(pruned(params_, config_, kept), metadata);
  }
  std::string path() const { return folder_ / "model.safetensors"; }
  Result<Transformer> read_as(ModelUse use) {
    return read_small(folder_, config_, {.use = use});
  }
  void expect_hidden_in_double(const Transformer& encoder,
                               const BertReference::Rows& gates) {
    const auto got = encoder.hidden(kIds).value();
    BertReference reference(config_, params_);
    reference.set_gates(gates);
    std::size_t row = 0;
    for (const auto& ids : kIds) {
      for (const auto& expected : reference.forward(ids)) {
        for (std::size_t e = 0; e < expected.size(); ++e) {
          EXPECT_NEAR(got(row, e), expected[e], 1e-5);
        }
        ++row;
      }
    }
  }
  // The model is refused: the error is about this entry of its file, or about
  // the whole, and names these values.
  void expect_refused_model(const std::string& entry,
                            const std::vector<std::string>& given,
                            const std::vector<std::string>& expected) {
    EXPECT_THAT(read_as(ModelUse::inference),
                HasError({.code = ErrorCode::bad_data,
                          .operation = "read_transformer",
                          .file = path(),
                          .entry = entry,
                          .given = given,
                          .expected = expected}));
  }
  std::string name_of(std::size_t layer, const std::string& part) const {
    const auto names = part_names(config_.family, layer);
    return part == "q"   ? names.q
           : part == "k" ? names.k
           : part == "v" ? names.v
                         : names.o;
  }

  TempFolder folder_;
  SmallConfig config_ = small_config(GetParam());
  Params params_ = small_params(config_);
};

TEST_P(PrunedModelTest, ItIsTheWholeModelWithGatesOfZero) {
  put_pruned();
  for (const ModelUse use : {ModelUse::inference, ModelUse::training}) {
    const Transformer encoder = read_as(use).value();
    EXPECT_EQ(heads_left(encoder), kKept);
    EXPECT_EQ(encoder.heads_in(0).size(), 2u);
    EXPECT_EQ(encoder.heads_in(1).size(), 0u);
    expect_hidden_in_double(encoder, kKeptGates);
  }
}

TEST_P(PrunedModelTest, ParametersHaveTheGradientsThatTheWholeModelHas) {
  put(params_, {});
  const Transformer whole = read_as(ModelUse::training).value();
  put_pruned();
  const Transformer cut = read_as(ModelUse::training).value();
  const auto d_hidden = uniform<2>({15, 12}, 90);
  std::vector<Tensor<float, 1>> zeros;
  for (const auto& layer : kKeptGates) {
    zeros.push_back(tensor_of<float, 1>({3}, {layer.begin(), layer.end()}));
  }
  auto of_whole =
      whole.forward_for_backward(kIds, {.head_gates = zeros}).value();
  auto of_cut = cut.forward_for_backward(kIds).value();
  const auto want = whole.backward(of_whole, d_hidden).value().params;
  const auto got = cut.backward(of_cut, d_hidden).value().params;
  Params wanted;
  for (const auto& [name, values] : params_) {
    wanted.emplace(name,
                   tensor_of<float, 2>(values.extents(),
                                       {want.at(name).data(),
                                        want.at(name).data() + values.size()}));
  }
  wanted = pruned(wanted, config_, kKept);
  ASSERT_EQ(got.size(), wanted.size());
  for (const auto& [name, gradient] : got) {
    EXPECT_TRUE(all_near(gradient.elements(),
                         std::as_const(wanted.at(name)).elements(), 2e-5))
        << name;
  }
}

TEST_P(PrunedModelTest, GatesAreThoseOfTheHeadsThatAreLeft) {
  put_pruned();
  const Transformer encoder = read_as(ModelUse::training).value();
  std::vector<Tensor<float, 1>> gates;
  gates.push_back(tensor_of<float, 1>({2}, {0.5f, 2}));
  gates.push_back(tensor_of<float, 1>({0}, {}));
  auto saved =
      encoder.forward_for_backward(kIds, {.head_gates = gates}).value();
  const auto d_hidden = uniform<2>({15, 12}, 90);
  const auto got = encoder.backward(saved, d_hidden).value().head_gates;
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].extents(), (Extents<2>{3, 2}));
  EXPECT_EQ(got[1].extents(), (Extents<2>{3, 0}));
  EXPECT_EQ(encoder.hidden(kIds, {.head_gates = gates}).value().extents(),
            (Extents<2>{15, 12}));
}

TEST_P(PrunedModelTest, AnotherAttentionTakesAHeadAway) {
  put(params_, {});
  Transformer encoder = read_as(ModelUse::training).value();
  const auto linear = [&](const Params& fewer, const std::string& name) {
    const auto& bias = fewer.at(name + ".bias");
    return Linear::from_params(
               clone(fewer.at(name + ".weight")),
               tensor_of<float, 1>({bias.size()},
                                   {bias.data(), bias.data() + bias.size()}))
        .value();
  };
  const auto attention = [&](const std::vector<std::size_t>& heads) {
    const Params fewer = pruned(params_, config_, {heads, {0, 1, 2}});
    return MultiHeadAttention::from_params(
               {linear(fewer, name_of(0, "q")), linear(fewer, name_of(0, "k")),
                linear(fewer, name_of(0, "v")), linear(fewer, name_of(0, "o"))},
               heads.size())
        .value();
  };
  const auto replace = [&](std::size_t layer,
                           const std::vector<std::size_t>& heads,
                           std::vector<std::size_t> numbers) {
    KeptAttention kept{layer, attention(heads), std::move(numbers)};
    return encoder.replace_attention({&kept, 1});
  };
  EXPECT_THAT(replace(2, {1}, {1}), HasError({.code = ErrorCode::out_of_range,
                                              .operation = "transformer",
                                              .argument = "layer",
                                              .given = {"2"},
                                              .expected = {"0 to 1"}}));
  EXPECT_EQ(replace(0, {1}, {3}).error().code(), ErrorCode::out_of_range);
  EXPECT_EQ(replace(0, {1}, {0, 1}).error().code(), ErrorCode::shape_mismatch);
  for (const std::vector<std::size_t>& heads :
       {std::vector<std::size_t>{1, 1}, std::vector<std::size_t>{2, 0}}) {
    EXPECT_EQ(replace(0, heads, heads).error().code(), ErrorCode::out_of_range);
  }
  EXPECT_EQ(heads_left(encoder), (KeptHeads{{0, 1, 2}, {0, 1, 2}}));
  ASSERT_TRUE(replace(0, {1}, {1}));
  EXPECT_EQ(heads_left(encoder), (KeptHeads{{1}, {0, 1, 2}}));
  expect_hidden_in_double(encoder, {{0, 1, 0}, {1, 1, 1}});
  const auto views = encoder.attention_params();
  EXPECT_EQ(views.size(), 16u);
  EXPECT_EQ(views.at(name_of(0, "q") + ".weight").extents()[0], 4u);
}

TEST_P(PrunedModelTest, SizesOfOtherHeadsAreNamed) {
  const auto q = [&](std::size_t layer) {
    return name_of(layer, "q") + ".weight";
  };
  SafetensorsMetadata metadata = {{"kept_heads", "[[0, 2], [1]]"}};
  put(pruned(params_, config_, kKept), metadata);
  expect_refused_model(q(1), {"(0, 12)"}, {"(4, 12)"});
  metadata["kept_heads"] = "[[0], []]";
  put(pruned(params_, config_, kKept), metadata);
  expect_refused_model(q(0), {"(8, 12)"}, {"(4, 12)"});
  put(pruned(params_, config_, kKept), {});
  expect_refused_model(q(0), {"(8, 12)"}, {"(12, 12)"});
  put(params_, {{"kept_heads", "[[0, 2], []]"}});
  expect_refused_model(q(0), {"(12, 12)"}, {"(8, 12)"});
  // The queries fit, another one does not.
  const auto is_bad_file = IsFileError(ErrorCode::bad_data, path());
  for (const std::string part : {"k", "v", "o"}) {
    Params mixed = pruned(params_, config_, {{0, 2}, {0, 1, 2}});
    const std::string name = name_of(0, part) + ".weight";
    mixed.erase(name);
    mixed.emplace(name, clone(params_.at(name)));
    put(mixed, {{"kept_heads", "[[0, 2], [0, 1, 2]]"}});
    EXPECT_THAT(read_as(ModelUse::inference), is_bad_file) << part;
  }
  for (const std::string part : {"q", "o"}) {
    Params mixed = pruned(params_, config_, {{0, 2}, {0, 1, 2}});
    const std::string name = name_of(0, part) + ".bias";
    mixed.at(name) = uniform<2>({1, 7}, 97);
    put(mixed, {{"kept_heads", "[[0, 2], [0, 1, 2]]"}});
    EXPECT_THAT(read_as(ModelUse::inference), is_bad_file) << part;
    EXPECT_EQ(read_as(ModelUse::inference).error().details().entry, name);
  }
}

TEST_P(PrunedModelTest, ABadTextIsSaidToBeInItsFile) {
  put(params_, {{"kept_heads", "none"}});
  expect_refused_model("__metadata__.kept_heads", {"none"}, {"2"});
}

INSTANTIATE_TEST_SUITE_P(Families, PrunedModelTest, both_families(),
                         family_name);

}  // namespace
}  // namespace headwise::testing_support
