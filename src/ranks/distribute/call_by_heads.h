// A call that ranks compute by heads.
#pragma once

#include <cstddef>
#include <string_view>

#include "attention/call_part.h"
#include "distribute/rank_heads.h"
#include "distribute/shards.h"
#include "distribute/whole_options.h"
#include "headwise/attention/spec.h"
#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

struct CallByHeads {
  std::string_view operation;  // of messages
  const AttentionSpec& spec;
  WholeOptions whole;
  const Shards& shards;
  const RankHeads& heads;

  // All tokens of a rank's heads.
  CallPart part_of(std::size_t rank) const {
    CallPart part = internal::whole_call(spec.shape);
    part.heads = heads.query[rank];
    part.kv_heads = heads.key[rank];
    return part;
  }
  bool heads_share_bias() const {
    return spec.bias.given() && spec.bias.extents()[1] != spec.shape.Hq;
  }
};

}  // namespace headwise::inline HEADWISE_ABI
