#include <gtest/gtest.h>

#include "model_words.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using Pieces = std::vector<std::pair<std::string, double>>;

TokenizerSpec unigram_spec(Json options, Pieces pieces) {
  TokenizerSpec spec;
  spec.subject = {"read", "t.json", {}};
  spec.json["model"] = {{"type", "Unigram"}};
  spec.json["model"].update(options);
  spec.pieces = std::move(pieces);
  return spec;
}

TEST(UnigramModelTest, TakesTheBestSum) {
  const auto model = model_of(unigram_spec(
      {{"unk_id", 0}},
      {{"u", 0}, {"a", -1}, {"b", -1}, {"ab", -2}, {"bb", -1.5}, {"", 9}}));
  // Of equal sums, the longer last piece.
  EXPECT_EQ(tokens_of(*model, "ab"), "ab[0,2)");
  EXPECT_EQ(tokens_of(*model, "abb"), "a[0,1) bb[1,3)");
}

TEST(UnigramModelTest, JoinsUnknownCharacters) {
  const Pieces pieces = {{"u", 0},       {"a", -1},      {"xy", -100},
                         {"<0xC3>", -3}, {"<0xA9>", -3}, {"<0x78>", -3}};
  const auto model = model_of(unigram_spec({{"unk_id", 0}}, pieces));
  EXPECT_EQ(tokens_of(*model, "a\u00E9x\u00E9a"), "a[0,1) u[1,6) a[6,7)");
  // The piece of the unknown token is joined, too.
  EXPECT_EQ(tokens_of(*model, "auza"), "a[0,1) u[1,3) a[3,4)");
  // They may be a piece with a lower score.
  EXPECT_EQ(tokens_of(*model, "axya"), "a[0,1) xy[1,3) a[3,4)");
  const auto bytes =
      model_of(unigram_spec({{"unk_id", 0}, {"byte_fallback", true}}, pieces));
  EXPECT_EQ(tokens_of(*bytes, "ax\u00E9a"),
            "a[0,1) <0x78>[1,4) <0xC3>[1,4) <0xA9>[1,4) a[4,5)");
  EXPECT_EQ(tokens_of(*bytes, "axza"), "a[0,1) u[1,3) a[3,4)");
}

// A character without a piece scores 10 less than the worst piece.
TEST(UnigramModelTest, UnknownCharactersAreExpensive) {
  const auto of = [](double score) {
    return tokens_of(*model_of(unigram_spec(
                         {{"unk_id", 0}},
                         {{"u", 0}, {"a", -1}, {"ab", score}, {"zz", -20}})),
                     "ab");
  };
  EXPECT_EQ(of(-30.5), "ab[0,2)");  // zz is no longer the worst
  const auto model = model_of(unigram_spec(
      {{"unk_id", 0}}, {{"u", 0}, {"a", -1}, {"ab", -20}, {"abz", -29}}));
  EXPECT_EQ(tokens_of(*model, "abz"), "abz[0,3)");
}

TEST(UnigramModelTest, ReadsScoresAsTheReference) {
  const auto model =
      model_of(unigram_spec({{"unk_id", 0}}, {{"u", 0},
                                              {"b", -9.655482068429077},
                                              {"bb", -5.655342385190405},
                                              {"q", -3.9999999999999996e-05}}));
  EXPECT_EQ(tokens_of(*model, "bbb"), "b[0,1) bb[1,3)");
}

TEST(UnigramModelTest, TheLastOfEqualPiecesCounts) {
  const auto model = model_of(
      unigram_spec({{"unk_id", 0}},
                   {{"u", 0}, {"a", -1}, {"b", -1}, {"ab", -2}, {"a", -0.5}}));
  EXPECT_EQ(tokens_of(*model, "ab"), "a[0,1) b[1,2)");
  EXPECT_EQ(model->size(), 5);
  EXPECT_EQ(model->find("a"), 4);
  EXPECT_EQ(model->token(1), "a");
  EXPECT_EQ(model->token(4), "a");
  EXPECT_FALSE(model->token(5));
}

TEST(UnigramModelTest, NeedsUnkIdForUnknownCharacters) {
  const auto model = model_of(unigram_spec(Json::object(), {{"a", -1}}));
  EXPECT_EQ(tokens_of(*model, "a"), "a[0,1)");
  EXPECT_EQ(tokens_of(*model, "ab"),
            "read: t.json: model has no unk_id for the unknown character b");
  EXPECT_EQ(spec_error(unigram_spec({{"unk_id", 1}}, {{"a", -1}})),
            "read: t.json: model.unk_id is 1, expected the number of one of 1 "
            "pieces");
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
