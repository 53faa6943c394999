// What `explain` says of a job: as text, as JSON and as a picture, in two
// languages.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "explain/examples.h"
#include "explain/explain_json.h"
#include "explain/explain_picture.h"
#include "explain/explain_text.h"
#include "explain/step_words.h"
#include "explain_jobs.h"
#include "support/errors.h"

namespace headwise::cli {
namespace {

using namespace testing_support;  // NOLINT(google-build-using-namespace)

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

TEST(ExplainTextTest, SaysTheMaximumLengthAndEveryStep) {
  const ExplainedJob job = job_of({});
  const std::string text = explain_text(job, Language::en);
  EXPECT_THAT(text, HasSubstr("\nMaximum sequence length: 20\n"));
  EXPECT_THAT(text, HasSubstr("\n13. scores: compare every query"));
  EXPECT_THAT(text, HasSubstr("shape (B=10, H=8, Lq=20, Lkv=20)  min "));
  EXPECT_THAT(text, HasSubstr("scale = 0.125\n"));
  EXPECT_THAT(text, HasSubstr("    [16,  5, 11,  2,  4,  5,  1, 20, 16, 14]"));
  std::size_t at = 0;
  for (const TracedStep& step : job.steps) {
    const std::size_t next = text.find(". " + step.name + ": ", at);
    ASSERT_NE(next, std::string::npos) << step.name;
    at = next;
  }
}

TEST(ExplainTextTest, ShowsTheMasksOfTheMaskedExample) {
  ExplainFlags flags;
  flags.example = "masked";
  const std::string text = explain_text(job_of(flags), Language::en);
  EXPECT_THAT(text, HasSubstr(". padding_mask: "));
  EXPECT_THAT(text, HasSubstr(". causal_mask: causal mask"));
  EXPECT_THAT(text,
              HasSubstr("(B=5, 1, Lq=10, Lkv=10)  235 of 500 may attend"));
  EXPECT_THAT(text, HasSubstr("530 of 1000 masked (53.0%)"));
  EXPECT_THAT(text, HasSubstr("    -inf"));
}

TEST(ExplainTextTest, PrintsBothMaximumLengthsOfTwoSides) {
  ExplainFlags flags;
  flags.example = "encoder-decoder";
  const std::string text = explain_text(job_of(flags), Language::en);
  EXPECT_THAT(text, HasSubstr("Maximum target sequence length: 12\n"
                              "Maximum source sequence length: 10\n"));
}

TEST(ExplainTextTest, GroupedHeadsSayWhichHeadOfTheKeysTheyRead) {
  ExplainFlags flags = small();
  flags.num_heads = 4;
  flags.num_kv_heads = 2;
  const ExplainedJob job = job_of(flags);
  const std::string text = explain_text(job, Language::en);
  EXPECT_THAT(text, HasSubstr("4 query heads, 2 key/value heads, "
                              "embed_dim 8.\n"));
  EXPECT_THAT(text, HasSubstr("shape (B=10, Hkv=2, Lkv=20, D=2)"));
  EXPECT_THAT(text, HasSubstr("q_heads[b,h,i,d] * "
                              "k_heads[b,floor(h/2),j,d]\n"));
  EXPECT_THAT(text, HasSubstr("attn_weights[b,h,i,j] * "
                              "v_heads[b,floor(h/2),j,d]\n"));
  EXPECT_THAT(text, HasSubstr("\nHkv key/value heads: query head h reads "
                              "head floor(h/2).\n"));
  EXPECT_THAT(explain_text(job, Language::ko),
              HasSubstr("쿼리 헤드 4개, 키와 밸류 헤드 2개, embed_dim 8."));
  flags.num_kv_heads = 4;
  const std::string each_its_own = explain_text(job_of(flags), Language::en);
  EXPECT_THAT(each_its_own, HasSubstr(": 4 heads, embed_dim 8.\n"));
  EXPECT_THAT(each_its_own, Not(HasSubstr("Hkv")));
}

TEST(ExplainTextTest, SpeaksKoreanThroughout) {
  for (const Example& example : examples()) {
    ExplainFlags flags;
    flags.example = example.name;
    const ExplainedJob job = job_of(flags);
    const std::string text = explain_text(job, Language::ko);
    for (const char* english : {"Maximum", "shape (", " min ", "masked (",
                                "may attend", "Axes", "attend", "project"}) {
      EXPECT_THAT(text, Not(HasSubstr(english))) << example.name;
    }
    EXPECT_THAT(text, HasSubstr("모양 ("));
    for (const TracedStep& step : job.steps) {
      EXPECT_THAT(text, HasSubstr(operation_of(job, step, Language::ko)));
    }
  }
}

// A job with every step that has words of its own.
ExplainedJob job_with_dropout_and_softcap() {
  const TempFolder folder;
  put_array<float>(folder / "t5.npy", {4, 2});
  ExplainFlags flags = small();
  flags.operation.t5_bias = folder / "t5.npy";
  flags.mask_kind = "padding+causal";
  flags.operation.dropout = 0.25;
  flags.operation.softcap = 3;
  flags.operation.alibi = "auto";
  return job_of(flags);
}

TEST(ExplainTextTest, EveryStepIsSaidInBothLanguages) {
  const ExplainedJob job = job_with_dropout_and_softcap();
  const std::string english = explain_text(job, Language::en);
  EXPECT_THAT(english, HasSubstr("p = 0.25, "));
  EXPECT_THAT(english, HasSubstr(" weights dropped ("));
  EXPECT_THAT(english, HasSubstr("softcap = 3\n"));
  const std::string korean = explain_text(job, Language::ko);
  EXPECT_THAT(korean, HasSubstr("p = 0.25, 가중치 "));
  EXPECT_THAT(korean, HasSubstr("개 드롭("));
  EXPECT_THAT(korean, HasSubstr("softcap = 3\n"));
  EXPECT_THAT(korean, HasSubstr("마스킹됨("));
  for (const TracedStep& step : job.steps) {
    EXPECT_THAT(korean, HasSubstr(formula_of(job, step, Language::ko)));
    EXPECT_FALSE(step_text(job, step, Language::ko).empty());
  }
}

TEST(ExplainTextTest, FormulasHaveKoreanWords) {
  const ExplainedJob job = job_with_dropout_and_softcap();
  const auto formula = [&](const char* name) {
    return formula_of(job, *job.find(name), Language::ko);
  };
  EXPECT_EQ(formula("lengths"), "lengths[b] = 시퀀스 b의 토큰 수");
  EXPECT_EQ(formula("mask"), "mask = 위 마스크를 모두 AND로 결합");
  EXPECT_EQ(formula("q"), formula_of(job, *job.find("q"), Language::en));
}

TEST(ExplainTextTest, SaysWhenPaddingIsAttendedTo) {
  constexpr const char* kEnglish = "\nPadding is attended to like any token; ";
  constexpr const char* kKorean = "\n패딩도 다른 토큰과 똑같이 ";
  const auto text = [](const ExplainFlags& flags, Language language) {
    return explain_text(job_of(flags), language);
  };
  ExplainFlags flags = small();
  EXPECT_THAT(text(flags, Language::en), HasSubstr(kEnglish));
  EXPECT_THAT(text(flags, Language::ko), HasSubstr(kKorean));
  flags.shapes_only = true;
  EXPECT_THAT(text(flags, Language::en), HasSubstr(kEnglish));
  flags.mask_kind = "padding";
  EXPECT_THAT(text(flags, Language::en), Not(HasSubstr(kEnglish)));
  // Nobody but padding sees padding that comes later.
  flags.mask_kind = "causal";
  EXPECT_THAT(text(flags, Language::en), Not(HasSubstr(kEnglish)));
  const TempFolder folder;
  put_text(folder / "alike", "[[1, 2], [3, 4]]");
  flags.mask_kind = "none";
  flags.tokens = folder / "alike";
  EXPECT_THAT(text(flags, Language::en), Not(HasSubstr(kEnglish)));
}

TEST(ExplainTextTest, ScoresAreMaskedByAStepThatIsShown) {
  const auto formula = [](const ExplainedJob& job) {
    return formula_of(job, *job.find("masked_scores"), Language::en);
  };
  ExplainFlags flags;
  flags.example = "encoder-decoder";
  EXPECT_EQ(formula(job_of(flags)),
            "masked_scores = scores if padding_mask else -inf");
  flags.example = "valid-lengths";
  EXPECT_EQ(formula(job_of(flags)),
            "masked_scores = scores if key_lengths_mask else -inf");
  flags.example = "masked";
  EXPECT_EQ(formula(job_of(flags)), "masked_scores = scores if mask else -inf");
}

TEST(ExplainTextTest, OneHeadIsOne) {
  ExplainFlags flags = small();
  flags.num_heads = 1;
  EXPECT_THAT(explain_text(job_of(flags), Language::en),
              HasSubstr(": 1 head, embed_dim 8.\n"));
}

TEST(ExplainTextTest, OfShapesAloneShowsNoNumbers) {
  ExplainFlags flags;
  flags.shapes_only = true;
  flags.embed_dim = std::size_t{1} << 63;  // times 10 * 20 wraps round to 0
  flags.num_heads = 1;
  const std::string text = explain_text(job_of(flags), Language::en);
  EXPECT_THAT(text, HasSubstr("E=9223372036854775808)  float32\n"));
  EXPECT_THAT(text, Not(HasSubstr("[]")));
  EXPECT_THAT(text, Not(HasSubstr("[0, :")));
}

TEST(ExplainTextTest, AFullyMaskedStepHasNoRange) {
  const TempFolder folder;
  put_array<std::int64_t>(folder / "none.npy", {10}, 1);
  ExplainFlags flags = small();
  flags.operation.key_lengths = folder / "none.npy";
  const ExplainedJob job = job_of(flags);
  const TracedStep& step = *job.find("masked_scores");
  EXPECT_THAT(step_text(job, step, Language::en),
              HasSubstr("no finite number; 8000 of 8000 masked (100.0%)"));
  EXPECT_THAT(step_text(job, step, Language::ko), HasSubstr("유한한 값 없음"));
  EXPECT_FALSE(
      Json::parse(explain_json(job, &step, Language::en))["steps"][0].contains(
          "min"));
}

TEST(ExplainTextTest, OneSequenceIsOne) {
  const TempFolder folder;
  put_text(folder / "one", "[[1, 2]]");
  ExplainFlags flags = small();
  flags.tokens = folder / "one";
  EXPECT_THAT(
      explain_text(job_of(flags), Language::en),
      testing::StartsWith("One sequence of token ids (vocabulary 100)"));
  flags.target_tokens = folder / "one";
  EXPECT_THAT(explain_text(job_of(flags), Language::en),
              testing::StartsWith("One target sequence (queries) attends"));
}

TEST(ExplainJsonTest, EveryStepHasWhatTheSchemaPromises) {
  for (const Example& example : examples()) {
    for (const Language language : {Language::en, Language::ko}) {
      ExplainFlags flags;
      flags.example = example.name;
      const ExplainedJob job = job_of(flags);
      const Json json = Json::parse(explain_json(job, nullptr, language));
      EXPECT_EQ(json["schema"], "headwise.explain");
      EXPECT_EQ(json["schema_version"], 1);
      EXPECT_TRUE(json["headwise_version"].is_string());
      EXPECT_EQ(json["num_heads"], example.num_heads);
      EXPECT_EQ(json["embed_dim"], example.embed_dim);
      EXPECT_EQ(json.contains("max_sequence_length"),
                !example.vectors && !example.target);
      EXPECT_EQ(json.contains("max_source_sequence_length"),
                example.target.has_value());
      ASSERT_EQ(json["steps"].size(), job.steps.size());
      for (std::size_t n = 0; n < job.steps.size(); ++n) {
        const Json& step = json["steps"][n];
        EXPECT_EQ(step["number"], n + 1);
        EXPECT_EQ(step["name"], job.steps[n].name);
        EXPECT_EQ(step["operation"], operation_of(job, job.steps[n], language));
        EXPECT_EQ(step["formula"], formula_of(job, job.steps[n]));
        EXPECT_EQ(step["shape"].get<std::vector<std::size_t>>(),
                  job.steps[n].extents);
        EXPECT_EQ(step["axes"].get<std::vector<std::string>>(),
                  job.steps[n].axes);
        EXPECT_EQ(step["dtype"], name_of(job.steps[n].dtype));
        EXPECT_TRUE(step["masked"].is_number_unsigned());
        EXPECT_TRUE(step["nan"].is_number_unsigned());
        EXPECT_EQ(step.contains("min"), job.steps[n].dtype != DType::boolean);
        EXPECT_FALSE(step.contains("values"));
      }
    }
  }
}

TEST(ExplainJsonTest, SaysHowManyHeadsKeysAndValuesHave) {
  ExplainFlags flags = small();
  flags.num_heads = 4;
  const auto num_kv_heads = [&] {
    return Json::parse(
        explain_json(job_of(flags), nullptr, Language::en))["num_kv_heads"];
  };
  EXPECT_EQ(num_kv_heads(), 4);
  flags.num_kv_heads = 2;
  EXPECT_EQ(num_kv_heads(), 2);
}

TEST(ExplainJsonTest, OneStepHasItsValuesAndInfinityIsAString) {
  ExplainFlags flags;
  flags.example = "masked";
  const ExplainedJob job = job_of(flags);
  const auto values = [&](const char* name) {
    const TracedStep* step = job.find(name);
    const Json json = Json::parse(explain_json(job, step, Language::en));
    EXPECT_EQ(json["steps"].size(), 1u);
    EXPECT_EQ(json["steps"][0]["number"], step - job.steps.data() + 1);
    return json["steps"][0]["values"];
  };
  const Json scores = values("masked_scores");
  ASSERT_EQ(scores.size(), 5u);
  ASSERT_EQ(scores[4][1][9].size(), 10u);
  EXPECT_EQ(scores[0][0][0][1], "-inf");
  EXPECT_EQ(scores[0][0][0][0], job.find("masked_scores")->at(0));
  EXPECT_EQ(values("padding_mask")[0][0][0][0], true);
  EXPECT_EQ(values("padding_mask")[0][0][0][9], false);
  EXPECT_EQ(values("padded")[0][0], 62);
  EXPECT_TRUE(values("padded")[0][0].is_number_integer());
}

TEST(ExplainJsonTest, NaNIsAString) {
  const TempFolder folder;
  put_text(folder / "tokens", "[[], [1]]");
  ExplainFlags flags = small();
  flags.tokens = folder / "tokens";
  flags.mask_kind = "padding";
  flags.operation.empty_rows = "nan";
  const ExplainedJob job = job_of(flags);
  const Json step = Json::parse(
      explain_json(job, job.find("attn_weights"), Language::en))["steps"][0];
  EXPECT_EQ(step["nan"], 2);
  EXPECT_EQ(step["values"][0][0][0][0], "nan");
  EXPECT_EQ(step["values"][1][0][0][0], 1.0);
}

TEST(ExplainJsonTest, ShapesAloneHaveNoNumbers) {
  ExplainFlags flags;
  flags.shapes_only = true;
  const ExplainedJob job = job_of(flags);
  const Json json =
      Json::parse(explain_json(job, job.find("scores"), Language::en));
  EXPECT_THAT(json["steps"][0]["shape"].get<std::vector<int>>(),
              ElementsAre(10, 8, 20, 20));
  for (const char* key : {"min", "max", "masked", "nan", "values"}) {
    EXPECT_FALSE(json["steps"][0].contains(key)) << key;
  }
}

TEST(ExplainPictureTest, DrawsTheSequenceThatWasAskedFor) {
  ExplainFlags flags;
  flags.example = "masked";
  const ExplainedJob job = job_of(flags);
  const std::string svg = explain_picture(job, 1, Language::en).value();
  EXPECT_THAT(svg, HasSubstr("every head, sequence 1"));
  EXPECT_THAT(svg, HasSubstr(">96</text>"));
  EXPECT_THAT(svg, HasSubstr("60 → 60: 1</title>"));
  // attn_weights[1, 0, 1, 0] of (5, 2, 10, 10).
  EXPECT_THAT(svg, HasSubstr(fmt::format("96 → 60: {:.6g}</title>",
                                         job.find("attn_weights")->at(210))));
  EXPECT_THAT(svg, HasSubstr("60 → 96: masked</title>"));
  EXPECT_THAT(svg, HasSubstr("(pad) → 90: "));
  EXPECT_THAT(explain_picture(job, 1, Language::ko).value(),
              HasSubstr(">(패딩)</text>"));
}

TEST(ExplainPictureTest, ASequenceThatIsNotThereIsRefused) {
  ExplainFlags flags;
  flags.example = "masked";
  EXPECT_THAT(explain_picture(job_of(flags), 5, Language::en),
              HasError({.code = ErrorCode::invalid_argument,
                        .argument = "--sequence",
                        .given = {"5"},
                        .expected = {"0 to 4"}}));
  const TempFolder folder;
  put_text(folder / "none", "[]");
  flags = small();
  flags.tokens = folder / "none";
  EXPECT_THAT(explain_picture(job_of(flags), 0, Language::en),
              HasError({.code = ErrorCode::out_of_range,
                        .argument = "--picture",
                        .given = {"none"}}));
}

}  // namespace
}  // namespace headwise::cli
