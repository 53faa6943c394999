// Blocks of keys and values in the caller's tensors: keys are transposed a
// panel at a time, into memory that stays in the caches, values are read where
// they are.
#pragma once

#include <array>
#include <cstddef>

#include "attention/few_rows/row_blocks.h"
#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "run/arena.h"

namespace headwise::inline HEADWISE_ABI {

class PlainBlocks final : public RowBlocks {
 public:
  PlainBlocks(const AttentionSpec& spec, Arena& arena);

  // The tensors of the next heads.
  void read(const CallTensors& tensors);

  void begin(std::size_t b, std::size_t g) override;
  RowBlock block(std::size_t first, std::size_t count) override;
  bool all_finite(const RowBlock& block) const override;
  const kernels::StoredTile& key_loops() const override { return panel_loops_; }
  const kernels::StoredTile& value_loops() const override { return *loops_; }

 private:
  static constexpr std::size_t kPanels =
      kernels::kKeyBlock / kernels::kPanelKeys;

  // The keys from `first` on, as many as there are before `end` and in a panel.
  kernels::NumberRows<const void> keys(std::size_t first,
                                       std::size_t end) const;
  kernels::ValueRows values(std::size_t first, std::size_t count) const;
  void pack_panel(const kernels::NumberRows<const void>& keys,
                  std::size_t following, float* panel) const;

  const AttentionSpec& spec_;
  const kernels::StoredTile& panel_loops_;  // float32, or panels of pairs
  const kernels::StoredTile* loops_;        // of the values' type
  TensorArg key_;
  TensorArg value_;
  SequencePlace place_{};
  std::size_t g_ = 0;
  std::array<float*, kPanels> panel_memory_;  // (D, kPanelKeys) each
  float* widened_;       // (D, kPanelKeys), keys on their way to pairs
  float* value_memory_;  // (kKeyBlock, Dv), of values with other strides
  std::array<kernels::KeyPanel, kPanels> panels_;
  kernels::ValueRows values_{};
};

}  // namespace headwise::inline HEADWISE_ABI
