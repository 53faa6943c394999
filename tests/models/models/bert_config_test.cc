#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "headwise/base/checked_product.h"
#include "models/model_files.h"
#include "models/model_texts.h"
#include "support/errors.h"

namespace headwise::testing_support {
namespace {

Result<BertConfig> parsed_text(const std::string& text) {
  return parse_bert_config(text, {"", "file"});
}
Result<BertConfig> parsed(const Fields& fields) {
  return parsed_text(json(fields));
}

BertConfig config_of(const Fields& fields) { return parsed(fields).value(); }

TEST(BertConfigTest, EverySizeComesFromItsKey) {
  const BertConfig config = config_of(bert_fields());
  EXPECT_EQ(config.family, BertFamily::bert);
  EXPECT_EQ(config.vocab_size, 30522u);
  EXPECT_EQ(config.hidden_size, 384u);
  EXPECT_EQ(config.num_layers, 6u);
  EXPECT_EQ(config.num_heads, 12u);
  EXPECT_EQ(config.intermediate_size, 1536u);
  EXPECT_EQ(config.max_positions, 512u);
  EXPECT_EQ(config.type_vocab_size, 2u);
  EXPECT_EQ(config.layer_norm_eps, 1e-7);
}

TEST(BertConfigTest, DistilBertHasNamesOfItsOwnAndNoTypes) {
  const BertConfig config = config_of(distilbert_fields());
  EXPECT_EQ(config.family, BertFamily::distilbert);
  EXPECT_EQ(config.vocab_size, 28996u);
  EXPECT_EQ(config.hidden_size, 768u);
  EXPECT_EQ(config.num_layers, 3u);
  EXPECT_EQ(config.num_heads, 8u);
  EXPECT_EQ(config.intermediate_size, 3072u);
  EXPECT_EQ(config.max_positions, 256u);
  EXPECT_EQ(config.type_vocab_size, 0u);
  EXPECT_EQ(config.layer_norm_eps, 1e-12);
  // Not settings of its: what stands there by chance counts for nothing.
  const BertConfig other =
      config_of(with(with(distilbert_fields(), "layer_norm_eps", "7"),
                     "type_vocab_size", "2"));
  EXPECT_EQ(other.layer_norm_eps, 1e-12);
  EXPECT_EQ(other.type_vocab_size, 0u);
}

TEST(BertConfigTest, WhatOlderFilesLeaveOutHasDefaults) {
  Fields fields = bert_fields();
  for (const char* key : {"layer_norm_eps", "hidden_act",
                          "position_embedding_type", "is_decoder"}) {
    fields = without(fields, key);
    EXPECT_TRUE(parse_bert_config(json(fields), {"", "file"})) << key;
    EXPECT_TRUE(
        parse_bert_config(json(with(fields, key, "null")), {"", "file"}));
  }
  EXPECT_EQ(config_of(fields).layer_norm_eps, 1e-12);
}

TEST(BertConfigTest, PrunedHeadsAreNotKept) {
  const Fields fields = bert_fields();
  EXPECT_TRUE(config_of(with(fields, "pruned_heads", "{}")).kept_heads.empty());
  for (const auto& [key, value] :
       {std::pair{"pruned_heads", R"({"5": [1, 0]})"},
        {"headwise_pruned_heads",
         R"({"layers": 6, "heads": {"5": [0, 1]}})"}}) {
    const BertConfig config = config_of(with(fields, key, value));
    EXPECT_EQ(heads_of(config, 0), 12u);
    EXPECT_EQ(heads_of(config, 5), 10u);
    EXPECT_EQ(heads_in(config, 5).front(), 2u);
  }
  EXPECT_THAT(parsed(with(fields, "pruned_heads", R"({"0": [12]})")),
              IsBad("pruned_heads.0.0", {"head"}, {"12"}));
  EXPECT_THAT(parsed(with(fields, "pruned_heads", R"({"x": [1]})")),
              IsBad("pruned_heads.x.0", {"head"}, {"12"}));
  EXPECT_THAT(parsed(with(fields, "pruned_heads", R"({"6": [1]})")),
              IsBad("", {"layer 6"}, {"6"}));
}

TEST(BertConfigTest, UnknownKeysArePassedOverWhateverTheyHold) {
  Fields fields = bert_fields();
  for (const char* value :
       {"null", "true", "-1", "0.5", "1e300", "\"text\"", "[]", "{}",
        R"({"hidden_size": 7, "model_type": "t5"})",
        R"([1, "gelu", {"is_decoder": true}, [null]])"}) {
    fields["a"] = value;  // before all others
    fields["z"] = value;
    EXPECT_EQ(config_of(fields).hidden_size, 384u) << value;
  }
}

TEST(BertConfigTest, AnotherFamilyIsUnsupportedAndNamed) {
  for (const std::string name : {"roberta", "mpnet", "t5", "BERT", ""}) {
    const std::string quoted = "\"" + name + "\"";
    EXPECT_THAT(parsed(with(bert_fields(), "model_type", quoted)),
                IsUnsupported("model_type", {quoted}, {"bert or distilbert"}));
  }
  for (const Fields& fields :
       {without(bert_fields(), "model_type"),
        with(bert_fields(), "model_type", "null"), Fields{}}) {
    EXPECT_THAT(parsed(fields),
                IsUnsupported("", {"model_type"}, {"bert or distilbert"}));
  }
  EXPECT_THAT(parsed(with(bert_fields(), "model_type", "7")),
              IsBad("model_type", {"7"}, {"text"}));
}

TEST(BertConfigTest, WhatIsComputedOtherwiseIsUnsupportedAndNamed) {
  struct Case {
    Fields fields;
    std::string key;
    std::string given;
    std::string expected;
  };
  for (const auto& [fields, key, given, expected] : std::vector<Case>{
           {bert_fields(), "hidden_act", "\"relu\"", "gelu"},
           {bert_fields(), "hidden_act", "\"gelu_new\"", "gelu"},
           {distilbert_fields(), "activation", "\"relu\"", "gelu"},
           {bert_fields(), "position_embedding_type", "\"relative_key\"",
            "absolute"},
           {bert_fields(), "is_decoder", "true", "false"},
           {distilbert_fields(), "is_decoder", "true", "false"}}) {
    EXPECT_THAT(parsed(with(fields, key, given)),
                IsUnsupported(key, {given}, {expected}));
  }
  EXPECT_THAT(parsed(with(bert_fields(), "hidden_act", "[]")),
              IsBad("hidden_act", {"list"}, {"text"}));
  EXPECT_THAT(parsed(with(bert_fields(), "is_decoder", "0")),
              IsBad("is_decoder", {"0"}, {"true or false"}));
}

const std::array kBertSizes = {"vocab_size",        "hidden_size",
                               "num_hidden_layers", "num_attention_heads",
                               "intermediate_size", "max_position_embeddings",
                               "type_vocab_size"};
const std::array kDistilBertSizes = {"vocab_size", "dim",
                                     "n_layers",   "n_heads",
                                     "hidden_dim", "max_position_embeddings"};

// Calls `check` of every size's key of each family.
template <class Check>
void for_each_size(const Check& check) {
  for (const std::string key : kBertSizes) {
    check(bert_fields(), key);
  }
  for (const std::string key : kDistilBertSizes) {
    check(distilbert_fields(), key);
  }
}

TEST(BertConfigTest, EverySizeMustBeThere) {
  for_each_size([](const Fields& fields, const std::string& key) {
    EXPECT_THAT(parsed(without(fields, key)), IsBad("", {key}));
    EXPECT_THAT(parsed(with(fields, key, "null")), IsBad("", {key}));
  });
}

TEST(BertConfigTest, EverySizeMustBeAWholeNumberInItsRange) {
  for_each_size([](const Fields& fields, const std::string& key) {
    for (const auto& [value, shown] :
         {std::pair<std::string, std::string>{"0", "0"},
          {"-1", "-1"},
          {"384.0", "384.0"},
          {"1e2", "1e2"},
          {"2147483648", "2147483648"},
          {"18446744073709551615", "18446744073709551615"},
          {"18446744073709551617", "18446744073709551617"},
          {"true", "true"},
          {"\"384\"", "\"384\""},
          {"[384]", "list"},
          {"[]", "list"},
          {"{}", "object"}}) {
      EXPECT_THAT(parsed(with(fields, key, value)),
                  IsBad(key, {shown}, {"number"}));
    }
  });
}

TEST(BertConfigTest, TheBoundsAreThoseOfTheHeader) {
  Fields fields = with(bert_fields(), "num_attention_heads", "1");
  for (const auto& [key, least, most] :
       {std::tuple<std::string, std::size_t, std::size_t>{"vocab_size", 1,
                                                          2147483647},
        {"hidden_size", 1, 1048576},
        {"num_hidden_layers", 1, 4096},
        {"intermediate_size", 1, 16777216},
        {"max_position_embeddings", 2, 2147483647},
        {"type_vocab_size", 1, 2147483647}}) {
    const auto parsed_with = [&fields, &key = key](std::size_t value) {
      return parsed(with(fields, key, std::to_string(value)));
    };
    EXPECT_TRUE(parsed_with(least)) << key;
    EXPECT_TRUE(parsed_with(most)) << key;
    for (const std::size_t beyond : {least - 1, most + 1}) {
      EXPECT_THAT(parsed_with(beyond),
                  IsBad(key, {std::to_string(beyond)},
                        {std::to_string(least), std::to_string(most)}));
    }
  }
}

// Of the largest sizes that are taken, with each product checked.
TEST(BertConfigTest, TheBytesOfTheLargestModelCanBeCounted) {
  Fields fields = bert_fields();
  fields["vocab_size"] = "2147483647";
  fields["hidden_size"] = "1048576";
  fields["num_hidden_layers"] = "4096";
  fields["num_attention_heads"] = "1048576";
  fields["intermediate_size"] = "16777216";
  fields["max_position_embeddings"] = "2147483647";
  fields["type_vocab_size"] = "2147483647";
  const BertConfig config = config_of(fields);
  const auto bytes = [](std::size_t a, std::size_t b, std::size_t c) {
    return checked_product(std::array{a, b, c, sizeof(float)}).value();
  };
  const std::size_t E = config.hidden_size;
  std::size_t left = std::numeric_limits<std::size_t>::max();
  for (const std::size_t part :
       {bytes(1, config.vocab_size, E), bytes(1, config.max_positions, E),
        bytes(1, config.type_vocab_size, E), bytes(4 * config.num_layers, E, E),
        bytes(9 * config.num_layers, 1, E),
        bytes(2 * config.num_layers, E, config.intermediate_size),
        bytes(config.num_layers, 1, config.intermediate_size)}) {
    ASSERT_LE(part, left);
    left -= part;
  }
}

TEST(BertConfigTest, HeadsMustDivideTheHiddenSize) {
  for (const std::string heads : {"7", "768"}) {
    EXPECT_THAT(parsed(with(bert_fields(), "num_attention_heads", heads)),
                IsBad("num_attention_heads", {heads}, {"hidden_size", "384"}));
  }
  EXPECT_THAT(parsed(with(distilbert_fields(), "n_heads", "7")),
              IsBad("n_heads", {"7"}, {"dim", "768"}));
  EXPECT_EQ(
      config_of(with(bert_fields(), "num_attention_heads", "384")).num_heads,
      384u);
}

TEST(BertConfigTest, EpsilonMustBeBetweenZeroAndOne) {
  const auto at = [](const std::string& value) {
    return parsed(with(bert_fields(), "layer_norm_eps", value));
  };
  EXPECT_TRUE(at("1e-5"));
  EXPECT_TRUE(at("0.999"));
  for (const std::string value : {"0", "0.0", "1", "1.0", "-1e-12", "1e-400"}) {
    EXPECT_THAT(at(value), IsBad("layer_norm_eps", {value}, {"0", "1"}));
  }
  EXPECT_THAT(at("\"1e-12\""),
              IsBad("layer_norm_eps", {"\"1e-12\""}, {"number"}));
  for (const std::string value : {"1e999", "NaN"}) {
    EXPECT_THAT(at(value), IsBad("", {"JSON"}));
  }
}

TEST(BertConfigTest, AKeyThatIsThereTwiceIsAnError) {
  const std::string text = json(bert_fields());
  for (const auto& [more, key] :
       {std::pair{R"("hidden_size": 384)", "hidden_size"},
        {R"("a": 1, "a": 1)", "a"},
        {R"("a": [{"b": {}, "b": {}}])", "b"}}) {
    const std::string longer = "{" + std::string(more) + "," + text.substr(1);
    EXPECT_THAT(parsed_text(longer), IsBad("", {key, "twice"}));
  }
}

TEST(BertConfigTest, WhatIsNoObjectIsAnError) {
  for (const auto& [text, kind] :
       {std::pair<std::string, std::string>{"[]", "array"},
        {"1", "number"},
        {"-1.5", "number"},
        {"null", "null"},
        {"false", "bool"},
        {"\"bert\"", "text"}}) {
    EXPECT_THAT(parsed_text(text), IsBad("", {kind}, {"object"}));
  }
  for (const std::string text : {"", " ", "{", "}", "{}{}", "{]", "\xff"}) {
    EXPECT_THAT(parsed_text(text), IsBad("", {"JSON"})) << text;
  }
  EXPECT_THAT(parsed_text(std::string("{}\0", 3)),
              HasError({.code = ErrorCode::bad_data,
                        .file = "file",
                        .byte = 2,
                        .given = {"NUL"}}));
}

TEST(BertConfigTest, DeepNestingIsRefusedBeforeItCosts) {
  for (const std::string open : {"[", "{\"a\":"}) {
    std::string text = R"({"a":)";
    for (int i = 0; i < 100'000; ++i) {
      text += open;
    }
    EXPECT_THAT(parsed_text(text), IsBad("", {"16"}));
  }
}

TEST(BertConfigTest, EveryPrefixIsAnErrorAndEveryFlippedBitIsHarmless) {
  std::string text = json(bert_fields());
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(parse_bert_config(text.substr(0, size), {"", "file"}));
  }
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    const auto mask = static_cast<char>(1u << bit % 8);
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ mask);
    const auto config = parse_bert_config(text, {"", "file"});
    if (config) {
      EXPECT_EQ(config->hidden_size % config->num_heads, 0u);
    } else {
      EXPECT_EQ(config.error().details().file, "file");
    }
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ mask);
  }
}

}  // namespace
}  // namespace headwise::testing_support
