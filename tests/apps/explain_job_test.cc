// The steps of a job, the same whether it computes or only sizes them, and the
// jobs that are refused.
#include "explain/explain_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "explain/examples.h"
#include "explain/step_words.h"
#include "explain_jobs.h"
#include "headwise/inspect/trace.h"
#include "support/errors.h"

namespace headwise::cli {
namespace {

using namespace testing_support;  // NOLINT(google-build-using-namespace)

using testing::ElementsAre;
using testing::HasSubstr;

Error error_of(const ExplainFlags& flags) {
  const auto job = run_job(flags, {});
  EXPECT_FALSE(job);
  return job ? Error(ErrorCode::device_error) : job.error();
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
    EXPECT_NE(operation_of(listed, real, Language::en), "") << real.name;
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

TEST(ListStepsTest, EqualsWhatADecodeStepReports) {
  ExplainFlags flags = small();
  flags.decode = true;
  flags.sequence = 1;  // of 5 tokens
  flags.num_kv_heads = 1;
  flags.mask_kind = "padding+causal";
  for (const bool rotated : {false, true}) {
    flags.rotary.base = rotated ? std::optional(1e4) : std::nullopt;
    expect_same_steps(flags, "decode");
    const ExplainedJob job = job_of(flags);
    EXPECT_THAT(job.find("cached_keys")->extents, ElementsAre(1u, 1u, 4u, 4u));
    EXPECT_THAT(job.find("keys")->extents, ElementsAre(1u, 1u, 5u, 4u));
    EXPECT_THAT(job.find("scores")->extents, ElementsAre(1u, 2u, 1u, 5u));
    EXPECT_EQ(formula_of(job, *job.find("keys")),
              std::string("keys[b,h,:,:] = concat(cached_keys[b,h,:,:], ") +
                  (rotated ? "k_rotated" : "k_heads") + "[b,h,:,:])");
    EXPECT_THAT(formula_of(job, *job.find("scores")),
                HasSubstr("* keys[b,floor(h/2),j,d]"));
    EXPECT_THAT(formula_of(job, *job.find("context")),
                HasSubstr("* values[b,floor(h/2),j,d]"));
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

TEST(ListStepsTest, EqualsWhatAdditiveScoringReports) {
  ExplainFlags flags = small();
  flags.operation.scoring = "additive";
  expect_same_steps(flags, "additive");
  const ExplainedJob job = job_of(flags);
  EXPECT_EQ(formula_of(job, *job.find("scores")),
            "scores[b,h,i,j] = sum_d w_score.weight[h,d] * "
            "tanh(q_heads[b,h,i,d] + k_heads[b,h,j,d])");
  EXPECT_THAT(operation_of(job, *job.find("scores"), Language::en),
              HasSubstr("hidden layer"));
  EXPECT_EQ(formula_of(job, *job.find("attn_weights")),
            formula_of(job_of(small()), *job.find("attn_weights")));
}

TEST(ListStepsTest, EqualsWhatNormsAndRotationsReport) {
  ExplainFlags flags = small();
  flags.num_heads = 4;
  flags.num_kv_heads = 2;
  for (const char* kind : {"rms", "layer"}) {
    flags.qk_norm.kind = kind;
    flags.rotary.base.reset();
    expect_same_steps(flags, kind);
    flags.rotary.base = 100;
    expect_same_steps(flags, std::string(kind) + ", rotated");
  }
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
  put_array<float>(folder / "t5.npy", {4, 2});
  put_array<float>(folder / "sinks.npy", {2});
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
      [&](ExplainFlags& f) { f.operation.t5_bias = folder / "t5.npy"; },
      [](ExplainFlags& f) { f.operation.alibi = "auto"; },
      [&](ExplainFlags& f) { f.operation.sinks = folder / "sinks.npy"; },
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

// Sinks are of the heads alone: one head is not mistaken for a batch of one.
TEST(ListStepsTest, EqualsWhatSinksWithoutABatchReport) {
  const TempFolder folder;
  put_array<float>(folder / "sinks.npy", {1});
  ExplainFlags flags;
  flags.example = "single-head";
  flags.operation.sinks = folder / "sinks.npy";
  expect_same_steps(flags, "sinks");
  EXPECT_THAT(job_of(flags).find("sinks")->axes, testing::ElementsAre("H"));
}

TEST(ListStepsTest, EqualsWhatAddedKeysReport) {
  const TempFolder folder;
  put_array<float>(folder / "k.npy", {2, 4}, 5);
  put_array<float>(folder / "one.npy", {1, 8}, 7);
  ExplainFlags flags = small();
  flags.example = "masked";
  flags.operation.softcap = 2;
  flags.operation.zero_attn = true;
  expect_same_steps(flags, "zero_attn");
  EXPECT_EQ(formula_of(job_of(flags), *job_of(flags).find("v_added")),
            "v_added[b,h,:,:] = concat(v_heads[b,h,:,:], 0)");
  flags.operation.bias_k = folder / "k.npy";
  flags.operation.bias_v = folder / "k.npy";
  expect_same_steps(flags, "both");
  const ExplainedJob both = job_of(flags);
  const TracedStep& values = *both.find("v_added");
  EXPECT_EQ(values.at(values.size() - 1), 0);
  flags.operation.zero_attn = false;
  expect_same_steps(flags, "bias_kv");
  const ExplainedJob job = job_of(flags);
  EXPECT_EQ(formula_of(job, *job.find("k_added")),
            "k_added[b,h,:,:] = concat(k_heads[b,h,:,:], bias_k[h,:])");
  EXPECT_EQ(formula_of(job, *job.find("masked_scores")),
            "masked_scores = capped_scores if mask else -inf, j < Lkv");
  const TracedStep& given = *job.find("bias_k");
  const TracedStep& all = *job.find("k_added");
  EXPECT_EQ(all.at(all.size() - 1), given.at(given.size() - 1));
  EXPECT_EQ(given.at(2), 4);  // of the file

  ExplainFlags without_batch;
  without_batch.example = "single-head";
  without_batch.operation.zero_attn = true;
  expect_same_steps(without_batch, "without a batch");
  flags.num_kv_heads = 1;
  flags.operation.bias_k = folder / "one.npy";
  const auto refused = run_job(flags, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().details().argument, "--bias-k");
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
  const auto expect_refused = [&](const testing_support::ErrorParts& parts) {
    for (const bool shapes_only : {true, false}) {
      flags_.shapes_only = shapes_only;
      EXPECT_THAT(error_of(flags_), HasError(parts)) << shapes_only;
    }
  };
  // Of a tensor of the files.
  const auto expect_tensor_refused =
      [&](const std::string& operation, ErrorCode code,
          const std::string& tensor, const std::string& given,
          const std::vector<std::string>& expected) {
        expect_refused({.code = code,
                        .operation = operation,
                        .file = flags_.params,
                        .entry = tensor,
                        .given = {given},
                        .expected = expected});
      };
  put("embedding.weight", {100, 5});
  expect_tensor_refused("explain", ErrorCode::shape_mismatch, "w_q.weight", "6",
                        {"5", "embedding.weight's"});
  put("embedding.weight", {100, 6});
  put("w_v.weight", {6, 7});
  expect_tensor_refused("explain", ErrorCode::shape_mismatch, "w_v.weight", "7",
                        {"6", "embedding.weight's"});
  put("w_k.weight", {8, 7});
  expect_tensor_refused("explain", ErrorCode::shape_mismatch, "w_k.weight", "7",
                        {"6"});
  put("w_k.weight", {8, 6});
  put("w_v.weight", {7, 6});
  expect_tensor_refused("load_attention", ErrorCode::bad_data, "w_v.weight",
                        "7", {"num_heads", "2"});
  put("w_v.weight", {6, 6});
  put("w_k.bias", {7});
  expect_tensor_refused("load_attention", ErrorCode::shape_mismatch, "w_k.bias",
                        "(7)", {"(8)", "w_k.weight"});
  put("w_k.bias", {8});
  remove("w_o.weight");
  expect_tensor_refused("load_attention", ErrorCode::bad_data, "", "w_o.weight",
                        {});
  put("w_o.weight", {10, 6});
  flags_.vocab_size = 50;
  expect_refused({.code = ErrorCode::shape_mismatch,
                  .argument = "--vocab-size",
                  .given = {"50"},
                  .expected = {"100"}});
  flags_.vocab_size.reset();
  flags_.embed_dim = 6;
  expect_refused({.code = ErrorCode::shape_mismatch,
                  .argument = "--embed-dim",
                  .given = {"6"},
                  .expected = {"10"}});
}

TEST(JobTest, OptionsThatContradictAreRefused) {
  ExplainFlags flags;
  // The options that a contradiction names.
  const auto contradicts = [](std::vector<std::string> options) {
    return HasError(
        {.code = ErrorCode::invalid_argument, .given = std::move(options)});
  };
  const auto is_refused = [](std::string option, std::string given,
                             std::vector<std::string> expected) {
    return HasError({.code = ErrorCode::invalid_argument,
                     .argument = std::move(option),
                     .given = {std::move(given)},
                     .expected = std::move(expected)});
  };
  flags.num_heads = 7;
  EXPECT_THAT(error_of(flags),
              is_refused("--embed-dim", "512", {"--num-heads", "7"}));
  flags = {};
  flags.target_tokens = flags.tokens = "-";
  EXPECT_THAT(error_of(flags),
              is_refused("--tokens and --target-tokens", "-", {"file"}));
  flags = {};
  flags.example = "unbatched";
  flags.mask_kind = "padding";
  EXPECT_THAT(error_of(flags), contradicts({"--mask-kind padding", "ids"}));
  flags = {};
  flags.operation.mask_axes = "B";
  EXPECT_THAT(error_of(flags), contradicts({"--mask-axes", "--mask"}));
}

TEST(JobTest, KeyHeadsThatDoNotDivideTheHeadsAreNamed) {
  ExplainFlags flags = small();
  flags.num_kv_heads = 3;
  EXPECT_THAT(error_of(flags), HasError({.code = ErrorCode::invalid_argument,
                                         .argument = "--num-kv-heads",
                                         .given = {"3"},
                                         .expected = {"--num-heads", "2"}}));
}

TEST(JobTest, IdsOutsideTheVocabularyAreNamedWithTheirSide) {
  const TempFolder folder;
  put_text(folder / "good", "[[1], [2, 3]]");
  put_text(folder / "large", "[[1], [2, 100]]");
  put_text(folder / "negative", "[[-4], [2]]");
  const auto is_beyond = [](std::string option, std::string file,
                            std::string argument, std::string given) {
    return HasError({.code = ErrorCode::out_of_range,
                     .operation = std::move(option),
                     .argument = std::move(argument),
                     .file = std::move(file),
                     .given = {std::move(given)},
                     .expected = {"99"}});
  };
  ExplainFlags flags = small();
  for (const bool shapes_only : {false, true}) {
    flags.shapes_only = shapes_only;
    flags.target_tokens.clear();
    flags.tokens = folder / "large";
    EXPECT_THAT(error_of(flags),
                is_beyond("--tokens", flags.tokens, "tokens[1][1]", "100"));
    flags.tokens = folder / "negative";
    EXPECT_THAT(error_of(flags),
                is_beyond("--tokens", flags.tokens, "tokens[0][0]", "-4"));
    flags.target_tokens = folder / "good";
    EXPECT_THAT(error_of(flags),
                is_beyond("--tokens", flags.tokens, "tokens[0][0]", "-4"));
    std::swap(flags.tokens, flags.target_tokens);
    EXPECT_THAT(error_of(flags),
                is_beyond("--target-tokens", flags.target_tokens,
                          "tokens[0][0]", "-4"));
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
    EXPECT_THAT(error_of(flags), HasError({.code = ErrorCode::out_of_range,
                                           .argument = "--pad-id",
                                           .given = {"100"},
                                           .expected = {"99"}}));
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

}  // namespace
}  // namespace headwise::cli
