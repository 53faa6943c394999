// What `explain` makes of a job: the same steps whether it computes or only
// sizes them, as text and as JSON, in two languages.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "examples.h"
#include "explain_job.h"
#include "explain_json.h"
#include "explain_picture.h"
#include "explain_text.h"
#include "headwise/inspect/step_table.h"
#include "headwise/interop/npy.h"
#include "interop/files.h"
#include "step_words.h"

namespace headwise::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

// A file of zeros and ones, or of numbers below `largest`.
template <class T>
void put_array(const std::string& path, const std::vector<std::size_t>& shape,
               std::size_t largest = 2) {
  std::size_t count = 1;
  for (const std::size_t extent : shape) {
    count *= extent;
  }
  const auto data = std::make_unique<T[]>(count);
  for (std::size_t n = 0; n < count; ++n) {
    data[n] = static_cast<T>((n * 7 + n / 3) % largest);
  }
  std::vector<std::ptrdiff_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) {
    strides[axis - 1] =
        strides[axis] * static_cast<std::ptrdiff_t>(shape[axis]);
  }
  const Status s =
      write_npy(path, AnyView(data.get(), DTypeOf<T>::value, shape, strides));
  ASSERT_TRUE(s) << s.error().message;
}

void put_text(const std::string& path, std::string_view text) {
  put_file(path, bytes_of(text));
}

ExplainedJob job_of(const ExplainFlags& flags) {
  const auto job = run_job(flags, {});
  EXPECT_TRUE(job) << job.error().message;
  return job ? *job : ExplainedJob{};
}

Error error_of(const ExplainFlags& flags) {
  const auto job = run_job(flags, {});
  EXPECT_FALSE(job);
  return job ? Error{} : job.error();
}

// Small, so that a job costs nothing.
ExplainFlags small() {
  ExplainFlags flags;
  flags.embed_dim = 8;
  flags.num_heads = 2;
  return flags;
}

void expect_same_steps(ExplainFlags flags, const std::string& what) {
  SCOPED_TRACE(what);
  flags.shapes_only = false;
  const ExplainedJob computed = job_of(flags);
  flags.shapes_only = true;
  const ExplainedJob listed = job_of(flags);
  ASSERT_EQ(listed.steps.size(), computed.steps.size());
  ASSERT_FALSE(listed.steps.empty());
  for (std::size_t n = 0; n < listed.steps.size(); ++n) {
    const TracedStep& real = computed.steps[n];
    EXPECT_EQ(listed.steps[n].name, real.name);
    EXPECT_EQ(listed.steps[n].axes, real.axes) << real.name;
    EXPECT_EQ(listed.steps[n].extents, real.extents) << real.name;
    EXPECT_EQ(listed.steps[n].dtype, real.dtype) << real.name;
    EXPECT_TRUE(listed.steps[n].data.empty()) << real.name;
    EXPECT_NE(find_step(real.name), nullptr) << real.name;
    EXPECT_EQ(formula_of(listed, listed.steps[n]), formula_of(computed, real));
  }
  EXPECT_EQ(listed.scale, computed.scale);
}

TEST(ListStepsTest, EqualsWhatEveryExampleReports) {
  for (const Example& example : examples()) {
    ExplainFlags flags;
    flags.example = example.name;
    expect_same_steps(flags, flags.example);
  }
}

TEST(ListStepsTest, EqualsWhatGroupedHeadsReport) {
  ExplainFlags flags = small();
  flags.num_heads = 4;
  for (const std::size_t num_kv_heads : {1u, 2u, 4u}) {
    flags.num_kv_heads = num_kv_heads;
    expect_same_steps(flags, std::to_string(num_kv_heads) + " key heads");
  }
  flags.num_kv_heads = 2;
  EXPECT_EQ(job_of(flags).find("k_heads")->axes[1], "Hkv");
  EXPECT_EQ(job_of(flags).find("k_heads")->extents[1], 2u);
}

TEST(ListStepsTest, EqualsWhatEveryMaskReports) {
  const TempFolder folder;
  put_array<bool>(folder / "dense.npy", {5, 1, 10});
  put_array<std::int64_t>(folder / "lengths.npy", {5}, 10);
  put_array<std::int64_t>(folder / "lengths2.npy", {5, 10}, 10);
  put_array<std::int64_t>(folder / "starts.npy", {5}, 3);
  put_array<bool>(folder / "padding.npy", {5, 10});
  put_array<std::int64_t>(folder / "documents.npy", {5, 10}, 1);  // all 0
  put_array<float>(folder / "bias.npy", {10, 10});
  const std::vector<std::function<void(ExplainFlags&)>> changes = {
      [](ExplainFlags& f) { f.mask_kind = "none"; },
      [](ExplainFlags& f) { f.mask_kind = "padding"; },
      [](ExplainFlags& f) { f.mask_kind = "causal"; },
      [](ExplainFlags& f) { f.operation.causal = true; },
      [&](ExplainFlags& f) {
        f.operation.mask = folder / "dense.npy";
        f.operation.mask_axes = "B,1,Lkv";
      },
      [&](ExplainFlags& f) {
        f.operation.key_lengths = folder / "lengths.npy";
      },
      [&](ExplainFlags& f) {
        f.operation.key_lengths = folder / "lengths2.npy";
        f.operation.key_padding = folder / "padding.npy";
      },
      [&](ExplainFlags& f) { f.operation.query_start = folder / "starts.npy"; },
      [](ExplainFlags& f) { f.operation.window = "2,inf"; },
      [&](ExplainFlags& f) {
        f.operation.query_start = folder / "starts.npy";
        f.operation.window = "0,1";
      },
      [&](ExplainFlags& f) {
        f.operation.key_starts = folder / "starts.npy";
        f.operation.documents = folder / "documents.npy";
      },
      [](ExplainFlags& f) { f.operation.softcap = 2; },
      [](ExplainFlags& f) { f.operation.alibi = "auto"; },
      [&](ExplainFlags& f) {
        f.mask_kind = "none";
        f.operation.bias = folder / "bias.npy";
        f.operation.bias_axes = "Lq,Lkv";
      },
  };
  for (std::size_t n = 0; n < changes.size(); ++n) {
    ExplainFlags flags;
    flags.example = "masked";
    changes[n](flags);
    expect_same_steps(flags, std::to_string(n));
  }
}

TEST(FormulaTest, EachStepOfTheScoresNamesTheOneBeforeIt) {
  ExplainFlags flags = small();
  flags.example = "masked";
  flags.operation.softcap = 2;
  flags.operation.alibi = "auto";
  const ExplainedJob job = job_of(flags);
  EXPECT_EQ(formula_of(job, *job.find("capped_scores")),
            "capped_scores = softcap * tanh(scores / softcap)");
  EXPECT_EQ(formula_of(job, *job.find("alibi_scores")),
            "alibi_scores[b,h,i,j] = capped_scores[b,h,i,j] - slopes[h] * |i + "
            "query_start - j|");
  EXPECT_EQ(formula_of(job, *job.find("masked_scores")),
            "masked_scores = alibi_scores if mask else -inf");
  EXPECT_EQ(formula_of(job, *job.find("attn_weights")),
            "attn_weights[b,h,i,:] = softmax(masked_scores[b,h,i,:])");
}

TEST(ListStepsTest, EqualsWhatDropoutAndTwoSidesReport) {
  const TempFolder folder;
  put_text(folder / "source", "[[1, 2, 3], [], [4]]");
  put_text(folder / "target", "[[5], [6, 7], []]");
  put_array<bool>(folder / "keep.npy", {3, 2, 2, 3});
  ExplainFlags flags = small();
  flags.tokens = folder / "source";
  expect_same_steps(flags, "one side");
  flags.target_tokens = folder / "target";
  flags.mask_kind = "padding+causal";
  expect_same_steps(flags, "two sides");
  flags.operation.dropout = 0.5;
  expect_same_steps(flags, "dropout");
  flags.operation.dropout = 0;
  expect_same_steps(flags, "dropout of nothing");
  flags.operation.dropout.reset();
  flags.operation.keep_mask = folder / "keep.npy";
  expect_same_steps(flags, "a keep mask");
}

TEST(ListStepsTest, EqualsWhatEmptyBatchesReport) {
  const TempFolder folder;
  for (const char* text : {"[]", "[[]]", "[[], []]"}) {
    put_text(folder / "tokens", text);
    ExplainFlags flags = small();
    flags.tokens = folder / "tokens";
    flags.mask_kind = "padding+causal";
    expect_same_steps(flags, text);
  }
}

// A layer of 2 heads whose sizes all differ: vectors of 6, D = 4, Dv = 3,
// output of 10.
class ParamsTest : public testing::Test {
 protected:
  ParamsTest() {
    put("embedding.weight", {100, 6});
    put("w_q.weight", {8, 6});
    put("w_k.weight", {8, 6});
    put("w_v.weight", {6, 6});
    put("w_o.weight", {10, 6});
    put("w_k.bias", {8});
    put("w_o.bias", {10});
    flags_.params = folder_.path();
    flags_.num_heads = 2;
  }

  void put(const std::string& name, const std::vector<std::size_t>& shape) {
    put_array<float>(folder_ / (name + ".npy"), shape);
  }
  void remove(const std::string& name) {
    std::filesystem::remove(folder_ / (name + ".npy"));
  }

  TempFolder folder_;
  ExplainFlags flags_;
};

TEST_F(ParamsTest, SizesComeFromTheFiles) {
  expect_same_steps(flags_, "all");
  const ExplainedJob job = job_of(flags_);
  EXPECT_THAT(job.find("v_heads")->extents, ElementsAre(10, 2, 20, 3));
  EXPECT_THAT(job.find("output")->extents, ElementsAre(10, 20, 10));
  EXPECT_EQ(formula_of(job, *job.find("q")), "q = embedded @ w_q.weight^T");
  EXPECT_EQ(formula_of(job, *job.find("k")),
            "k = embedded @ w_k.weight^T + w_k.bias");
}

TEST_F(ParamsTest, NoOutputProjectionIsOneStepLessToCompute) {
  remove("w_o.weight");
  remove("w_o.bias");
  expect_same_steps(flags_, "no w_o");
  const ExplainedJob job = job_of(flags_);
  EXPECT_THAT(job.find("output")->axes, ElementsAre("B", "Lq", "H*Dv"));
  EXPECT_EQ(formula_of(job, *job.find("output")), "output = merged");
  EXPECT_EQ(formula_of(job, *job.find("attn_weights")),
            "attn_weights[b,h,i,:] = softmax(scores[b,h,i,:])");
  EXPECT_EQ(job.find("output")->data, job.find("merged")->data);
}

TEST_F(ParamsTest, WhatDoesNotFitFailsWithAndWithoutComputing) {
  const auto message = [&] {
    flags_.shapes_only = true;
    const Error listed = error_of(flags_);
    flags_.shapes_only = false;
    const Error computed = error_of(flags_);
    EXPECT_EQ(listed.message, computed.message);
    EXPECT_NE(listed.code, ErrorCode::invalid_argument);
    return listed.message;
  };
  put("embedding.weight", {100, 5});
  EXPECT_EQ(message(),
            "explain: w_q.weight takes vectors of size 6, expected 5, the size "
            "of embedding.weight's");
  put("embedding.weight", {100, 6});
  put("w_v.weight", {6, 7});
  EXPECT_EQ(message(),
            "explain: w_v.weight takes vectors of size 7, expected 6, the size "
            "of embedding.weight's");
  put("w_k.weight", {8, 7});
  EXPECT_THAT(message(), HasSubstr("w_k.weight takes vectors of size 7"));
  put("w_k.weight", {8, 6});
  put("w_v.weight", {7, 6});
  EXPECT_THAT(message(), HasSubstr("w_v.weight is 7, expected a multiple of "
                                   "num_heads = 2"));
  put("w_v.weight", {6, 6});
  put("w_k.bias", {7});
  EXPECT_EQ(message(),
            "read_params: w_k.bias has shape (7), expected (8), the rows of "
            "w_k.weight");
  put("w_k.bias", {8});
  remove("w_o.weight");
  EXPECT_THAT(message(), HasSubstr("has w_o.bias and no w_o.weight"));
  put("w_o.weight", {10, 6});
  flags_.vocab_size = 50;
  EXPECT_THAT(message(), HasSubstr("--vocab-size is 50, expected 100 as in"));
  flags_.vocab_size.reset();
  flags_.embed_dim = 6;
  EXPECT_THAT(message(), HasSubstr("--embed-dim is 6, expected 10 as in"));
}

TEST(JobTest, OptionsThatContradictAreRefused) {
  ExplainFlags flags;
  const auto expect = [](const ExplainFlags& f, const std::string& message) {
    const Error error = error_of(f);
    EXPECT_EQ(error.message, message);
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  };
  flags.num_heads = 7;
  expect(flags,
         "explain: --embed-dim is 512, expected a multiple of --num-heads, "
         "which is 7");
  flags = {};
  flags.tokens = "t";
  flags.example = "masked";
  expect(flags, "explain: give --tokens or --example, not both");
  flags = {};
  flags.target_tokens = "t";
  expect(flags,
         "explain: --target-tokens needs --tokens (the keys and values) beside "
         "it");
  flags.target_tokens = flags.tokens = "-";
  expect(flags,
         "explain: --tokens and --target-tokens are both -, expected one of "
         "them to be a file");
  flags = {};
  flags.example = "unbatched";
  flags.mask_kind = "padding";
  expect(flags,
         "explain: --mask-kind padding needs token ids, and this example has "
         "vectors");
  flags = {};
  flags.operation.mask_axes = "B";
  expect(flags, "--mask-axes is B, expected a --mask beside it");
}

TEST(JobTest, KeyHeadsThatDoNotDivideTheHeadsAreNamed) {
  ExplainFlags flags = small();
  flags.num_kv_heads = 3;
  EXPECT_EQ(error_of(flags).message,
            "explain: --num-kv-heads is 3, expected a divisor of --num-heads, "
            "which is 2");
}

TEST(JobTest, IdsOutsideTheVocabularyAreNamedWithTheirSide) {
  const TempFolder folder;
  put_text(folder / "good", "[[1], [2, 3]]");
  put_text(folder / "large", "[[1], [2, 100]]");
  put_text(folder / "negative", "[[-4], [2]]");
  ExplainFlags flags = small();
  for (const bool shapes_only : {false, true}) {
    flags.shapes_only = shapes_only;
    flags.target_tokens.clear();
    flags.tokens = folder / "large";
    EXPECT_EQ(error_of(flags).message,
              "tokens: sequence 1, position 1 holds id 100, expected 0 to "
              "vocab_size - 1 = 99");
    flags.tokens = folder / "negative";
    EXPECT_EQ(error_of(flags).message,
              "tokens: sequence 0, position 0 holds id -4, expected 0 to "
              "vocab_size - 1 = 99");
    flags.target_tokens = folder / "good";
    EXPECT_THAT(error_of(flags).message,
                testing::StartsWith("--tokens: tokens: sequence 0"));
    std::swap(flags.tokens, flags.target_tokens);
    EXPECT_THAT(error_of(flags).message,
                testing::StartsWith("--target-tokens: tokens: sequence 0"));
  }
}

TEST(JobTest, ThePaddingIdMustBeInTheVocabularyWhereThereIsPadding) {
  const TempFolder folder;
  put_text(folder / "ragged", "[[1], [2, 3]]");
  put_text(folder / "even", "[[1, 4], [2, 3]]");
  ExplainFlags flags = small();
  flags.pad_id = 100;
  for (const bool shapes_only : {false, true}) {
    flags.shapes_only = shapes_only;
    flags.tokens = folder / "ragged";
    EXPECT_EQ(error_of(flags).message,
              "explain: --pad-id is 100, expected 0 to vocab_size - 1 = 99");
    flags.tokens = folder / "even";
    EXPECT_TRUE(run_job(flags, {}));
  }
}

TEST(JobTest, PaddingByIdMasksAPadIdInsideASequenceToo) {
  const TempFolder folder;
  put_text(folder / "tokens", "[[5, 9, 5], [5]]");
  ExplainFlags flags = small();
  flags.tokens = folder / "tokens";
  flags.mask_kind = "padding";
  flags.pad_id = 9;
  const auto mask = [&] {
    const ExplainedJob job = job_of(flags);
    std::vector<int> cells;
    for (std::size_t n = 0; n < 6; ++n) {
      cells.push_back(static_cast<int>(job.find("padding_mask")->at(n)));
    }
    return cells;
  };
  EXPECT_THAT(mask(), ElementsAre(1, 1, 1, 1, 0, 0));
  flags.padding_by = "id";
  EXPECT_THAT(mask(), ElementsAre(1, 0, 1, 1, 0, 0));
}

TEST(JobTest, TheSeedsDecideTheNumbers) {
  const auto output = [](std::uint64_t seed, std::uint64_t dropout_seed) {
    ExplainFlags flags = small();
    flags.seed = seed;
    flags.operation.dropout = 0.5;
    flags.operation.dropout_seed = dropout_seed;
    return job_of(flags).steps.back().data;
  };
  EXPECT_EQ(output(1, 1), output(1, 1));
  EXPECT_NE(output(1, 1), output(2, 1));
  EXPECT_NE(output(1, 1), output(1, 2));
}

TEST(ExplainTextTest, SaysTheMaximumLengthAndEveryStep) {
  const ExplainedJob job = job_of({});
  const std::string text = explain_text(job, Language::en);
  EXPECT_THAT(text, HasSubstr("\nMaximum sequence length: 20\n"));
  EXPECT_THAT(text, HasSubstr("\n10. scores: compare every query"));
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
  EXPECT_THAT(text, HasSubstr(". causal_mask: no-peek mask"));
  EXPECT_THAT(text,
              HasSubstr("(B=5, 1, Lq=10, Lkv=10)  235 of 500 may attend"));
  EXPECT_THAT(text, HasSubstr("530 of 1000 masked (53.0 %)"));
  EXPECT_THAT(text, HasSubstr("    -inf"));
}

TEST(ExplainTextTest, PrintsBothMaximumLengthsOfTwoSides) {
  ExplainFlags flags;
  flags.example = "encoder-decoder";
  const std::string text = explain_text(job_of(flags), Language::en);
  EXPECT_THAT(text, HasSubstr("Maximum target sequence length: 12\n"
                              "Maximum source sequence length: 10\n"));
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
              HasSubstr("no finite number; 8000 of 8000 masked (100.0 %)"));
  EXPECT_THAT(step_text(job, step, Language::ko), HasSubstr("유한한 수 없음"));
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
  EXPECT_EQ(explain_picture(job_of(flags), 5, Language::en).error().message,
            "explain: --sequence is 5, expected 0 to 4");
  const TempFolder folder;
  put_text(folder / "none", "[]");
  flags = small();
  flags.tokens = folder / "none";
  EXPECT_EQ(explain_picture(job_of(flags), 0, Language::en).error().message,
            "explain: --heads draws one sequence, and the batch has none");
}

}  // namespace
}  // namespace headwise::cli
