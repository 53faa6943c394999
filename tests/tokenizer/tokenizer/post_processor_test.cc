#include "tokenizer/post_processor.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using Ids = std::vector<TokenId>;
using Spans = std::vector<ByteSpan>;

Result<PostProcessor> read(std::string_view text) {
  const auto json = Json::parse(text, 10000, 50);
  return read_post_processor(
      JsonPart(&*json, FileSubject{.file = "t.json"}, "post_processor"));
}

std::string error_of(std::string_view text) {
  const auto post = read(text);
  return post ? "none" : post.error().message();
}

// Tokens first, first + 1, ...: a byte and a word each.
EncodedText tokens_from(TokenId first, std::size_t count) {
  EncodedText text{.text =
                       std::string_view("abcdefghijklmnop").substr(0, count)};
  for (std::size_t t = 0; t < count; ++t) {
    text.encoding.ids.push_back(first + static_cast<TokenId>(t));
    text.encoding.offsets.push_back({t, t + 1});
    text.encoding.words.push_back(static_cast<std::int32_t>(t));
  }
  return text;
}

Result<Encoding> finish(const PostProcessor& post, std::size_t first,
                        std::optional<std::size_t> second,
                        const EncodeOptions& options) {
  return finish_encoding(
      post, "encode", tokens_from(0, first),
      second ? std::optional(tokens_from(50, *second)) : std::nullopt,
      [](TokenId, std::string_view) { return "x"; }, options);
}

std::string finish_error(const PostProcessor& post, std::size_t first,
                         std::optional<std::size_t> second,
                         const Truncation& truncation) {
  const auto done = finish(post, first, second, {.truncation = truncation});
  return done ? "none" : done.error().message();
}

std::vector<Ids> overflowing_ids(const Encoding& encoding) {
  std::vector<Ids> ids;
  for (const Encoding& other : encoding.overflowing) {
    ids.push_back(other.ids);
  }
  return ids;
}

const std::string kBert =
    R"({"type":"BertProcessing","sep":["[SEP]",91],"cls":["[CLS]",90]})";
const std::string kRoberta =
    R"({"type":"RobertaProcessing","sep":["</s>",91],"cls":["<s>",90],)"
    R"("trim_offsets":true,"add_prefix_space":true})";
const std::string kTemplate =
    R"({"type":"TemplateProcessing","single":[)"
    R"({"Sequence":{"id":"A","type_id":3}},)"
    R"({"SpecialToken":{"id":"[S]","type_id":4}}],"pair":[)"
    R"({"Sequence":{"id":"B","type_id":1}},)"
    R"({"SpecialToken":{"id":"[S]","type_id":0}},)"
    R"({"Sequence":{"id":"A","type_id":2}}],"special_tokens":{)"
    R"("[S]":{"id":"[S]","ids":[95,96],"tokens":["[S]","[T]"]}}})";

TEST(PostProcessorTest, BertAddsItsTokens) {
  const auto post = read(kBert).value();
  const Encoding one = finish(post, 2, {}, {}).value();
  EXPECT_EQ(one.ids, (Ids{90, 0, 1, 91}));
  EXPECT_EQ(one.offsets, (Spans{{0, 0}, {0, 1}, {1, 2}, {0, 0}}));
  EXPECT_EQ(one.words, (std::vector<std::int32_t>{-1, 0, 1, -1}));
  EXPECT_EQ(one.sequences, (std::vector<std::int8_t>{-1, 0, 0, -1}));
  EXPECT_EQ(one.token_types, (Ids{0, 0, 0, 0}));
  const Encoding two = finish(post, 1, 1, {}).value();
  EXPECT_EQ(two.ids, (Ids{90, 0, 91, 50, 91}));
  EXPECT_EQ(two.sequences, (std::vector<std::int8_t>{-1, 0, -1, 1, -1}));
  EXPECT_EQ(two.token_types, (Ids{0, 0, 0, 1, 1}));
  const Encoding bare =
      finish(post, 1, 1, {.add_special_tokens = false}).value();
  EXPECT_EQ(bare.ids, (Ids{0, 50}));
  EXPECT_EQ(bare.token_types, (Ids{0, 1}));
}

TEST(PostProcessorTest, RobertaHasOneTokenType) {
  const Encoding two = finish(read(kRoberta).value(), 1, 1, {}).value();
  EXPECT_EQ(two.ids, (Ids{90, 0, 91, 91, 50, 91}));
  EXPECT_EQ(two.token_types, Ids(6, 0));
}

TEST(PostProcessorTest, TemplatesPlaceTextsAndTokens) {
  const auto post = read(kTemplate).value();
  const Encoding one = finish(post, 2, {}, {}).value();
  EXPECT_EQ(one.ids, (Ids{0, 1, 95, 96}));
  EXPECT_EQ(one.token_types, (Ids{3, 3, 4, 4}));
  const Encoding two = finish(post, 1, 2, {}).value();
  EXPECT_EQ(two.ids, (Ids{50, 51, 95, 96, 0}));
  EXPECT_EQ(two.token_types, (Ids{1, 1, 0, 0, 2}));
  EXPECT_EQ(two.sequences, (std::vector<std::int8_t>{1, 1, -1, -1, 0}));
}

TEST(PostProcessorTest, NoneJoinsTheTexts) {
  const Encoding two = finish(PostProcessor(), 1, 1, {}).value();
  EXPECT_EQ(two.ids, (Ids{0, 50}));
  EXPECT_EQ(two.token_types, (Ids{0, 1}));
}

struct TrimCase {
  std::string_view token;
  std::string_view text;
  ByteSpan span;
  ByteSpan without_prefix;  // add_prefix_space false
  ByteSpan with_prefix;
};

TEST(PostProcessorTest, OffsetsLoseSpacesInCharacters) {
  const std::vector<TrimCase> cases = {
      {"Ġa", " a", {0, 2}, {1, 2}, {0, 2}},
      {"ĠĠa", "\u3000\u00A0a", {0, 6}, {5, 6}, {5, 6}},
      {"ĠĠ", "  ", {0, 2}, {2, 2}, {2, 2}},
      {"aĠ", "a\u00E9", {0, 3}, {0, 1}, {0, 1}},
      {"\u00A0ĠĠ", "\u00E9", {0, 2}, {2, 2}, {2, 2}},
      {"Ġ", "a", {0, 1}, {1, 1}, {0, 0}},
      {"aĠĠ", "b", {0, 1}, {0, 1}, {0, 1}},
  };
  for (const TrimCase& one : cases) {
    for (const bool prefix : {false, true}) {
      PostProcessor post;
      post.trims_for_prefix_space = {prefix};
      EncodedText text{.text = one.text};
      text.encoding.ids = {7};
      text.encoding.offsets = {one.span};
      text.encoding.words = {0};
      const Encoding done =
          finish_encoding(post, "encode", text, {},
                          [&](TokenId, std::string_view) { return one.token; },
                          {})
              .value();
      EXPECT_EQ(done.offsets[0], prefix ? one.with_prefix : one.without_prefix)
          << one.token;
    }
  }
}

TEST(PostProcessorTest, OnlyTheFirstTokenOrOneAtTheStartKeepsItsSpace) {
  PostProcessor post;
  post.trims_for_prefix_space = {true};
  EncodedText text{.text = "  a a"};
  text.encoding.ids = {7, 7};
  text.encoding.offsets = {{1, 3}, {3, 5}};
  text.encoding.words = {0, 1};
  const Encoding done =
      finish_encoding(post, "encode", text, {},
                      [](TokenId, std::string_view) { return "Ġa"; }, {})
          .value();
  EXPECT_EQ(done.offsets, (Spans{{1, 3}, {4, 5}}));
}

TEST(PostProcessorTest, SequencesTrimAndAddTokens) {
  const auto post =
      read(R"({"type":"Sequence","processors":[{"type":"ByteLevel",)"
           R"("add_prefix_space":false,"trim_offsets":true},)" +
           kBert + "]}")
          .value();
  EXPECT_EQ(post.trims_for_prefix_space, std::vector<bool>{false});
  EXPECT_EQ(finish(post, 1, {}, {}).value().ids, (Ids{90, 0, 91}));
}

TEST(TruncationTest, PartsOverlapByTheStride) {
  const auto post = read(kBert).value();
  const Truncation right = {
      .max_tokens = 5, .stride = 1, .keep_overflowing = true};
  const Encoding one = finish(post, 6, {}, {.truncation = right}).value();
  EXPECT_EQ(one.ids, (Ids{90, 0, 1, 2, 91}));
  EXPECT_EQ(one.cut, 3U);
  EXPECT_EQ(overflowing_ids(one),
            (std::vector<Ids>{{90, 2, 3, 4, 91}, {90, 4, 5, 91}}));
  EXPECT_EQ(one.overflowing[0].cut, 0U);
  Truncation left = right;
  left.side = TruncationSide::left;
  const Encoding end = finish(post, 6, {}, {.truncation = left}).value();
  EXPECT_EQ(end.ids, (Ids{90, 3, 4, 5, 91}));
  EXPECT_EQ(overflowing_ids(end),
            (std::vector<Ids>{{90, 1, 2, 3, 91}, {90, 0, 1, 91}}));
}

TEST(TruncationTest, PartsOfPairsAreMultiplied) {
  Truncation truncation = {.max_tokens = 4, .keep_overflowing = true};
  const Encoding two =
      finish(PostProcessor(), 3, 3, {.truncation = truncation}).value();
  EXPECT_EQ(two.ids, (Ids{0, 1, 50, 51}));
  EXPECT_EQ(two.cut, 2U);
  EXPECT_EQ(overflowing_ids(two),
            (std::vector<Ids>{{2, 50, 51}, {2, 52}, {0, 1, 52}}));
  truncation.keep_overflowing = false;
  const Encoding alone =
      finish(PostProcessor(), 3, 3, {.truncation = truncation}).value();
  EXPECT_EQ(alone.ids, two.ids);
  EXPECT_EQ(alone.cut, 2U);
  EXPECT_TRUE(alone.overflowing.empty());
}

TEST(TruncationTest, TheLongestTextIsCutFirst) {
  struct Row {
    std::size_t first, second, room, kept_first, kept_second;
  };
  for (const Row& row : std::vector<Row>{{2, 9, 7, 2, 5},
                                         {9, 2, 7, 5, 2},
                                         {9, 9, 7, 3, 4},
                                         {10, 9, 7, 4, 3},
                                         {3, 4, 7, 3, 4},
                                         {5, 5, 0, 0, 0}}) {
    const Encoding two =
        finish(PostProcessor(), row.first, row.second,
               {.truncation = Truncation{.max_tokens = row.room}})
            .value();
    EXPECT_EQ(std::ranges::count(two.sequences, 0),
              static_cast<std::ptrdiff_t>(row.kept_first));
    EXPECT_EQ(std::ranges::count(two.sequences, 1),
              static_cast<std::ptrdiff_t>(row.kept_second));
  }
}

TEST(TruncationTest, OneTextCanBeKept) {
  Truncation truncation = {.max_tokens = 5,
                           .strategy = TruncationStrategy::only_second};
  EXPECT_EQ(
      finish(PostProcessor(), 3, 4, {.truncation = truncation}).value().ids,
      (Ids{0, 1, 2, 50, 51}));
  truncation.strategy = TruncationStrategy::only_first;
  EXPECT_EQ(
      finish(PostProcessor(), 3, 4, {.truncation = truncation}).value().ids,
      (Ids{0, 50, 51, 52, 53}));
  // With no room at all, both are cut.
  truncation.max_tokens = 0;
  EXPECT_EQ(
      finish(PostProcessor(), 3, 4, {.truncation = truncation}).value().ids,
      Ids());
}

TEST(TruncationTest, OptionsThatDoNotFitAreErrors) {
  const auto post = read(kBert).value();
  EXPECT_EQ(finish_error(post, 1, {}, {.max_tokens = 1}),
            "encode: truncation.max_tokens is 1, expected at least 2, for the "
            "tokens that are added");
  EXPECT_EQ(
      finish_error(PostProcessor(), 1, {}, {.max_tokens = 3, .stride = 1}),
      "encode: truncation.stride is 1, expected 0 unless overflowing "
      "parts are kept");
  EXPECT_EQ(
      finish_error(PostProcessor(), 1, {},
                   {.max_tokens = 3, .stride = 3, .keep_overflowing = true}),
      "encode: truncation.stride is 3, expected less than the 3 tokens "
      "of a text that fit");
  EXPECT_EQ(
      finish_error(post, 9, {},
                   {.max_tokens = 4, .stride = 2, .keep_overflowing = true}),
      "encode: truncation.stride is 2, expected less than the 2 tokens "
      "of a text that fit");
  EXPECT_EQ(finish_error(
                PostProcessor(), 4, {},
                {.max_tokens = 3, .strategy = TruncationStrategy::only_second}),
            "encode: truncation.strategy is only_second, expected "
            "longest_first or only_first, for one text");
  EXPECT_EQ(finish_error(
                PostProcessor(), 4, 4,
                {.max_tokens = 4, .strategy = TruncationStrategy::only_first}),
            "encode: truncation.max_tokens is 4, expected at least 5, for the "
            "text that is not cut and one token");
}

TEST(PostProcessorTest, WhatIsWrongIsNamed) {
  EXPECT_EQ(finish(read("null").value(), 2, {}, {}).value().ids, (Ids{0, 1}));
  EXPECT_EQ(error_of(R"({"type":"Nope"})"),
            "t.json: post_processor.type is \"Nope\", expected BertProcessing, "
            "RobertaProcessing, ByteLevel, TemplateProcessing");
  EXPECT_EQ(error_of(R"({"type":"BertProcessing","sep":["a",-1],)"
                     R"("cls":["a",1]})"),
            "t.json: post_processor.sep[1] is not an id, expected a whole "
            "number from 0 to 4294967295");
  EXPECT_EQ(error_of(R"({"type":"BertProcessing","sep":["a",4294967296],)"
                     R"("cls":["a",1]})"),
            "t.json: post_processor.sep[1] is not an id, expected a whole "
            "number from 0 to 4294967295");
  EXPECT_EQ(
      error_of(R"({"type":"TemplateProcessing","single":[)"
               R"({"SpecialToken":{"id":"[X]","type_id":0}}],)"
               R"("pair":[],"special_tokens":{}})"),
      "t.json: post_processor.single[0].SpecialToken.id is \"[X]\", expected "
      "a name in special_tokens");
  EXPECT_EQ(
      error_of(R"({"type":"TemplateProcessing","single":[)"
               R"({"Sequence":{"id":"B","type_id":0}}],)"
               R"("pair":[],"special_tokens":{}})"),
      "t.json: post_processor.single[0].Sequence.id is \"B\", expected A");
  EXPECT_EQ(error_of(R"({"type":"Sequence","processors":[)" + kBert + "," +
                     kBert + "]}"),
            "t.json: post_processor.processors[1] adds tokens, expected one "
            "post-processor that does");
}

using Check = Status (*)(const JsonPart&);

std::string fault_of(Check check, std::string_view text) {
  const auto json = Json::parse(text, 10000, 50);
  const Status status =
      check(JsonPart(&*json, FileSubject{.file = "t.json"}, "state"));
  return status ? "none" : status.error().message();
}

TEST(SavedTruncationTest, HasItsForm) {
  const std::string good =
      R"("max_length":3,"strategy":"OnlyFirst","stride":0})";
  EXPECT_EQ(fault_of(check_saved_truncation, "null"), "none");
  EXPECT_EQ(fault_of(check_saved_truncation, "{" + good), "none");
  EXPECT_EQ(fault_of(check_saved_truncation, R"({"direction":"left",)" + good),
            "t.json: state.direction is \"left\", expected Left, Right");
  EXPECT_EQ(fault_of(check_saved_truncation, R"({"max_length":3})"),
            "t.json: state has no strategy");
}

TEST(SavedPaddingTest, HasItsForm) {
  const std::string good =
      R"("direction":"Left","pad_id":0,"pad_type_id":0,"pad_token":"p"})";
  EXPECT_EQ(fault_of(check_saved_padding, "null"), "none");
  EXPECT_EQ(
      fault_of(check_saved_padding, R"({"strategy":"BatchLongest",)" + good),
      "none");
  EXPECT_EQ(fault_of(check_saved_padding, R"({"strategy":{"Fixed":3},)" + good),
            "none");
  EXPECT_EQ(
      fault_of(check_saved_padding, R"({"strategy":{"Fixed":"a"},)" + good),
      "t.json: state.strategy.Fixed is \"a\", expected a whole number of at "
      "least "
      "0");
  EXPECT_EQ(fault_of(check_saved_padding, "{" + good),
            "t.json: state has no strategy");
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
