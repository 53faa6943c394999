// Which sentences each process encodes.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "headwise/interop/journal.h"

namespace headwise::cli {

// Deals the sentences that are not in `done` to the ranks: short ranges, one
// after another, each to the rank with the least text so far. A sentence of
// more than `most_bytes` takes no more time than one of that length. The same
// on every rank; the ranges of a rank are in order.
std::vector<std::vector<RowInterval>> deal_sentences(
    std::span<const std::string_view> sentences,
    const std::vector<RowInterval>& done, std::size_t most_bytes,
    std::size_t ranks);

}  // namespace headwise::cli
