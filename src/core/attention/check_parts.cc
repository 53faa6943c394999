#include "attention/check_parts.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "kernels/attention_tile.h"
#include "steps/stored_rule.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using kernels::kKeyBlock;

// The order of both enumerations.
constexpr std::array<std::string_view, 4> kNames = {"all", "first", "middle",
                                                    "last"};

// What errors expect in a part.
struct PartTexts {
  std::string_view none;
  std::string_view number;
  std::string_view zero_or_nan;
};
constexpr PartTexts kOfKeys = {"none in a part of the keys",
                               "a number in a part of the keys",
                               "zero or nan in a part of the keys"};
constexpr PartTexts kOfQueries = {"none in a part of the queries",
                                  "a number in a part of the queries",
                                  "zero or nan in a part of the queries"};

// What the options ask for, of that which may need all keys or queries.
struct AskedOfPart {
  AttnWeights attn_weights;
  ScoresStage scores;
  bool statistics;
  EmptyRow empty_rows;
  bool bottom_right;
};

Status check_part_options(std::string_view operation, const AskedOfPart& part,
                          const PartTexts& expected) {
  for (const auto& [argument, asked] :
       {std::pair("attn_weights", part.attn_weights != AttnWeights::none),
        std::pair("scores", part.scores != ScoresStage::none),
        std::pair("statistics", part.statistics)}) {
    if (asked) {
      return value_error(operation, argument, "asked for", expected.none,
                         ErrorCode::unsupported);
    }
  }
  if (part.empty_rows == EmptyRow::uniform) {
    return value_error(operation, "empty_rows", "uniform", expected.zero_or_nan,
                       ErrorCode::unsupported);
  }
  if (part.bottom_right) {
    return value_error(operation, "query_start", "bottom_right",
                       expected.number, ErrorCode::unsupported);
  }
  return ok();
}

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
      return value_error(
          operation, "mask.key_starts[" + std::to_string(b) + "]",
          std::to_string(first),
          message("a multiple of {} in a part of the keys", kKeyBlock));
    }
  }
  return ok();
}

Message whole_blocks() {
  return message("a multiple of {} in a part of the keys that is not the last",
                 kKeyBlock);
}

}  // namespace

std::string_view name_of(KeyPart part) {
  return kNames[static_cast<std::size_t>(part)];
}
std::string_view name_of(QueryPart part) {
  return kNames[static_cast<std::size_t>(part)];
}

Status check_all_queries(std::string_view operation, QueryPart part) {
  if (part == QueryPart::all) {
    return ok();
  }
  return value_error(
      operation, "query_part", name_of(part),
      "all: only attention_backward() takes a part of the queries",
      ErrorCode::unsupported);
}

Status check_no_part(std::string_view operation,
                     const OperationOptions& options) {
  if (options.key_part != KeyPart::all) {
    return value_error(operation, "key_part", name_of(options.key_part),
                       "all: only attention(), AttentionPlan and "
                       "attention_backward() take a part of the keys",
                       ErrorCode::unsupported);
  }
  return check_all_queries(operation, options.query_part);
}

Status check_parts(std::string_view operation,
                   const AttentionOptions& attention_options,
                   const OperationOptions& options, const BoundMask& mask) {
  const bool some_keys = options.key_part != KeyPart::all;
  const bool some_queries = options.query_part != QueryPart::all;
  if (!some_keys && !some_queries) {
    return ok();
  }
  if (some_keys && some_queries) {
    return value_error(operation, "query_part", name_of(options.query_part),
                       "all with a key_part", ErrorCode::unsupported);
  }
  HEADWISE_TRY(check_keys_of_part(operation, options.key_part, mask.shape()));
  HEADWISE_TRY(check_part_options(
      operation,
      {attention_options.attn_weights, attention_options.scores,
       options.statistics.any(), attention_options.empty_rows,
       attention_options.query_start.is_bottom_right()},
      some_keys ? kOfKeys : kOfQueries));
  return some_keys ? check_blocks(operation, mask) : ok();
}

Status AttentionSpec::check_keys_in_parts(std::string_view operation) const
    try {
  // A part is given its own query_start, as a number.
  HEADWISE_TRY(check_part_options(
      operation, {attn_weights, scores, statistics.any(), empty_rows, false},
      kOfKeys));
  return check_blocks(operation, mask);
} catch (...) {
  return caught_out_of_memory();
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
               : Status(argument_error(operation, "key",
                                       message("has {} keys", shape.Lkv),
                                       whole_blocks()));
  }
  const bool same = offsets.query.data() == offsets.key.data();
  for (std::size_t b = 0; b < shape.B; ++b) {
    if (const std::size_t keys = shape.sequence(b).Lkv; keys % kKeyBlock != 0) {
      return argument_error(operation, same ? "offsets" : "offsets.key",
                            message("is of a sequence of {}", keys),
                            whole_blocks());
    }
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
