// What a layer is: its configuration and its parameters.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "headwise/base/random.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/steps/head_groups.h"
#include "module/layer_memory.h"

namespace headwise::inline HEADWISE_ABI {

struct LayerState {
  MultiHeadAttentionConfig config;
  HeadGroups kv_groups;  // of config.kv_group_sizes
  Seed seed;  // of the parameters, which open sizes have yet to be drawn from
  std::optional<MultiHeadAttentionParams> params{};  // none: a size is open
  std::uint64_t params_id = 0;  // different after every change of parameters
  // Shared by layers that run one after another; never null.
  std::shared_ptr<LayerMemoryShelf> memory;
};

struct MultiHeadAttention::State : LayerState {};

}  // namespace headwise::inline HEADWISE_ABI
