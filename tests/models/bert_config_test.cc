#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "headwise/base/checked_product.h"
#include "models/model_files.h"
#include "models/model_texts.h"

namespace headwise {
namespace {

using testing_support::bert_fields;
using testing_support::distilbert_fields;
using testing_support::Fields;
using testing_support::json;
using testing_support::said_by;
using testing_support::with;
using testing_support::without;
using testing_support::wrong;

BertConfig config_of(const Fields& fields) {
  return parse_bert_config(json(fields), {"", "file"}).value();
}

std::string error_of(const Fields& fields,
                     ErrorCode code = ErrorCode::bad_data) {
  return said_by(parse_bert_config(json(fields), {"", "file"}), code);
}

std::string unsupported_of(const Fields& fields) {
  return error_of(fields, ErrorCode::unsupported);
}

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
    EXPECT_EQ(
        unsupported_of(with(bert_fields(), "model_type", "\"" + name + "\"")),
        "model_type is \"" + name + "\", expected bert or distilbert");
  }
  for (const Fields& fields :
       {without(bert_fields(), "model_type"),
        with(bert_fields(), "model_type", "null"), Fields{}}) {
    EXPECT_EQ(unsupported_of(fields),
              "has no model_type, expected bert or distilbert");
  }
  EXPECT_EQ(error_of(with(bert_fields(), "model_type", "7")),
            "model_type is 7, expected a text");
}

TEST(BertConfigTest, WhatIsComputedOtherwiseIsUnsupportedAndNamed) {
  EXPECT_EQ(unsupported_of(with(bert_fields(), "hidden_act", "\"relu\"")),
            "hidden_act is \"relu\", expected gelu");
  EXPECT_EQ(unsupported_of(with(bert_fields(), "hidden_act", "\"gelu_new\"")),
            "hidden_act is \"gelu_new\", expected gelu");
  EXPECT_EQ(unsupported_of(with(distilbert_fields(), "activation", "\"relu\"")),
            "activation is \"relu\", expected gelu");
  EXPECT_EQ(unsupported_of(with(bert_fields(), "position_embedding_type",
                                "\"relative_key\"")),
            "position_embedding_type is \"relative_key\", expected absolute");
  for (const Fields& fields : {bert_fields(), distilbert_fields()}) {
    EXPECT_EQ(unsupported_of(with(fields, "is_decoder", "true")),
              "is_decoder is true, expected false");
  }
  EXPECT_EQ(error_of(with(bert_fields(), "hidden_act", "[]")),
            "hidden_act is a list, expected a text");
  EXPECT_EQ(error_of(with(bert_fields(), "is_decoder", "0")),
            "is_decoder is 0, expected true or false");
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
    EXPECT_EQ(error_of(without(fields, key)), "has no " + key);
    EXPECT_EQ(error_of(with(fields, key, "null")), "has no " + key);
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
          {"[384]", "a list of other things than texts"},
          {"[]", "a list"},
          {"{}", "an object"}}) {
      const std::string said = error_of(with(fields, key, value));
      EXPECT_TRUE(said.starts_with(wrong(key, shown, "a number from ")))
          << said;
    }
  });
}

std::string range_text(std::size_t least, std::size_t most) {
  return "a number from " + std::to_string(least) + " to " +
         std::to_string(most);
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
    const auto said_of = [&fields, &key = key](std::size_t value) {
      return error_of(with(fields, key, std::to_string(value)));
    };
    const std::string range = range_text(least, most);
    EXPECT_EQ(said_of(least), "no error");
    EXPECT_EQ(said_of(most), "no error");
    EXPECT_EQ(said_of(least - 1), wrong(key, std::to_string(least - 1), range));
    EXPECT_EQ(said_of(most + 1), wrong(key, std::to_string(most + 1), range));
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
  EXPECT_EQ(error_of(with(bert_fields(), "num_attention_heads", "7")),
            "num_attention_heads is 7, expected a divisor of hidden_size = "
            "384");
  EXPECT_EQ(error_of(with(bert_fields(), "num_attention_heads", "768")),
            "num_attention_heads is 768, expected a divisor of hidden_size = "
            "384");
  EXPECT_EQ(error_of(with(distilbert_fields(), "n_heads", "7")),
            "n_heads is 7, expected a divisor of dim = 768");
  EXPECT_EQ(
      config_of(with(bert_fields(), "num_attention_heads", "384")).num_heads,
      384u);
}

TEST(BertConfigTest, EpsilonMustBeBetweenZeroAndOne) {
  const auto at = [](const std::string& value) {
    return error_of(with(bert_fields(), "layer_norm_eps", value));
  };
  EXPECT_EQ(at("1e-5"), "no error");
  EXPECT_EQ(at("0.999"), "no error");
  for (const std::string value : {"0", "0.0", "1", "1.0", "-1e-12", "1e-400"}) {
    EXPECT_EQ(at(value),
              wrong("layer_norm_eps", value, "a number between 0 and 1"));
  }
  EXPECT_EQ(at("\"1e-12\""), "layer_norm_eps is \"1e-12\", expected a number");
  EXPECT_TRUE(at("1e999").starts_with("is not JSON text")) << at("1e999");
  EXPECT_TRUE(at("NaN").starts_with("is not JSON text")) << at("NaN");
}

TEST(BertConfigTest, AKeyThatIsThereTwiceIsAnError) {
  const std::string text = json(bert_fields());
  for (const auto& [more, said] :
       {std::pair{R"("hidden_size": 384)", "has hidden_size twice"},
        {R"("a": 1, "a": 1)", "has a twice"},
        {R"("a": [{"b": {}, "b": {}}])", "has b twice"}}) {
    const std::string longer = "{" + std::string(more) + "," + text.substr(1);
    EXPECT_EQ(said_by(parse_bert_config(longer, {"", "file"})), said);
  }
}

TEST(BertConfigTest, WhatIsNoObjectIsAnError) {
  for (const auto& [text, said] :
       {std::pair<std::string, std::string>{"[]", "holds an array"},
        {"1", "holds a number"},
        {"-1.5", "holds a number"},
        {"null", "holds null"},
        {"false", "holds a bool"},
        {"\"bert\"", "holds a text"}}) {
    EXPECT_EQ(said_by(parse_bert_config(text, {"", "file"})),
              said + ", expected an object");
  }
  for (const std::string text : {"", " ", "{", "}", "{}{}", "{]", "\xff"}) {
    const auto said = said_by(parse_bert_config(text, {"", "file"}));
    EXPECT_TRUE(said.starts_with("is not JSON text in UTF-8")) << said;
  }
  EXPECT_EQ(said_by(parse_bert_config(std::string("{}\0", 3), {"", "file"})),
            "has a NUL character in its JSON text at byte 2");
}

TEST(BertConfigTest, DeepNestingIsRefusedBeforeItCosts) {
  for (const std::string open : {"[", "{\"a\":"}) {
    std::string text = R"({"a":)";
    for (int i = 0; i < 100'000; ++i) {
      text += open;
    }
    EXPECT_EQ(said_by(parse_bert_config(text, {"", "file"})),
              "is nested more than 16 deep");
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
      EXPECT_TRUE(config.error().message().starts_with("file"));
    }
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ mask);
  }
}

}  // namespace
}  // namespace headwise
