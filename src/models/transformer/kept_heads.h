// Which heads of a model were kept, in the metadata of its file:
//
//   num_heads   "[12, 3, 0]"            of each layer
//   kept_heads  "[[0, 1, ..], [2, 5, 7], []]"   their numbers before pruning
//
// A file without either has all heads.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "headwise/interop/safetensors.h"

namespace headwise::inline HEADWISE_ABI {

// Of each layer; empty: all heads of every layer.
using KeptHeadLists = std::vector<std::vector<std::size_t>>;

// Sets `kept`, of a model of these sizes. Errors, which begin with `subject`:
// bad_data for lists that are not as above or do not fit.
Status read_kept_heads(const SafetensorsMetadata& metadata,
                       const FileSubject& subject, std::size_t num_layers,
                       std::size_t num_heads, KeptHeadLists& kept);

// Into the metadata; both texts are taken out where all heads were kept.
void write_kept_heads(const KeptHeadLists& kept, SafetensorsMetadata& metadata);

}  // namespace headwise::inline HEADWISE_ABI
