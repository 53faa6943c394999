#include "headwise/interop/checkpoint.h"

#include <functional>
#include <string>
#include <vector>

#include "interop/files.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

const ModelConfig kConfig = {
    {"heads", std::int64_t{4}}, {"rate", 0.1}, {"task", "recall"}};
const ParamShapes kShapes = {{"w_q.bias", {3}}, {"w_q.weight", {3, 2}}};

// A small run that stopped after 7 steps.
struct SmallRun {
  Tensor<float, 2> weight = uniform<2>({3, 2}, 1);
  Tensor<float, 1> bias = uniform<1>({3}, 2);
  OptimizerState optimizer{7, {}};

  SmallRun() {
    for (const std::string kind : {"exp_avg/", "exp_avg_sq/"}) {
      optimizer.values.emplace(kind + "w_q.weight", uniform<1>({6}, 3));
      optimizer.values.emplace(kind + "w_q.bias", uniform<1>({3}, 4));
    }
  }
  CheckpointView view() const {
    return {.step = 7,
            .seed = Seed{~std::uint64_t{0}},
            .config = kConfig,
            .params = {{"w_q.weight", weight}, {"w_q.bias", bias}},
            .optimizer = &optimizer,
            .records = {{"loss", {2.5, 1.25, std::nan("")}}}};
  }
};

TEST(CheckpointTest, WhatWasWrittenIsRead) {
  const TempFolder folder;
  const std::string path = folder / "run.npz";
  const SmallRun run;
  ASSERT_TRUE(write_checkpoint(path, run.view()));
  const auto read = read_checkpoint(path).value();
  EXPECT_EQ(read.step, 7u);
  EXPECT_EQ(read.seed.value, ~std::uint64_t{0});
  EXPECT_EQ(read.config, kConfig);
  EXPECT_EQ(read.optimizer.step, 7u);
  ASSERT_EQ(read.optimizer.values.size(), 4u);
  EXPECT_TRUE(same_bits(read.optimizer.values.at("exp_avg/w_q.bias"),
                        run.optimizer.values.at("exp_avg/w_q.bias")));
  const auto weight =
      to_float<2>(read.params.at("w_q.weight"), "test", "w_q.weight").value();
  EXPECT_TRUE(same_bits(weight, run.weight));
  ASSERT_EQ(read.records.at("loss").size(), 3u);
  EXPECT_EQ(read.records.at("loss")[1], 1.25);
  EXPECT_TRUE(check_model(read, path, kConfig, kShapes));
  // The same run gives the same bytes; nothing else is left in the folder.
  const Bytes bytes = file_bytes(path);
  ASSERT_TRUE(write_checkpoint(path, run.view()));
  EXPECT_EQ(file_bytes(path), bytes);
  EXPECT_EQ(folder.count(), 1u);
}

TEST(CheckpointTest, ARunOfNoStepHasNoOptimizerState) {
  const TempFolder folder;
  const std::string path = folder / "run.npz";
  const SmallRun run;
  CheckpointView view = run.view();
  view.optimizer = nullptr;
  view.config = {{"note", ""}};
  ASSERT_TRUE(write_checkpoint(path, view));
  const auto read = read_checkpoint(path).value();
  EXPECT_EQ(read.optimizer.step, 0u);
  EXPECT_TRUE(read.optimizer.values.empty());
  EXPECT_EQ(read.config, view.config);
}

// ---- Another model. ----

Status checked(const ModelConfig& config, const ParamShapes& shapes) {
  const TempFolder folder;
  const std::string path = folder / "run.npz";
  EXPECT_TRUE(write_checkpoint(path, SmallRun().view()));
  return check_model(read_checkpoint(path).value(), "run.npz", config, shapes);
}

// The checkpoint is refused: the error names these values.
auto IsOfAnotherModel(std::vector<std::string> given,
                      std::vector<std::string> expected = {}) {
  return HasError({.code = ErrorCode::bad_data,
                   .operation = "read_checkpoint",
                   .file = "run.npz",
                   .given = std::move(given),
                   .expected = std::move(expected)});
}

TEST(CheckpointTest, ACheckpointOfAnotherModelIsAnError) {
  ModelConfig config = kConfig;
  config["task"] = "reverse";
  EXPECT_THAT(checked(config, kShapes),
              IsOfAnotherModel({"task", "recall"}, {"reverse"}));
  config = kConfig;
  config["heads"] = std::int64_t{8};
  EXPECT_THAT(checked(config, kShapes),
              IsOfAnotherModel({"heads", "4"}, {"8"}));
  config = kConfig;
  config["size"] = 0.5;
  EXPECT_THAT(checked(config, kShapes), IsOfAnotherModel({"size"}));
  config = kConfig;
  config.erase("rate");
  EXPECT_THAT(checked(config, kShapes), IsOfAnotherModel({"rate", "0.1"}));
  ParamShapes shapes = kShapes;
  shapes["w_q.weight"] = {2, 3};
  EXPECT_THAT(checked(kConfig, shapes),
              IsOfAnotherModel({"w_q.weight", "(3, 2)"}, {"(2, 3)"}));
  shapes = kShapes;
  shapes["w_k.weight"] = {2};
  EXPECT_THAT(checked(kConfig, shapes), IsOfAnotherModel({"w_k.weight"}));
  shapes = kShapes;
  shapes.erase("w_q.bias");
  EXPECT_THAT(checked(kConfig, shapes), IsOfAnotherModel({"w_q.bias"}));
}

// ---- Files that are wrong. ----

// A checkpoint whose entries `spoil` changed is refused; the error is about
// `entry` and names these values.
void expect_refused(const std::function<void(NamedArrays&)>& spoil,
                    const std::string& entry,
                    const std::vector<std::string>& given,
                    const std::vector<std::string>& expected = {}) {
  const TempFolder folder;
  const std::string path = folder / "run.npz";
  EXPECT_TRUE(write_checkpoint(path, SmallRun().view()));
  NamedArrays arrays = read_npz(path).value();
  spoil(arrays);
  std::map<std::string, AnyView> views;
  for (const auto& [name, array] : arrays) {
    views.emplace(name, array.view());
  }
  EXPECT_TRUE(write_npz(path, views));
  EXPECT_THAT(read_checkpoint(path), HasError({.code = ErrorCode::bad_data,
                                               .operation = "read_checkpoint",
                                               .file = path,
                                               .entry = entry,
                                               .given = given,
                                               .expected = expected}));
}

void put_float(Array& array, float value) {
  std::memcpy(array.data.data(), &value, sizeof value);
}

TEST(CheckpointTest, EntriesThatAreMissing) {
  for (const std::string name : {"format", "step", "seed", "optimizer/step"}) {
    expect_refused([&](NamedArrays& a) { a.erase(name); }, "", {name});
  }
  expect_refused([](NamedArrays& a) { a.erase("param/w_q.bias"); },
                 "optimizer/exp_avg/w_q.bias", {"parameter"});
}

TEST(CheckpointTest, EntriesThatNobodyKnows) {
  expect_refused([](NamedArrays& a) { a["foo"] = a["step"]; }, "foo", {});
  expect_refused(
      [](NamedArrays& a) { a["optimizer/exp_avg"] = a["param/w_q.bias"]; },
      "optimizer/exp_avg", {"parameter"});
}

TEST(CheckpointTest, EntriesOfAnotherTypeOrShape) {
  expect_refused([](NamedArrays& a) { a["step"] = a["config/heads"]; }, "step",
                 {"int64"}, {"uint64"});
  expect_refused([](NamedArrays& a) { a["seed"].shape = {1}; }, "seed", {"(1)"},
                 {"one"});
  expect_refused([](NamedArrays& a) { a["param/w_q.bias"] = a["record/loss"]; },
                 "param/w_q.bias", {"float64"}, {"float32"});
  expect_refused(
      [](NamedArrays& a) {
        a["optimizer/exp_avg/w_q.bias"] = a["optimizer/exp_avg/w_q.weight"];
      },
      "optimizer/exp_avg/w_q.bias", {"(6)"}, {"(3)", "w_q.bias"});
  expect_refused(
      [](NamedArrays& a) { a["config/heads"] = a["param/w_q.bias"]; },
      "config/heads", {"float32"}, {"int64", "float64", "uint8"});
  expect_refused([](NamedArrays& a) { a["record/loss"] = a["param/w_q.bias"]; },
                 "record/loss", {"float32"}, {"float64"});
}

TEST(CheckpointTest, NumbersThatAreNotFinite) {
  expect_refused(
      [](NamedArrays& a) { put_float(a["param/w_q.weight"], std::nanf("")); },
      "param/w_q.weight", {"nan", "(0, 0)"}, {"finite"});
  expect_refused(
      [](NamedArrays& a) {
        put_float(a["optimizer/exp_avg_sq/w_q.bias"], HUGE_VALF);
      },
      "optimizer/exp_avg_sq/w_q.bias", {"inf", "(0)"}, {"finite"});
}

TEST(CheckpointTest, AFileOfAnotherFormat) {
  expect_refused([](NamedArrays& a) { a["format"] = a["config/heads"]; },
                 "format", {"4"}, {"1"});
}

TEST(CheckpointTest, EveryTruncatedFileIsAnError) {
  const TempFolder folder;
  const std::string path = folder / "run.npz";
  ASSERT_TRUE(write_checkpoint(path, SmallRun().view()));
  const Bytes whole = file_bytes(path);
  for (std::size_t size = 0; size < whole.size(); size += 61) {
    put_file(path, std::span(whole).first(size));
    const auto read = read_checkpoint(path);
    ASSERT_FALSE(read) << size;
    EXPECT_EQ(read.error().details().file, path);
  }
}

TEST(CheckpointTest, AWriteThatFailsLeavesTheOldFile) {
  const TempFolder folder;
  const SmallRun run;
  const Status s = write_checkpoint(folder / "none/run.npz", run.view());
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().code(), ErrorCode::io_error);
  EXPECT_EQ(folder.count(), 0u);
}

}  // namespace
}  // namespace headwise::testing_support
