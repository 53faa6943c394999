// What the ranks that train one model together compare before they begin.
#pragma once

#include <map>
#include <string>

#include "headwise/base/any_view.h"
#include "headwise/interop/checkpoint.h"
#include "headwise/train/classifier_run.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// The names of the classifier's parameters, next to those of the encoder.
inline constexpr const char* kClassifierWeight = "classifier.weight";
inline constexpr const char* kClassifierBias = "classifier.bias";

// Of the names and elements of float parameters.
std::string sha256_of_params(const std::map<std::string, AnyView>& params);

// The same on all ranks, or they were given different runs. `model`: the
// digest of the encoder's parameters.
std::string description(const ClassifierSettings& settings,
                        const std::string& model, const LabelProbe& probe,
                        const ClassifierExamples& examples);
// Of the numbers that a run takes from it.
std::string description(const Checkpoint& checkpoint);

}  // namespace headwise::inline HEADWISE_ABI
