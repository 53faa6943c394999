// Blocks of keys and values where a cache stores them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "attention/few_rows/row_blocks.h"
#include "decode/decode_call.h"

namespace headwise::inline HEADWISE_ABI {

class StoredBlocks final : public RowBlocks {
 public:
  explicit StoredBlocks(const DecodeCall& call);

  // Whether keys are in panels and blocks of keys begin where panels do.
  static bool serve(const DecodeCall& call);

  void begin(std::size_t b, std::size_t g) override;
  RowBlock block(std::size_t first, std::size_t count) override;
  bool all_finite(const RowBlock& /*block*/) const override { return finite_; }
  const kernels::StoredTile& key_loops() const override { return loops_; }
  const kernels::StoredTile& value_loops() const override { return loops_; }

 private:
  static constexpr std::size_t kSmallestPage = 16;
  static constexpr std::size_t kMostParts = kernels::kKeyBlock / kSmallestPage;

  // What is read one block after this token, a place where a panel begins;
  // null: nothing.
  const void* later_panel(std::size_t token) const;
  const void* later_values(std::size_t token) const;

  const CacheState& cache_;
  std::span<const SequenceId> ids_;
  std::size_t first_head_;
  const kernels::StoredTile& loops_;
  const bool reads_ahead_;  // the loops ask for what comes one block later
  std::uint32_t slot_ = 0;
  std::size_t g_ = 0;
  bool finite_ = true;  // the values of the last block
  std::array<kernels::KeyPanel, kMostParts> panels_;
  std::array<kernels::ValueRows, kMostParts> values_;
};

}  // namespace headwise::inline HEADWISE_ABI
