// One golden: the numbers that another framework gave for a case, and how near
// ours must come. A case is a directory with case.json and .npy files:
//
//   |got - want| <= atol + rtol * |want|     element by element,
//   NaN for NaN, the same infinity for an infinity
//
// `want` is the float64 file where there is one. Tensors with the roles
// intermediate, attention, output and gradient are to be reproduced.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headwise/base/tensor.h"
#include "headwise/interop/array.h"

namespace headwise::testing_support {

// What we computed, in C order.
struct Got {
  std::vector<std::size_t> extents;
  std::vector<float> elements;
};

class GoldenCase {
 public:
  // Throws std::runtime_error or Exception when the case cannot be read.
  explicit GoldenCase(const std::filesystem::path& folder);

  const std::string& name() const { return name_; }
  const nlohmann::json& json() const { return json_; }
  const nlohmann::json& options() const { return json_.at("options"); }
  std::string kind() const { return json_.at("kind"); }

  bool has(const std::string& tensor) const;
  // The names of the tensors that are to be reproduced.
  std::vector<std::string> to_reproduce() const;
  std::size_t rank(const std::string& tensor) const;

  template <std::size_t Rank>
  Tensor<float, Rank> floats(const std::string& tensor) const {
    return to_float<Rank>(read(tensor), name_, tensor).value();
  }
  template <std::size_t Rank>
  Tensor<bool, Rank> bools(const std::string& tensor) const {
    return to_bool<Rank>(read(tensor), name_, tensor).value();
  }
  template <std::size_t Rank>
  Tensor<std::int64_t, Rank> ints(const std::string& tensor) const {
    return to_int64<Rank>(read(tensor), name_, tensor).value();
  }

  // Compares what we computed for `tensor`. Axes of extent 1 may be missing on
  // either side (a case without a batch is a batch of one here). Where the case
  // fills masked scores with a number, ours are -inf: the two match in
  // `masked_scores`, and no other cell is excepted.
  testing::AssertionResult matches(const std::string& tensor,
                                   const Got& got) const;

 private:
  Array read(const std::string& tensor) const;
  std::vector<double> want(const std::string& tensor) const;
  // What the case puts into a masked cell of this tensor.
  std::optional<float> fill_of(const std::string& tensor) const;

  std::filesystem::path folder_;
  std::string name_;
  nlohmann::json json_;
};

}  // namespace headwise::testing_support
