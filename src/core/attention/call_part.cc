#include "attention/call_part.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "steps/stored_rule.h"

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

Mask mask_of_part(const Mask& mask, const CallPart& part,
                  PartNumbers& numbers) {
  Mask cut;
  for (StoredMaskRule rule : mask.rules()) {
    rule.type->cut_to(rule, part, numbers);
    cut = cut & Mask(rule);
  }
  return cut;
}

Bias bias_of_part(const Bias& bias, const CallPart& part) {
  return bias.given() ? dense(bias.data() + offset_of_part(bias.axes(), part),
                              axes_of_part(bias.axes(), part))
                      : bias;
}

QueryStart start_of_part(const QueryStart& start, const AttentionShape& whole,
                         const CallPart& part, PartNumbers& numbers) {
  const auto of = [&](std::size_t b) {
    return start.of(part.sequences[b], whole) +
           static_cast<std::int64_t>(part.queries.first) -
           static_cast<std::int64_t>(part.keys.first);
  };
  const bool differs = start.differs_by_sequence() ||
                       (start.is_bottom_right() && whole.offsets.ragged());
  if (part.sequences.count > 1 && differs) {
    return numbers.keep(part.sequences.count, of);
  }
  return part.sequences.count == 0 ? QueryStart() : QueryStart(of(0));
}

std::size_t count_of(const AddedKeys& added) {
  return (added.bias_k.data() != nullptr ? 1U : 0U) +
         (added.zero_attn ? 1U : 0U);
}

// The columns of the added keys are those behind the longest sequence.
Status check_keep_mask(const AttentionShape& whole, const Dropout& dropout,
                       const AddedKeys& added_keys, const CallPart& part,
                       std::string_view operation) {
  const bool ends_earlier = part.keys.first + part.keys.count != whole.Lkv;
  return dropout.keep_mask.data() != nullptr && count_of(added_keys) != 0 &&
                 whole.offsets.ragged() && ends_earlier
             ? Status(value_error(operation, "dropout.keep_mask", "given",
                                  "none for added keys in a part of a ragged "
                                  "batch",
                                  ErrorCode::unsupported))
             : ok();
}

DropoutPlace place_of_part(const DropoutPlace& whole, const CallPart& part) {
  return {.first_head = whole.first_head + part.heads.first * whole.head_step,
          .head_step = whole.head_step * part.heads.step,
          .first_key = whole.first_key + part.keys.first};
}

// A keep mask has the columns of the added keys behind those of the keys.
Dropout dropout_of_part(const Dropout& dropout, const CallPart& part,
                        std::size_t added_keys, PartNumbers& numbers) {
  Dropout cut = dropout;
  cut.sequence_ids = numbers.keep(part.sequences.count, [&](std::size_t n) {
    const std::size_t b = part.sequences[n];
    return dropout.sequence_ids.data() == nullptr ? static_cast<std::int64_t>(b)
                                                  : dropout.sequence_ids(b);
  });
  const PartRange columns = {part.keys.first, part.keys.count + added_keys};
  cut.keep_mask = part_along(
      0,
      part_along(1,
                 part_along(2, part_along(3, dropout.keep_mask, columns),
                            part.queries),
                 part.heads),
      part.sequences);
  cut.place = place_of_part(dropout.place, part);
  return cut;
}

Result<HeadGroups> groups_of_part(const HeadMap& whole, const CallPart& part) {
  std::vector<std::size_t> sizes(part.kv_heads.count, 0);
  for (std::size_t n = 0; n < part.heads.count; ++n) {
    ++sizes[whole.kv_head(part.heads[n]) - part.kv_heads.first];
  }
  const bool even = std::ranges::adjacent_find(
                        sizes, std::ranges::not_equal_to()) == sizes.end();
  return even ? HeadGroups() : HeadGroups::create(sizes);
}

AttentionOptions cut_options(const AttentionShape& whole,
                             const AttentionOptions& options,
                             const AddedKeys& added_keys, const CallPart& part,
                             PartNumbers& numbers) {
  AttentionOptions cut = options;
  cut.mask = mask_of_part(options.mask, part, numbers);
  cut.bias = bias_of_part(options.bias, part);
  cut.t5_bias.table = part_along(1, options.t5_bias.table, part.heads);
  cut.alibi = part_along(0, options.alibi, part.heads);
  cut.sinks = part_along(0, options.sinks, part.heads);
  cut.query_start = start_of_part(options.query_start, whole, part, numbers);
  const CallPart all = whole_call(whole);
  const bool all_rows = part.sequences == all.sequences &&
                        part.queries == all.queries && part.keys == all.keys;
  assert(!whole.offsets.ragged() || all_rows || part.sequences.count == 1);
  if (!all_rows) {
    cut.offsets = {};
  }
  if (options.dropout.training || options.dropout.keep_mask.data() != nullptr) {
    cut.dropout =
        dropout_of_part(options.dropout, part, count_of(added_keys), numbers);
  }
  return cut;
}

OperationOptions cut_operation_options(const OperationOptions& options,
                                       HeadGroups groups,
                                       const CallPart& part) {
  OperationOptions cut = options;
  cut.score_weight = part_along(0, options.score_weight, part.heads);
  cut.kv_groups = std::move(groups);
  cut.added_keys.bias_k =
      part_along(0, options.added_keys.bias_k, part.kv_heads);
  cut.added_keys.bias_v =
      part_along(0, options.added_keys.bias_v, part.kv_heads);
  return cut;
}

}  // namespace

CallPart whole_call(const AttentionShape& whole) {
  return {.sequences = {0, whole.B},
          .heads = {0, whole.Hq},
          .kv_heads = {0, whole.Hkv},
          .queries = {0, whole.Lq},
          .keys = {0, whole.Lkv}};
}

Result<OptionsOfPart> options_of_part(const AttentionShape& whole,
                                      const AttentionOptions& options,
                                      const OperationOptions& operation_options,
                                      const CallPart& part,
                                      std::string_view operation) try {
  if (operation_options.statistics.any()) {
    return value_error(operation, "statistics", "asked for",
                       "none in a part of a call", ErrorCode::unsupported);
  }
  HEADWISE_TRY(check_keep_mask(whole, options.dropout,
                               operation_options.added_keys, part, operation));
  HEADWISE_ASSIGN(auto groups, groups_of_part(whole.heads(), part));
  PartNumbers numbers;
  AttentionOptions cut =
      cut_options(whole, options, operation_options.added_keys, part, numbers);
  return OptionsOfPart{
      std::move(cut),
      cut_operation_options(operation_options, std::move(groups), part),
      std::move(numbers)};
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::internal::inline HEADWISE_ABI
