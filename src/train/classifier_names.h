// The names of the classifier's parameters, next to those of the encoder.
#pragma once

namespace headwise::inline HEADWISE_ABI {

inline constexpr const char* kClassifierWeight = "classifier.weight";
inline constexpr const char* kClassifierBias = "classifier.bias";

}  // namespace headwise::inline HEADWISE_ABI
