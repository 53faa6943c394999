#include "headwise/train/classifier_run.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "headwise/module/optimizer.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "train/epoch_order.h"
#include "train/small_run.h"

namespace headwise::testing_support {
namespace {

using Values = std::map<std::string, std::vector<float>, std::less<>>;

class ClassifierRunTest : public SmallRunTest {
 protected:
  Values params_of(const ClassifierRun& run) const {
    EXPECT_TRUE(run.write_checkpoint_to(folder_ / "c.npz"));
    Values values;
    const auto checkpoint = read_checkpoint(folder_ / "c.npz");
    EXPECT_TRUE(checkpoint);
    for (const auto& [name, array] : checkpoint->params) {
      auto& of = values[name];
      of.resize(array.data.size() / sizeof(float));
      std::memcpy(of.data(), array.data.data(), array.data.size());
    }
    return values;
  }
};

// A step out of the library's pieces, one after another.
struct ByHand {
  SentenceEncoder encoder;
  LabelProbe probe;
  Optimizer optimizer = Optimizer::create(AdamWConfig{.learning_rate = 0.01,
                                                      .weight_decay = 0.01})
                            .value();

  // The loss and the gradients' norm.
  std::pair<double, double> step(const RaggedTokens& ids,
                                 const std::vector<std::int64_t>& targets) {
    auto saved = encoder.forward_for_backward(ids).value();
    const auto logits = probe.logits(saved.embeddings).value();
    const auto loss = cross_entropy(logits, targets).value();
    const auto rows = [](const Tensor<float, 2>& x) {
      return TensorView<const float, 3>(x.data(),
                                        {1, x.extent(0), x.extent(1)});
    };
    auto classifier =
        probe.linear()
            .backward_params(rows(saved.embeddings), rows(loss.d_logits))
            .value();
    const auto d_embeddings =
        probe.linear().backward_input(rows(loss.d_logits)).value();
    auto gradients =
        encoder
            .backward(saved, {d_embeddings.data(),
                              {ids.size(), d_embeddings.extent(2)}})
            .value();
    std::vector<std::span<float>> all;
    for (auto& [name, values] : gradients.params) {
      all.push_back(values.elements());
    }
    // The file's order of names: "classifier" stands before "embeddings".
    all.insert(all.begin(),
               {classifier.bias.elements(), classifier.weight.elements()});
    const double norm = clip_gradient_norm(all, 1).value();
    optimizer.begin_step();
    EXPECT_TRUE(encoder.encoder().update(
        [&](std::string_view name, std::span<float> values) {
          return optimizer.update(
              name, values, gradients.params.find(name)->second.elements());
        }));
    probe.linear().update([&](std::span<float> weight, std::span<float> bias) {
      EXPECT_TRUE(optimizer.update("classifier.weight", weight,
                                   classifier.weight.elements()));
      EXPECT_TRUE(optimizer.update("classifier.bias", bias,
                                   classifier.bias.elements()));
    });
    return {loss.loss, norm};
  }
};

TEST_F(ClassifierRunTest, AStepIsAdamWOnClippedGradientsOfTheNextExamples) {
  const Executor executor = Executor::with_threads(2).value();
  ClassifierRun run = this->run();
  ByHand by_hand{encoder(), probe()};
  const ClassifierExamples all = small_examples();
  double largest = 0;
  while (run.steps() < run.total_steps()) {
    const auto epoch = static_cast<std::uint32_t>(run.steps() / 3);
    const std::size_t within = run.steps() % 3;
    const auto order = epoch_order(kSmallSettings.seed, epoch, all.ids.size());
    RaggedTokens ids;
    std::vector<std::int64_t> targets;
    for (std::size_t n = 3 * within;
         n < std::min<std::size_t>(3 * within + 3, all.ids.size()); ++n) {
      ids.push_back(all.ids[order[n]]);
      targets.push_back(all.targets[order[n]]);
    }
    ASSERT_TRUE(run.step(executor));
    const auto [loss, norm] = by_hand.step(ids, targets);
    EXPECT_EQ(run.losses().back(), loss);
    largest = std::max(largest, norm);
  }
  EXPECT_EQ(run.steps(), 6u);
  EXPECT_GT(largest, 2);
  Values expected;
  for (const auto& [name, view] : by_hand.encoder.encoder().params()) {
    std::size_t count = 1;
    for (const std::size_t extent : view.extents()) {
      count *= extent;
    }
    const auto* const values = static_cast<const float*>(view.data());
    expected[name].assign(values, values + count);
  }
  const auto add = [&](const std::string& name, const float* values,
                       std::size_t count) {
    expected[name].assign(values, values + count);
  };
  const Linear& classifier = by_hand.probe.linear();
  add("classifier.weight", classifier.weight().data(),
      classifier.out_features() * classifier.in_features());
  add("classifier.bias", classifier.bias().data(), classifier.out_features());
  EXPECT_EQ(params_of(run), expected);
}

TEST_F(ClassifierRunTest, InBf16ItIsResumedInBf16Alone) {
  const ClassifierSettings settings = small_settings(Arithmetic::bf16);
  ClassifierRun whole = run(nullptr, settings);
  take_steps(whole, whole.total_steps());
  ClassifierRun exact = run();
  take_steps(exact, exact.total_steps());
  EXPECT_NE(params_of(whole), params_of(exact));

  const std::string path = folder_ / "half.npz";
  ClassifierRun half = run(nullptr, settings);
  take_steps(half, 2);
  ASSERT_TRUE(half.write_checkpoint_to(path));
  const Checkpoint checkpoint = read_checkpoint(path).value();
  EXPECT_EQ(classifier_settings_of(checkpoint).arithmetic, Arithmetic::bf16);
  ClassifierRun resumed = run(nullptr, settings);
  ASSERT_TRUE(resumed.resume(checkpoint, path));
  take_steps(resumed, resumed.total_steps());
  EXPECT_EQ(params_of(resumed), params_of(whole));

  const auto refused = [&](ClassifierRun run, const Checkpoint& from) {
    return run.resume(from, path);
  };
  EXPECT_THAT(refused(run(), checkpoint), HasError({.code = ErrorCode::bad_data,
                                                    .operation = "train",
                                                    .file = path,
                                                    .given = {"bf16"},
                                                    .expected = {"exact"}}));
  ASSERT_TRUE(exact.write_checkpoint_to(path));
  EXPECT_THAT(refused(run(nullptr, settings), read_checkpoint(path).value()),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "train",
                        .file = path,
                        .given = {"exact"},
                        .expected = {"bf16"}}));
}

TEST_F(ClassifierRunTest, TheArithmeticIsThatOfTheEncoder) {
  EXPECT_THAT(ClassifierRun::create(kSmallSettings, encoder(Arithmetic::bf16),
                                    probe(), small_examples()),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "train",
                        .argument = "arithmetic",
                        .given = {"exact"},
                        .expected = {"bf16"}}));
}

TEST_F(ClassifierRunTest, EpochLossesAreMeansOfTheirSteps) {
  ClassifierRun run = this->run();
  const Executor executor = Executor::with_threads(1).value();
  for (int n = 0; n < 4; ++n) {
    ASSERT_TRUE(run.step(executor));
  }
  const std::vector<double>& losses = run.losses();
  const std::vector<double> means = run.epoch_losses();
  ASSERT_EQ(means.size(), 2u);
  EXPECT_DOUBLE_EQ(means[0], (losses[0] + losses[1] + losses[2]) / 3);
  EXPECT_EQ(means[1], losses[3]);
}

TEST_F(ClassifierRunTest, ABatchOfMoreThanAllExamplesIsAllOfThem) {
  ClassifierSettings settings = kSmallSettings;
  settings.batch = 1000;
  ClassifierRun run = this->run(nullptr, settings);
  EXPECT_EQ(run.total_steps(), 2u);
  EXPECT_TRUE(run.step(Executor::with_threads(1).value()));
}

}  // namespace
}  // namespace headwise::testing_support
