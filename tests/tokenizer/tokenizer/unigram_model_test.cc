#include <gtest/gtest.h>

#include "tokenizer/model_words.h"

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

TEST(UnigramModelTest, AnUnknownCharacterScores10LessThanTheWorstPiece) {
  const auto of = [](double score) {
    return tokens_of(
        *model_of(unigram_spec({{"unk_id", 0}},
                               {{"u", 0}, {"a", score}, {"ab", -20}})),
        "ab");
  };
  EXPECT_EQ(of(9.9), "ab[0,2)");
  EXPECT_EQ(of(10.1), "a[0,1) u[1,2)");
}

// The two paths of "bbb" differ in the last bit of their sums.
TEST(UnigramModelTest, RoundsScoresAsTheReference) {
  const auto model =
      model_of(unigram_spec({{"unk_id", 0}}, {{"u", 0},
                                              {"q", -6.489745531369242},
                                              {"b", -9.009004917506227},
                                              {"bb", -1.1320596465314436}}));
  EXPECT_EQ(tokens_of(*model, "qbbb"), "q[0,1) b[1,2) bb[2,4)");
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
