#include "attention/key_part.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "base/check.h"
#include "kernels/attention_tile.h"
#include "steps/stored_rule.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using kernels::kKeyBlock;

// Whether a rule may hide the first keys of a sequence from all queries. Such a
// rule has a number per sequence; a batch without one may have any size.
bool may_move_blocks(const BoundMask& mask) {
  return std::ranges::any_of(mask.rules(), [](const auto& rule) {
    return rule.type->form == internal::MaskForm::one_interval &&
           !rule.type->varies(rule, /*starts_differ=*/false)[2];
  });
}

Status check_blocks(std::string_view operation, const BoundMask& mask) {
  if (!may_move_blocks(mask)) {
    return ok();
  }
  for (std::size_t b = 0; b < mask.shape().B; ++b) {
    if (const std::size_t first = mask.first_key(b); first % kKeyBlock != 0) {
      return value_error(operation,
                         "mask.key_starts[" + std::to_string(b) + "]",
                         std::to_string(first),
                         "a multiple of " + std::to_string(kKeyBlock) +
                             " in a part of the keys");
    }
  }
  return ok();
}

std::string whole_blocks() {
  return "a multiple of " + std::to_string(kKeyBlock) +
         " in a part of the keys that is not the last";
}

}  // namespace

std::string_view name_of(KeyPart part) {
  constexpr std::array<std::string_view, 4> kNames = {"all", "first", "middle",
                                                      "last"};
  return kNames[static_cast<std::size_t>(part)];
}

Status check_all_keys(std::string_view operation,
                      const OperationOptions& options) {
  if (options.key_part == KeyPart::all) {
    return ok();
  }
  return value_error(
      operation, "key_part", name_of(options.key_part),
      "all: only attention() and AttentionPlan take a part of the keys",
      ErrorCode::unsupported);
}

Status check_key_part(std::string_view operation,
                      const AttentionOptions& attention_options,
                      const OperationOptions& options, const BoundMask& mask,
                      bool drops) {
  if (options.key_part == KeyPart::all) {
    return ok();
  }
  HEADWISE_TRY(check_keys_of_part(operation, options.key_part, mask.shape()));
  for (const auto& [argument, asked] :
       {std::pair("attn_weights",
                  attention_options.attn_weights != AttnWeights::none),
        std::pair("scores", attention_options.scores != ScoresStage::none),
        std::pair("statistics", options.statistics.any()),
        std::pair("dropout", drops)}) {
    if (asked) {
      return value_error(operation, argument, "asked for",
                         "none in a part of the keys", ErrorCode::unsupported);
    }
  }
  if (attention_options.empty_rows == EmptyRow::uniform) {
    return value_error(operation, "empty_rows", "uniform",
                       "zero or nan in a part of the keys",
                       ErrorCode::unsupported);
  }
  if (attention_options.query_start.is_bottom_right()) {
    return value_error(operation, "query_start", "bottom_right",
                       "a number in a part of the keys",
                       ErrorCode::unsupported);
  }
  return check_blocks(operation, mask);
}

Status check_keys_of_part(std::string_view operation, KeyPart part,
                          const AttentionShape& shape) {
  if (has_last_keys(part)) {
    return ok();
  }
  const Offsets& offsets = shape.offsets;
  if (!offsets.ragged()) {
    return shape.Lkv % kKeyBlock == 0
               ? ok()
               : Status(argument_error(
                     operation, "key",
                     "has " + std::to_string(shape.Lkv) + " keys",
                     whole_blocks()));
  }
  const bool same = offsets.query.data() == offsets.key.data();
  for (std::size_t b = 0; b < shape.B; ++b) {
    if (const std::size_t keys = shape.sequence(b).Lkv; keys % kKeyBlock != 0) {
      return value_error(operation, same ? "offsets" : "offsets.key",
                         "of a sequence of " + std::to_string(keys),
                         whole_blocks());
    }
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
