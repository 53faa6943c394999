// Reads only the rows of this rank from a tensor in a file.
#pragma once

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "operation/tensor_file.h"
#include "rank_rows.h"

namespace headwise::cli {

// (1, rows, H, D) of a file with (B, L, H, D) or, if heads come first,
// (B, H, L, D); B may be missing. Errors: those of the file; out_of_memory.
Result<Array> read_own_rows(const RankRows& rows, Side side,
                            const TensorFile& file, bool heads_first);
// (1, rows, E) of a file with (B, L, E).
Result<Array> read_own_tokens(const RankRows& rows, Side side,
                              const TensorFile& file);

}  // namespace headwise::cli
