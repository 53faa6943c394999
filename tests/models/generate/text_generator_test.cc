#include "headwise/generate/text_generator.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headwise/json/json.h"
#include "models/family_models.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

// A small random model with words w0, w1, ...
class TextGeneratorTest : public testing::Test {
 protected:
  void put(const std::string& form) {
    put_family_model(folder_, form);
    const auto shape = Transformer::read_shape(folder_.path()).value();
    Json vocab = Json::object();
    for (std::size_t n = 0; n < shape.vocab_size; ++n) {
      vocab["w" + std::to_string(n)] = n;
    }
    put_json(
        "tokenizer.json",
        {{"version", "1.0"},
         {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
         {"model",
          {{"type", "WordLevel"}, {"vocab", vocab}, {"unk_token", "w0"}}}});
  }
  void put_json(const std::string& name, const Json& json) {
    put_file(folder_ / name, bytes_of(json.dump()));
  }
  TextGenerator read() {
    auto model = TextGenerator::read(folder_.path());
    EXPECT_TRUE(model) << model.error().message();
    return *std::move(model);
  }

  TempFolder folder_;
};

TEST_F(TextGeneratorTest, TheTextIsThatOfTheIds) {
  put("gpt2");
  const TextGenerator model = read();
  const RaggedTokens prompts = {model.prompt("w3 w4 w5").value(), {7}};
  EXPECT_THAT(prompts[0], ElementsAre(3, 4, 5));
  std::string streamed;
  const auto texts =
      model
          .generate(prompts,
                    {.max_new_tokens = 6,
                     .statistics = true,
                     .received = true,
                     .logits = true},
                    [&](const GeneratedToken& token,
                        std::string_view text) -> Result<bool> {
                      streamed += token.request == 0 ? std::string(text) : "";
                      return true;
                    })
          .value();
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_EQ(texts[0].text, model.tokenizer()->decode(texts[0].ids).value());
  EXPECT_EQ(streamed, texts[0].text);
  EXPECT_EQ(texts[0].end, EndReason::max_new_tokens);
  EXPECT_EQ(texts[0].logits.extents(),
            (Extents<2>{6, model.model().shape().vocab_size}));
  EXPECT_EQ(texts[0].statistics.size(), 6U);
  EXPECT_EQ(texts[0].statistics[0].size(), model.model().shape().num_layers);
  ASSERT_EQ(texts[0].received.size(), model.model().shape().num_layers);
  // Each of the 3 + 5 queries gives away 1 in each head.
  const auto& received = texts[0].received[0];
  EXPECT_EQ(received.extents(),
            (Extents<2>{model.model().shape().num_heads, 8}));
  double sum = 0;
  for (std::size_t t = 0; t < 8; ++t) {
    sum += static_cast<double>(received(0, t));
  }
  EXPECT_NEAR(sum, 8, 1e-5);
  const auto scores = model.score(prompts[0], texts[0].ids).value();
  for (std::size_t n = 0; n < scores.size(); ++n) {
    EXPECT_EQ(scores[n], texts[0].log_probabilities[n]);
  }
}

TEST_F(TextGeneratorTest, EndsAreThoseOfTheSettings) {
  put("gpt2");
  const RaggedTokens prompt = {{3, 4, 5}};
  const auto whole = read().generate(prompt, {.max_new_tokens = 8}).value();
  const TokenId end = whole[0].ids[2];
  put_json("generation_config.json", {{"eos_token_id", {end, 1}},
                                      {"do_sample", true},
                                      {"num_beams", 1},
                                      {"repetition_penalty", 1.5}});
  const TextGenerator model = read();
  EXPECT_THAT(model.settings().end_ids, ElementsAre(end, 1));
  EXPECT_THAT(model.settings().unused,
              ElementsAre("do_sample", "repetition_penalty"));
  const auto ended = model.generate(prompt, {.max_new_tokens = 8}).value();
  EXPECT_EQ(ended[0].end, EndReason::end_token);
  EXPECT_EQ(ended[0].ids.back(), end);
  EXPECT_LE(ended[0].ids.size(), 3U);
  put_json("generation_config.json", {{"eos_token_id", 100000}});
  const auto refused = TextGenerator::read(folder_.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::bad_data);
  EXPECT_NE(refused.error().message().find("eos_token_id is 100000"),
            std::string::npos)
      << refused.error().message();
}

TEST_F(TextGeneratorTest, AStopEndsTheText) {
  put("gpt2");
  const TextGenerator model = read();
  const RaggedTokens prompt = {{3, 4, 5}};
  const auto whole = model.generate(prompt, {.max_new_tokens = 8}).value();
  const std::string stop(model.tokenizer()->token(whole[0].ids[4]).value());
  const auto stopped =
      model.generate(prompt, {.max_new_tokens = 8, .stops = {stop}}).value();
  EXPECT_EQ(stopped[0].end, EndReason::stopped);
  EXPECT_EQ(stopped[0].text, whole[0].text.substr(0, whole[0].text.find(stop)));
  EXPECT_LE(stopped[0].ids.size(), 5U);
  EXPECT_FALSE(model.generate(prompt, {.stops = {""}}));
}

TEST_F(TextGeneratorTest, WhoSeesTheTokensMayEndThem) {
  put("llama_gqa");
  const auto texts = read()
                         .generate({{1, 2}, {3}}, {.max_new_tokens = 9},
                                   [&](const GeneratedToken& token,
                                       std::string_view) -> Result<bool> {
                                     return token.number != 3;
                                   })
                         .value();
  EXPECT_EQ(texts[0].ids.size(), 4U);
  EXPECT_EQ(texts[1].ids.size(), 4U);
  EXPECT_FALSE(texts[0].end);
}

TEST_F(TextGeneratorTest, AnEncoderDecoderBeginsWithItsStart) {
  put("bart");
  const TextGenerator model = read();
  const auto texts =
      model
          .generate(
              {{5, 6, 7}},
              {.max_new_tokens = 4,
               .heads = {{.kind = AttentionKind::cross, .layer = 1, .head = 0},
                         {.layer = 0, .head = 1}}})
          .value();
  EXPECT_EQ(texts[0].attn_weights[0].extents(), (Extents<2>{4, 3}));
  EXPECT_EQ(texts[0].attn_weights[1].extents(), (Extents<2>{4, 5}));
  const auto scores = model.score({5, 6, 7}, texts[0].ids).value();
  EXPECT_EQ(scores, texts[0].log_probabilities);
}

TEST_F(TextGeneratorTest, IdsNeedNoTokenizer) {
  put_family_model(folder_, "gpt2");
  EXPECT_FALSE(TextGenerator::read(folder_.path()));
  const auto model = TextGenerator::read_ids_only(folder_.path()).value();
  EXPECT_EQ(model.tokenizer(), nullptr);
  EXPECT_FALSE(model.prompt("w1"));
  EXPECT_EQ(model.generate({{1}}, {.max_new_tokens = 2}).value()[0].text, "");
}

}  // namespace
}  // namespace headwise::testing_support
