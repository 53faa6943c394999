// A rule as a mask stores it: its bytes, and functions for what can be asked of
// it, derived from its declaration.
#pragma once

#include <array>
#include <cstring>

#include "steps/mask_rule.h"
#include "steps/rule_tile.h"

namespace headwise::internal::inline HEADWISE_ABI {

enum class MaskForm { one_interval, two_intervals, booleans, computed };

struct MaskRuleType {
  MaskForm form;
  std::string_view name;
  Status (*check)(const StoredMaskRule&, const MaskCall&);
  void (*cut_to)(StoredMaskRule&, const CallPart&, PartNumbers&);
  std::array<bool, 4> (*varies)(const StoredMaskRule&, bool starts_differ);
  bool (*allows)(const StoredMaskRule&, const Pair&);
  TileKind (*classify)(const StoredMaskRule&, const Tile&, std::int64_t start);
  void (*restrict_words)(const StoredMaskRule&, const Tile&, std::int64_t start,
                         Words allowed);
  Interval (*visible)(const StoredMaskRule&, const QueryRows&);
  std::array<Interval, 2> (*seen)(const StoredMaskRule&, const QueryRows&);
  Booleans (*values)(const StoredMaskRule&);  // of the form booleans only
};

// Only of a rule that was stored as a Rule.
template <MaskRule Rule>
const Rule& rule_of(const StoredMaskRule& stored) {
  return *std::launder(reinterpret_cast<const Rule*>(stored.bytes.data()));
}

template <MaskRule Rule>
void cut_stored(StoredMaskRule& stored, const CallPart& part,
                PartNumbers& numbers) {
  Rule rule = rule_of<Rule>(stored);
  rule.cut_to(part, numbers);
  std::memcpy(stored.bytes.data(), &rule, sizeof rule);
}

template <MaskRule Rule>
constexpr MaskForm form_of() {
  return OneIntervalRule<Rule>   ? MaskForm::one_interval
         : TwoIntervalRule<Rule> ? MaskForm::two_intervals
         : BooleansRule<Rule>    ? MaskForm::booleans
                                 : MaskForm::computed;
}

template <MaskRule Rule>
Booleans values_of(const StoredMaskRule& stored) {
  if constexpr (BooleansRule<Rule>) {
    return rule_of<Rule>(stored).values();
  } else {
    return {};
  }
}

template <MaskRule Rule>
inline constexpr MaskRuleType kMaskRuleType = {
    .form = form_of<Rule>(),
    .name = Rule::kWords.name,
    .check =
        [](const StoredMaskRule& stored, const MaskCall& call) {
          return rule_of<Rule>(stored).check(call);
        },
    .cut_to = cut_stored<Rule>,
    .varies =
        [](const StoredMaskRule& stored, bool starts_differ) {
          return rule_of<Rule>(stored).varies(starts_differ);
        },
    .allows =
        [](const StoredMaskRule& stored, const Pair& pair) {
          return internal::allows(rule_of<Rule>(stored), pair);
        },
    .classify =
        [](const StoredMaskRule& stored, const Tile& tile, std::int64_t start) {
          return internal::classify(rule_of<Rule>(stored), tile, start);
        },
    .restrict_words =
        [](const StoredMaskRule& stored, const Tile& tile, std::int64_t start,
           Words allowed) {
          internal::restrict_words(rule_of<Rule>(stored), tile, start, allowed);
        },
    .visible =
        [](const StoredMaskRule& stored, const QueryRows& rows) {
          return internal::visible(rule_of<Rule>(stored), rows);
        },
    .seen =
        [](const StoredMaskRule& stored, const QueryRows& rows) {
          return internal::seen_intervals(rule_of<Rule>(stored), rows);
        },
    .values = values_of<Rule>,
};

// A mask of one rule. A rule that misses a part does not compile here.
template <MaskRule Rule>
Mask mask_of(const Rule& rule) {
  StoredMaskRule stored;
  stored.type = &kMaskRuleType<Rule>;
  std::memcpy(stored.bytes.data(), &rule, sizeof rule);
  return Mask(stored);
}

}  // namespace headwise::internal::inline HEADWISE_ABI
