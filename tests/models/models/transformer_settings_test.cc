// config.json of BERT and DistilBERT, as every family reads its own.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "headwise/transformer/transformer.h"
#include "interop/files.h"
#include "models/model_texts.h"
#include "support/errors.h"

namespace headwise::testing_support {
namespace {

class TransformerSettingsTest : public testing::Test {
 protected:
  Result<TransformerShape> parsed_text(const std::string& text) {
    put_file(folder_ / "config.json", bytes_of(text));
    return Transformer::read_shape(folder_.path());
  }
  Result<TransformerShape> parsed(const Fields& fields) {
    return parsed_text(json(fields));
  }
  auto IsBad(std::string key, std::vector<std::string> given,
             std::vector<std::string> expected = {},
             ErrorCode code = ErrorCode::bad_data) {
    return HasError({.code = code,
                     .file = folder_ / "config.json",
                     .entry = std::move(key),
                     .given = std::move(given),
                     .expected = std::move(expected)});
  }
  auto IsUnsupported(std::string key, std::vector<std::string> given,
                     std::vector<std::string> expected = {}) {
    return IsBad(std::move(key), std::move(given), std::move(expected),
                 ErrorCode::unsupported);
  }

  TempFolder folder_;
};

TEST_F(TransformerSettingsTest, EverySizeComesFromItsKey) {
  const TransformerShape shape = parsed(bert_fields()).value();
  EXPECT_EQ(shape.family, "bert");
  EXPECT_EQ(shape.vocab_size, 30522u);
  EXPECT_EQ(shape.hidden_size, 384u);
  EXPECT_EQ(shape.num_layers, 6u);
  EXPECT_EQ(shape.num_heads, 12u);
  EXPECT_EQ(shape.num_kv_heads, 12u);
  EXPECT_EQ(shape.head_dim, 32u);
  EXPECT_EQ(shape.max_positions, 512u);
  EXPECT_EQ(shape.token_types, 2u);
  EXPECT_EQ(shape.norm_eps, 1e-7);
  EXPECT_FALSE(shape.causal);
}

TEST_F(TransformerSettingsTest, DistilBertHasNamesOfItsOwnAndNoTypes) {
  const TransformerShape shape = parsed(distilbert_fields()).value();
  EXPECT_EQ(shape.family, "distilbert");
  EXPECT_EQ(shape.vocab_size, 28996u);
  EXPECT_EQ(shape.hidden_size, 768u);
  EXPECT_EQ(shape.num_layers, 3u);
  EXPECT_EQ(shape.num_heads, 8u);
  EXPECT_EQ(shape.max_positions, 256u);
  EXPECT_EQ(shape.token_types, 0u);
  EXPECT_EQ(shape.norm_eps, 1e-12);
  // Not settings of its: what stands there by chance counts for nothing.
  const TransformerShape other =
      parsed(with(with(distilbert_fields(), "layer_norm_eps", "7"),
                  "type_vocab_size", "2"))
          .value();
  EXPECT_EQ(other.norm_eps, 1e-12);
  EXPECT_EQ(other.token_types, 0u);
}

TEST_F(TransformerSettingsTest, WhatOlderFilesLeaveOutHasDefaults) {
  Fields fields = bert_fields();
  for (const char* key : {"layer_norm_eps", "hidden_act",
                          "position_embedding_type", "is_decoder"}) {
    fields = without(fields, key);
    EXPECT_TRUE(parsed(fields)) << key;
    EXPECT_TRUE(parsed(with(fields, key, "null"))) << key;
  }
  EXPECT_EQ(parsed(fields)->norm_eps, 1e-12);
}

TEST_F(TransformerSettingsTest, PrunedHeadsAreNamed) {
  const Fields fields = bert_fields();
  EXPECT_TRUE(parsed(with(fields, "pruned_heads", "{}")));
  EXPECT_THAT(parsed(with(fields, "pruned_heads", R"({"0": [12]})")),
              IsBad("pruned_heads.0.0", {"head"}, {"12"}));
  EXPECT_THAT(parsed(with(fields, "pruned_heads", R"({"x": [1]})")),
              IsBad("pruned_heads.x.0", {"head"}, {"12"}));
  EXPECT_THAT(parsed(with(fields, "pruned_heads", R"({"6": [1]})")),
              IsBad("", {"layer 6"}, {"6"}));
}

TEST_F(TransformerSettingsTest, UnknownKeysArePassedOverWhateverTheyHold) {
  Fields fields = bert_fields();
  for (const char* value :
       {"null", "true", "-1", "0.5", "1e300", "\"text\"", "[]", "{}",
        R"({"hidden_size": 7, "model_type": "t5"})",
        R"([1, "gelu", {"is_decoder": true}, [null]])"}) {
    fields["a"] = value;  // before all others
    fields["z"] = value;
    EXPECT_EQ(parsed(fields)->hidden_size, 384u) << value;
  }
}

TEST_F(TransformerSettingsTest, AnotherFamilyIsUnsupportedAndNamed) {
  for (const std::string name : {"rwkv", "BERT", ""}) {
    const std::string quoted = "\"" + name + "\"";
    EXPECT_THAT(parsed(with(bert_fields(), "model_type", quoted)),
                IsUnsupported("model_type", {quoted}, {"bert, distilbert"}));
  }
  for (const Fields& fields :
       {without(bert_fields(), "model_type"),
        with(bert_fields(), "model_type", "null"), Fields{}}) {
    EXPECT_THAT(parsed(fields), IsBad("", {"model_type"}));
  }
  EXPECT_THAT(parsed(with(bert_fields(), "model_type", "7")),
              IsBad("model_type", {"7"}, {"text"}));
}

TEST_F(TransformerSettingsTest, WhatIsComputedOtherwiseIsUnsupportedAndNamed) {
  struct Case {
    Fields fields;
    std::string key;
    std::string given;
    std::string expected;
  };
  for (const auto& [fields, key, given, expected] : std::vector<Case>{
           {bert_fields(), "hidden_act", "\"mish\"", "gelu"},
           {bert_fields(), "position_embedding_type", "\"relative_key\"",
            "absolute"},
           {bert_fields(), "is_decoder", "true", "false"},
           {distilbert_fields(), "is_decoder", "true", "false"}}) {
    EXPECT_THAT(parsed(with(fields, key, given)),
                IsUnsupported(key, {given}, {expected}));
  }
  EXPECT_THAT(parsed(with(bert_fields(), "hidden_act", "[]")),
              IsBad("hidden_act", {"[]"}, {"text"}));
  EXPECT_THAT(parsed(with(bert_fields(), "is_decoder", "0")),
              IsBad("is_decoder", {"0"}, {"true or false"}));
}

TEST_F(TransformerSettingsTest, EverySizeMustBeAWholeNumberInItsRange) {
  for (const std::string key :
       {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
        "intermediate_size", "max_position_embeddings"}) {
    for (const char* value :
         {"0", "-1", "384.0", "1e2", "2147483648", "18446744073709551615",
          "18446744073709551617", "true", "\"384\"", "[384]", "[]", "{}"}) {
      EXPECT_THAT(parsed(with(bert_fields(), key, value)),
                  IsBad(key, {}, {"number"}))
          << key << value;
    }
  }
}

TEST_F(TransformerSettingsTest, HeadsMustDivideTheHiddenSize) {
  for (const std::string heads : {"7", "768"}) {
    EXPECT_THAT(parsed(with(bert_fields(), "num_attention_heads", heads)),
                IsBad("", {heads}, {"384"}));
  }
  EXPECT_THAT(parsed(with(distilbert_fields(), "n_heads", "7")),
              IsBad("", {"7"}, {"768"}));
  EXPECT_EQ(
      parsed(with(bert_fields(), "num_attention_heads", "384"))->num_heads,
      384u);
}

TEST_F(TransformerSettingsTest, EpsilonMustBeBetweenZeroAndOne) {
  const auto at = [&](const std::string& value) {
    return parsed(with(bert_fields(), "layer_norm_eps", value));
  };
  EXPECT_TRUE(at("1e-5"));
  EXPECT_TRUE(at("0.999"));
  for (const std::string value : {"0", "0.0", "1", "1.0", "-1e-12", "1e-400"}) {
    EXPECT_THAT(at(value), IsBad("", {"norms"}, {"0", "1"})) << value;
  }
  EXPECT_THAT(at("\"1e-12\""),
              IsBad("layer_norm_eps", {"\"1e-12\""}, {"number"}));
  for (const std::string value : {"1e999", "NaN"}) {
    EXPECT_THAT(at(value), IsBad("", {"JSON"}));
  }
}

TEST_F(TransformerSettingsTest, AKeyThatIsThereTwiceIsAnError) {
  const std::string text = json(bert_fields());
  for (const auto& [more, key] :
       {std::pair{R"("hidden_size": 384)", "hidden_size"},
        {R"("a": 1, "a": 1)", "a"},
        {R"("a": {"b": 1, "b": 1})", "b"}}) {
    const std::string longer = "{" + std::string(more) + "," + text.substr(1);
    EXPECT_THAT(parsed_text(longer), IsBad("", {key, "twice"}));
  }
}

TEST_F(TransformerSettingsTest, WhatIsNoObjectIsAnError) {
  for (const std::string text : {"[]", "1", "-1.5", "null", "false", "\"bert\"",
                                 "", " ", "{", "}", "{}{}", "{]", "\xff"}) {
    EXPECT_THAT(parsed_text(text), IsBad("", {"JSON"})) << text;
  }
}

TEST_F(TransformerSettingsTest, DeepNestingIsRefusedBeforeItCosts) {
  for (const std::string open : {"[", "{\"a\":"}) {
    std::string text = R"({"a":)";
    for (int i = 0; i < 100'000; ++i) {
      text += open;
    }
    EXPECT_THAT(parsed_text(text), IsBad("", {"JSON"}));
  }
}

TEST_F(TransformerSettingsTest,
       EveryPrefixIsAnErrorAndEveryFlippedBitIsHarmless) {
  std::string text = json(bert_fields());
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(parsed_text(text.substr(0, size)));
  }
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    const auto mask = static_cast<char>(1u << bit % 8);
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ mask);
    const auto shape = parsed_text(text);
    if (shape) {
      EXPECT_EQ(shape->hidden_size % shape->num_heads, 0u);
    }
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ mask);
  }
}

}  // namespace
}  // namespace headwise::testing_support
