// An .npz entry by entry, for readers that do not need every array.
#pragma once

#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/interop/param_inspection.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// Entries whose names do not end in .npy are no arrays.
struct NpzEntries {
  ParamEntries arrays;
  std::vector<std::string> others;
};

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop

namespace headwise::inline HEADWISE_ABI {

// Reads the headers of a regular file alone. Errors: those of read_npz(), but
// checksums are not compared.
Result<NpzEntries> read_npz_entries(const std::string& path);

// An array that is in the file. Errors: those of read_npz().
Result<Array> read_npz_array(const std::string& path, const std::string& name);

}  // namespace headwise::inline HEADWISE_ABI
