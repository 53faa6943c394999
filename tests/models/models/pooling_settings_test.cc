
#include "models/model_files.h"
#include "models/model_texts.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

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

constexpr const char* kNames =
    "cls, max, mean, mean_sqrt_len_tokens, weightedmean, lasttoken";

Result<PoolingSettings> parsed(const Fields& fields) {
  return parse_pooling(json(fields), {"", "file"}, kHidden);
}

std::vector<Pooling> pooling_of(const Fields& fields) {
  return parsed(fields).value().pooling;
}

TEST(PoolingSettingsTest, EachSwitchIsItsPooling) {
  for (const auto& [key, pooling] :
       {std::pair{"pooling_mode_cls_token", Pooling::cls},
        {"pooling_mode_max_tokens", Pooling::max},
        {"pooling_mode_mean_tokens", Pooling::mean},
        {"pooling_mode_mean_sqrt_len_tokens", Pooling::mean_sqrt_len},
        {"pooling_mode_weightedmean_tokens", Pooling::weighted_mean},
        {"pooling_mode_lasttoken", Pooling::last_token}}) {
    EXPECT_THAT(pooling_of(with(switches(), key, "true")),
                ElementsAre(pooling));
  }
}

TEST(PoolingSettingsTest, SeveralSwitchesAreInOneOrderWhateverTheFiles) {
  Fields all = switches();
  for (auto& [key, value] : all) {
    value = key.starts_with("pooling_mode_") ? "true" : value;
  }
  EXPECT_THAT(pooling_of(all),
              ElementsAre(Pooling::cls, Pooling::max, Pooling::mean,
                          Pooling::mean_sqrt_len, Pooling::weighted_mean,
                          Pooling::last_token));
  EXPECT_THAT(
      parse_pooling(
          R"({"pooling_mode_max_tokens": true, "pooling_mode_cls_token": true,
              "word_embedding_dimension": 384})",
          {"", "file"}, kHidden)
          .value()
          .pooling,
      ElementsAre(Pooling::cls, Pooling::max));
}

TEST(PoolingSettingsTest, WhereNoneIsOnMeanIsUnlessItIsOff) {
  const Fields none = {{"word_embedding_dimension", "384"}};
  EXPECT_THAT(pooling_of(none), ElementsAre(Pooling::mean));
  EXPECT_THAT(pooling_of(without(switches(), "pooling_mode_mean_tokens")),
              ElementsAre(Pooling::mean));
  EXPECT_THAT(parsed(switches()), IsBad("", {}, {kNames}));
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
  for (const std::string name : {"attention", "Mean", ""}) {
    const std::string quoted = "\"" + name + "\"";
    for (const std::string& modes : {quoted, "[\"cls\", " + quoted + "]"}) {
      EXPECT_THAT(parsed(listed(modes)),
                  IsUnsupported("", {quoted, "pooling_mode"}, {kNames}));
    }
  }
}

TEST(PoolingSettingsTest, ListsThatNameNothingOrOneTwiceAreErrors) {
  const std::string key = "pooling_mode";
  EXPECT_THAT(parsed(listed("[]")), IsBad(key, {"list"}, {kNames}));
  EXPECT_THAT(parsed(listed(R"(["cls", "mean", "cls"])")),
              IsBad("", {"cls", "twice", key}));
  EXPECT_THAT(parsed(listed("1")), IsBad(key, {"1"}, {"16"}));
  EXPECT_THAT(parsed(listed("{}")), IsBad(key, {"object"}, {"16"}));
  for (const std::string list :
       {R"([1])", R"(["cls", null])", R"(["cls", ["mean"]])",
        R"(["cls", {"a": "b"}])", R"([true, "cls"])", R"([-1, "cls"])",
        R"(["cls", 0.5])"}) {
    EXPECT_THAT(parsed(listed(list)), IsBad(key, {"list"}, {"16"})) << list;
  }
  std::string longer = "[\"cls\"";
  for (int i = 0; i < 16; ++i) {
    longer += ", \"cls\"";
  }
  EXPECT_THAT(parsed(listed(longer + "]")), IsBad(key, {"longer"}, {"16"}));
}

TEST(PoolingSettingsTest, TheVectorsMustBeThoseOfTheModel) {
  for (const std::string key :
       {"word_embedding_dimension", "embedding_dimension"}) {
    EXPECT_THAT(parsed({{key, "768"}}), IsBad(key, {"768"}, {"384"}));
    EXPECT_THAT(parsed({{key, "\"384\""}}),
                IsBad(key, {"\"384\""}, {"number"}));
  }
  EXPECT_THAT(parsed(with(switches(), "embedding_dimension", "385")),
              IsBad("embedding_dimension", {"385"}, {"384"}));
  EXPECT_THAT(parsed(without(switches(), "word_embedding_dimension")),
              IsBad("", {"word_embedding_dimension"}));
}

TEST(PoolingSettingsTest, SwitchesAreTrueOrFalse) {
  EXPECT_THAT(parsed(with(switches(), "pooling_mode_cls_token", "1")),
              IsBad("pooling_mode_cls_token", {"1"}, {"true or false"}));
  EXPECT_THAT(parse_pooling("[]", {"", "file"}, kHidden),
              IsBad("", {"array"}, {"object"}));
}

}  // namespace
}  // namespace headwise::testing_support
