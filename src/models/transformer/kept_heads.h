// Which heads of a model were kept, in the metadata of its file:
//
//   num_heads   "[12, 3, 0]"            of each layer
//   kept_heads  "[[0, 1, ..], [2, 5, 7], []]"   their numbers before pruning
//
// A file without either has all heads.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "headwise/interop/safetensors.h"
#include "headwise/transformer/transformer.h"

namespace headwise::inline HEADWISE_ABI {

// Of each layer; empty: all heads of every layer.
using KeptHeadLists = std::vector<std::vector<std::size_t>>;

// The sizes of a model whose layers get other heads.
struct HeadSizes {
  std::size_t num_layers;
  std::size_t num_heads;
  std::size_t hidden_size;
};

// Errors: out_of_range for a layer or a head that the model does not have, and
// for heads that do not ascend; shape_mismatch for attention of other sizes.
Status check_kept(std::string_view operation, const KeptAttention& kept,
                  const HeadSizes& sizes);

// Sets `kept`, of a model of these sizes. Errors, which begin with `subject`:
// bad_data for lists that are not as above or do not fit.
Status read_kept_heads(const SafetensorsMetadata& metadata,
                       const FileSubject& subject, std::size_t num_layers,
                       std::size_t num_heads, KeptHeadLists& kept);

// Into the metadata; both texts are taken out where all heads were kept.
void write_kept_heads(const KeptHeadLists& kept, SafetensorsMetadata& metadata);

}  // namespace headwise::inline HEADWISE_ABI
