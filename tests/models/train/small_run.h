// A run that trains the small model on a few examples.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "headwise/train/classifier_run.h"
#include "interop/files.h"
#include "models/small_model.h"

namespace headwise::testing_support {

// An epoch has three steps, the last of them with one example.
inline constexpr ClassifierSettings kSmallSettings{
    .seed = Seed{3}, .batch = 3, .epochs = 2, .learning_rate = 0.01};

inline ClassifierSettings small_settings(Arithmetic arithmetic) {
  ClassifierSettings settings = kSmallSettings;
  settings.arithmetic = arithmetic;
  return settings;
}

inline ClassifierExamples small_examples() {
  return {{{2, 5, 9, 3},
           {2, 3},
           {2, 13, 1, 5, 6, 3},
           {2, 7, 3},
           {2, 8, 5, 3},
           {2, 5, 5, 5, 3},
           {2, 11, 12, 10, 4, 8, 7, 6, 3}},
          {0, 1, 2, 1, 0, 2, 2},
          "the data's"};
}

class SmallRunTest : public testing::Test {
 protected:
  SmallRunTest() {
    put_small_model(folder_, small_params(small_config(SmallFamily::bert)));
  }
  SentenceEncoder encoder(Arithmetic arithmetic = Arithmetic::exact) const {
    return SentenceEncoder::read(folder_.path(), {.use = ModelUse::training,
                                                  .arithmetic = arithmetic})
        .value();
  }
  // Large parameters: gradients of a norm far above 1.
  LabelProbe probe() const {
    LabelProbe probe =
        LabelProbe::create(encoder().embedding_size(), {"a", "b", "c"}).value();
    probe.linear().update([](std::span<float> weight, std::span<float> bias) {
      RandomStream(Seed{1}, 1).fill_uniform(weight, -2, 2);
      RandomStream(Seed{1}, 2).fill_uniform(bias, -2, 2);
    });
    return probe;
  }
  ClassifierRun run(Communicator* group = nullptr,
                    const ClassifierSettings& settings = kSmallSettings) const {
    return ClassifierRun::create(settings, encoder(settings.arithmetic),
                                 probe(), small_examples(), group)
        .value();
  }
  static void take_steps(ClassifierRun& run, std::uint64_t last) {
    const Executor executor = Executor::with_threads(1).value();
    while (run.steps() < last) {
      ASSERT_TRUE(run.step(executor));
    }
  }

  TempFolder folder_;
};

}  // namespace headwise::testing_support
