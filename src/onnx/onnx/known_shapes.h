// What the file of a model says about the shapes of its values. Only for
// display: a model runs by the shapes of its arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/graph.h"

namespace headwise::inline HEADWISE_ABI {

// An axis without a value: of unknown extent.
using KnownShape = std::vector<std::optional<std::size_t>>;

class KnownShapes {
 public:
  explicit KnownShapes(const OnnxGraph& graph);

  // Null if even the number of axes is unknown.
  const KnownShape* of(std::string_view value) const;
  // Of an operand as its product takes it.
  std::optional<KnownShape> of(const FusionOperand& operand) const;
  // The extent of an axis; negative ones count from the end.
  std::optional<std::size_t> extent(std::string_view value, int axis) const;
  // The only number of a value, known without inputs.
  std::optional<double> number(std::string_view value) const;

 private:
  // Whole numbers, some of them known: shapes that a graph computes.
  using KnownNumbers = std::vector<std::optional<std::int64_t>>;

  void add(const OnnxNode& node);
  std::optional<KnownShape> shape_of_result(const OnnxNode& node) const;
  std::optional<KnownShape> reshaped(const OnnxNode& node) const;
  std::optional<KnownShape> transposed(const OnnxNode& node) const;
  std::optional<KnownShape> flattened(const OnnxNode& node) const;
  std::optional<KnownShape> multiplied(const OnnxNode& node) const;
  std::optional<KnownNumbers> numbers_of_result(const OnnxNode& node) const;
  std::optional<KnownNumbers> sliced(const OnnxNode& node) const;
  std::optional<double> number_of_result(const OnnxNode& node) const;
  const KnownNumbers* numbers(const OnnxNode& node, std::size_t input) const;
  const KnownShape* shape(const OnnxNode& node, std::size_t input) const;
  void take_array(std::string_view name, const Array& array);

  std::map<std::string_view, KnownShape> shapes_;
  std::map<std::string_view, KnownNumbers> numbers_;
  std::map<std::string_view, double> constants_;
};

}  // namespace headwise::inline HEADWISE_ABI
