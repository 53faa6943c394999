#include "headwise/models/text_model.h"

#include <algorithm>

#include "headwise/models/sentence_encoder.h"
#include "models/pruned_model.h"
#include "models/small_model.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

class TextModelTest : public testing::Test {
 protected:
  TextModelTest() { put_small_model(folder_, params_); }

  std::unique_ptr<TextModel> model() const {
    auto read = read_text_model(folder_.path());
    EXPECT_TRUE(read) << read.error().message();
    return *std::move(read);
  }

  TempFolder folder_;
  SmallConfig config_ = small_config(SmallFamily::bert);
  Params params_ = small_params(config_);
};

TEST_F(TextModelTest, SaysWhatTheFolderHolds) {
  const auto read = model();
  const TextModelShape& shape = read->shape();
  EXPECT_EQ(shape.num_layers, 2u);
  EXPECT_EQ(shape.num_heads, 3u);
  EXPECT_EQ(shape.hidden_size, 12u);
  EXPECT_EQ(shape.vocab_size, 14u);
  EXPECT_EQ(shape.max_tokens, 9u);
  EXPECT_EQ(shape.max_tokens_key, "max_position_embeddings");
  EXPECT_EQ(shape.max_positions, 9u);
  EXPECT_EQ(shape.added_tokens, 2u);
  EXPECT_FALSE(shape.causal);
  EXPECT_THAT(read->heads_in(1), ElementsAre(0, 1, 2));
  EXPECT_EQ(read->attention(1).config().num_heads, 3u);
}

TEST_F(TextModelTest, ATextBecomesTokensUpToTheLimit) {
  const auto read = model();
  const auto whole = read->encode("we see heads", 9).value();
  EXPECT_THAT(whole.ids, ElementsAre(2, 8, 9, 5, 3));
  EXPECT_EQ(whole.cut, 0u);
  EXPECT_EQ(read->token(whole.ids[1]), "we");
  const auto cut = read->encode("we see heads", 3).value();
  EXPECT_THAT(cut.ids, ElementsAre(2, 8, 3));
  EXPECT_EQ(cut.cut, 2u);
  EXPECT_THAT(read->encode("we \xff", 9), HasError({.code = ErrorCode::bad_data,
                                                    .operation = "encode",
                                                    .argument = "text",
                                                    .given = {"UTF-8"}}));
}

TEST_F(TextModelTest, APairHasTokenTypes) {
  const auto read = model();
  const auto pair = read->encode_pair("we see", "heads", 9).value();
  EXPECT_THAT(pair.ids, ElementsAre(2, 8, 9, 3, 5, 3));
  EXPECT_THAT(pair.token_types, ElementsAre(0, 0, 0, 0, 1, 1));
  EXPECT_EQ(read->encode_pair("we see", "heads", 5).value().cut, 1u);
}

// The inputs that a pass shows, of layers [0, count).
std::vector<Tensor<float, 3>> inputs_of(const TextModel& model,
                                        const RaggedTokens& ids,
                                        ModelPass pass) {
  std::vector<Tensor<float, 3>> inputs;
  pass.before_each = [&](std::size_t layer, TensorView<const float, 3> input) {
    EXPECT_EQ(layer, inputs.size());
    inputs.push_back(Tensor<float, 3>::create(input.extents()).value());
    std::copy_n(input.data(), input.size(), inputs.back().data());
    return ok();
  };
  EXPECT_TRUE(model.run(ids, pass));
  return inputs;
}

TEST_F(TextModelTest, ShowsWhatEntersEachLayer) {
  const RaggedTokens ids = {{2, 5, 6, 3}, {2, 3}};
  const auto shown = inputs_of(*model(), ids, {});
  ASSERT_EQ(shown.size(), 2u);
  const auto encoder = SentenceEncoder::read(folder_.path()).value();
  for (std::size_t n = 0; n < 2; ++n) {
    const auto entering =
        encoder.encoder().hidden(ids, {.before_layer = n}).value();
    EXPECT_TRUE(same_bits(shown[n].elements(), entering.elements())) << n;
  }
  EXPECT_EQ(inputs_of(*model(), ids, {.before_layer = 1}).size(), 1u);
}

TEST_F(TextModelTest, TokenTypesReachTheEmbeddings) {
  const RaggedTokens ids = {{2, 5, 6, 3}};
  const RaggedTokens types = {{0, 0, 1, 1}};
  const auto typed = inputs_of(*model(), ids, {.token_types = types});
  const auto encoder = SentenceEncoder::read(folder_.path()).value();
  const auto entering =
      encoder.encoder()
          .hidden(ids, {.before_layer = 0, .token_types = types})
          .value();
  EXPECT_TRUE(same_bits(typed[0].elements(), entering.elements()));
  EXPECT_FALSE(same_bits(typed[0].elements(),
                         inputs_of(*model(), ids, {})[0].elements()));
}

TEST_F(TextModelTest, GatesReachTheLayers) {
  const RaggedTokens ids = {{2, 5, 6, 3}};
  std::vector<Tensor<float, 1>> gates;
  gates.push_back(uniform<1>({3}, 1, 0, 1));
  gates.push_back(uniform<1>({3}, 2, 0, 1));
  const auto gated = inputs_of(*model(), ids, {.head_gates = gates});
  const auto plain = inputs_of(*model(), ids, {});
  EXPECT_TRUE(same_bits(gated[0].elements(), plain[0].elements()));
  EXPECT_FALSE(same_bits(gated[1].elements(), plain[1].elements()));
  gates.pop_back();
  EXPECT_THAT(
      model()->run(ids, {.head_gates = gates}),
      HasError({.code = ErrorCode::shape_mismatch, .argument = "head_gates"}));
}

TEST_F(TextModelTest, APrunedModelKeepsTheNumbersOfItsHeads) {
  const std::vector<std::vector<std::size_t>> kept = {{0, 2}, {}};
  ASSERT_TRUE(write_params(folder_ / "model.safetensors",
                           pruned(params_, config_, kept), "",
                           {{"kept_heads", "[[0,2],[]]"}}));
  const auto read = model();
  EXPECT_EQ(read->shape().num_heads, 3u);
  EXPECT_THAT(read->heads_in(0), ElementsAre(0, 2));
  EXPECT_THAT(read->heads_in(1), IsEmpty());
  EXPECT_EQ(read->attention(0).config().num_heads, 2u);
}

TEST_F(TextModelTest, AnErrorOfWhoLooksEndsThePass) {
  const Error stop(ErrorCode::unsupported, ErrorDetails{.given = "stopped"});
  const Status s = model()->run(
      {{2, 3}}, {.before_each = [&](std::size_t, TensorView<const float, 3>) {
        return Status(stop);
      }});
  EXPECT_THAT(s,
              HasError({.code = ErrorCode::unsupported, .given = {"stopped"}}));
}

}  // namespace
}  // namespace headwise::testing_support
