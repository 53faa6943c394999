// Inputs of ONNX Runtime's operators of attention, domain com.microsoft: in
// float32 whatever their type, with heads split.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "onnx/attention_call.h"
#include "onnx/node_call.h"

namespace headwise::inline HEADWISE_ABI {

// float32 inputs are read where they are, float16 ones are widened. These
// operators round their results once.
class ContribInputs {
 public:
  explicit ContribInputs(const NodeCall& node) : node_(node) {}

  // Errors: invalid_argument for other types, and one that the first input does
  // not have.
  Result<const Array*> floats(std::size_t input);
  // Null for one that is left out.
  Result<const Array*> floats_if_given(std::size_t input);
  // A result in the type of the node.
  Result<Array> narrowed(Array array) const;
  Result<Outputs> all_narrowed(std::initializer_list<Array*> arrays) const;

 private:
  const NodeCall& node_;
  std::map<std::size_t, Array> widened_;  // by input
};

// Where an element is in a tensor without an axis of heads: strides along B, H,
// L and D.
struct HeadPlaces {
  std::array<std::size_t, 4> extents;
  std::array<std::size_t, 4> strides;
  std::size_t first = 0;
};

// Of (B, L, ..., heads * size): the features of a group of heads begin at
// `first` of the `features` of a token.
HeadPlaces merged_heads(std::size_t batch, std::size_t length,
                        std::size_t features, std::size_t heads,
                        std::size_t size, std::size_t first = 0);

// (B, H, L, D), with a bias of H * D elements where it is given.
Result<Array> split_heads(const Array& from, const HeadPlaces& places,
                          const float* bias);
// The same as (B, L, H, D): a query whose heads are merged.
Result<Array> merged_query(const Array& from, const HeadPlaces& places,
                           const float* bias);

// (B, H, length, D): of sequence b the first past_lengths[b] rows of the past,
// then the new ones, then zeros. `past` may be null.
Result<Array> with_past(const Array* past,
                        const std::vector<std::size_t>& past_lengths,
                        const Array& made, std::size_t length);

// num_heads and the like. Errors: bad_data for one that is left out or below 1.
Result<std::size_t> head_number(const NodeCall& node, std::string_view name);
// scale, or 1/sqrt(size); 0 is as if it were left out. Errors: unsupported for
// a size of 0.
Result<double> contrib_scale(const NodeCall& node, std::size_t size);

// Errors: unsupported for an attribute that is not 0.
Status refuse_attribute(const NodeCall& node, std::string_view name);
// Errors: unsupported for inputs from this one on.
Status refuse_inputs_from(const NodeCall& node, std::size_t first);

}  // namespace headwise::inline HEADWISE_ABI
