#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/model_files.h"
#include "models/model_texts.h"

namespace headwise {
namespace {

using testing::ElementsAre;
using testing_support::Fields;
using testing_support::json;
using testing_support::said_by;
using testing_support::with;
using testing_support::without;

constexpr std::size_t kHidden = 384;

// Switches as older files have them, all off.
Fields switches() {
  return {{"word_embedding_dimension", "384"},
          {"pooling_mode_cls_token", "false"},
          {"pooling_mode_mean_tokens", "false"},
          {"pooling_mode_max_tokens", "false"},
          {"pooling_mode_mean_sqrt_len_tokens", "false"},
          {"pooling_mode_weightedmean_tokens", "false"},
          {"pooling_mode_lasttoken", "false"},
          {"include_prompt", "true"}};
}

// A newer file.
Fields listed(const std::string& modes) {
  return {{"embedding_dimension", "384"}, {"pooling_mode", modes}};
}

std::vector<Pooling> pooling_of(const Fields& fields) {
  return parse_pooling(json(fields), {"", "file"}, kHidden).value();
}

std::string error_of(const Fields& fields,
                     ErrorCode code = ErrorCode::bad_data) {
  return said_by(parse_pooling(json(fields), {"", "file"}, kHidden), code);
}

TEST(PoolingSettingsTest, EachSwitchIsItsPooling) {
  for (const auto& [key, pooling] :
       {std::pair{"pooling_mode_cls_token", Pooling::cls},
        {"pooling_mode_max_tokens", Pooling::max},
        {"pooling_mode_mean_tokens", Pooling::mean},
        {"pooling_mode_mean_sqrt_len_tokens", Pooling::mean_sqrt_len}}) {
    EXPECT_THAT(pooling_of(with(switches(), key, "true")),
                ElementsAre(pooling));
  }
}

TEST(PoolingSettingsTest, SeveralSwitchesAreInOneOrderWhateverTheFiles) {
  Fields all = switches();
  for (auto& [key, value] : all) {
    const bool is_on = key.starts_with("pooling_mode_") &&
                       key != "pooling_mode_weightedmean_tokens" &&
                       key != "pooling_mode_lasttoken";
    value = is_on ? "true" : value;
  }
  EXPECT_THAT(pooling_of(all),
              ElementsAre(Pooling::cls, Pooling::max, Pooling::mean,
                          Pooling::mean_sqrt_len));
  EXPECT_THAT(
      parse_pooling(
          R"({"pooling_mode_max_tokens": true, "pooling_mode_cls_token": true,
              "word_embedding_dimension": 384})",
          {"", "file"}, kHidden)
          .value(),
      ElementsAre(Pooling::cls, Pooling::max));
}

TEST(PoolingSettingsTest, WhereNoneIsOnMeanIsUnlessItIsOff) {
  const Fields none = {{"word_embedding_dimension", "384"}};
  EXPECT_THAT(pooling_of(none), ElementsAre(Pooling::mean));
  EXPECT_THAT(pooling_of(without(switches(), "pooling_mode_mean_tokens")),
              ElementsAre(Pooling::mean));
  EXPECT_EQ(error_of(switches()),
            "has no pooling switched on, expected cls, max, mean or "
            "mean_sqrt_len_tokens");
  EXPECT_THAT(pooling_of(with(none, "pooling_mode_cls_token", "true")),
              ElementsAre(Pooling::cls));
}

TEST(PoolingSettingsTest, NewerFilesNameOneOrListSeveralInTheirOrder) {
  EXPECT_THAT(pooling_of(listed("\"mean\"")), ElementsAre(Pooling::mean));
  EXPECT_THAT(pooling_of(listed("\"cls\"")), ElementsAre(Pooling::cls));
  EXPECT_THAT(pooling_of(listed("\"max\"")), ElementsAre(Pooling::max));
  EXPECT_THAT(pooling_of(listed("\"mean_sqrt_len_tokens\"")),
              ElementsAre(Pooling::mean_sqrt_len));
  EXPECT_THAT(pooling_of(listed(R"(["mean", "cls"])")),
              ElementsAre(Pooling::mean, Pooling::cls));
  EXPECT_THAT(pooling_of(listed(R"(["max"])")), ElementsAre(Pooling::max));
  // A file with both: the newer key counts.
  EXPECT_THAT(
      pooling_of(with(listed("\"cls\""), "pooling_mode_max_tokens", "true")),
      ElementsAre(Pooling::cls));
}

TEST(PoolingSettingsTest, WhatIsNotComputedHereIsUnsupportedAndNamed) {
  for (const std::string key :
       {"pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"}) {
    EXPECT_EQ(error_of(with(switches(), key, "true"), ErrorCode::unsupported),
              key + " is true, expected false");
  }
  for (const std::string name : {"weightedmean", "lasttoken", "Mean", ""}) {
    const std::string said = "has \"" + name +
                             "\" in pooling_mode, expected cls, max, mean or "
                             "mean_sqrt_len_tokens";
    EXPECT_EQ(error_of(listed("\"" + name + "\""), ErrorCode::unsupported),
              said);
    EXPECT_EQ(
        error_of(listed("[\"cls\", \"" + name + "\"]"), ErrorCode::unsupported),
        said);
  }
}

TEST(PoolingSettingsTest, ListsThatNameNothingOrOneTwiceAreErrors) {
  const std::string names = "expected cls, max, mean or mean_sqrt_len_tokens";
  EXPECT_EQ(error_of(listed("[]")), "pooling_mode is a list, " + names);
  EXPECT_EQ(error_of(listed(R"(["cls", "mean", "cls"])")),
            "has cls twice in pooling_mode");
  const std::string expected =
      ", expected a text or a list of at most 16 of them";
  EXPECT_EQ(error_of(listed("1")), "pooling_mode is 1" + expected);
  EXPECT_EQ(error_of(listed("{}")), "pooling_mode is an object" + expected);
  for (const std::string list :
       {R"([1])", R"(["cls", null])", R"(["cls", ["mean"]])",
        R"(["cls", {"a": "b"}])", R"([true, "cls"])", R"([-1, "cls"])",
        R"(["cls", 0.5])"}) {
    EXPECT_EQ(error_of(listed(list)),
              "pooling_mode is a list of other things than texts" + expected)
        << list;
  }
  std::string longer = "[\"cls\"";
  for (int i = 0; i < 16; ++i) {
    longer += ", \"cls\"";
  }
  EXPECT_EQ(error_of(listed(longer + "]")),
            "pooling_mode is a longer list" + expected);
}

TEST(PoolingSettingsTest, TheVectorsMustBeThoseOfTheModel) {
  for (const std::string key :
       {"word_embedding_dimension", "embedding_dimension"}) {
    EXPECT_EQ(error_of({{key, "768"}}),
              key + " is 768, expected the model's hidden size = 384");
    EXPECT_EQ(error_of({{key, "\"384\""}}),
              key + " is \"384\", expected a number");
  }
  EXPECT_EQ(error_of(with(switches(), "embedding_dimension", "385")),
            "embedding_dimension is 385, expected the model's hidden size = "
            "384");
  EXPECT_EQ(error_of(without(switches(), "word_embedding_dimension")),
            "has no word_embedding_dimension");
}

TEST(PoolingSettingsTest, SwitchesAreTrueOrFalse) {
  EXPECT_EQ(error_of(with(switches(), "pooling_mode_cls_token", "1")),
            "pooling_mode_cls_token is 1, expected true or false");
  EXPECT_EQ(said_by(parse_pooling("[]", {"", "file"}, kHidden)),
            "holds an array, expected an object");
}

}  // namespace
}  // namespace headwise
