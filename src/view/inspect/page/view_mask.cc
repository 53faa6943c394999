#include "inspect/page/view_mask.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "inspect/page/view_block.h"
#include "steps/mask_words.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

struct Range {
  std::size_t begin;
  std::size_t end;
};

Range range_of(const BoundMask& mask, std::size_t b, std::size_t i) {
  const Range range{mask.visible_begin(b, i, 1), mask.visible_end(b, i, 1)};
  return range.begin < range.end ? range : Range{0, 0};
}

// Whether every query may attend to all keys of its range.
bool is_all_ranges(const AttentionSpec& spec) {
  return !spec.bias.given() && internal::sees_one_interval(spec.mask);
}

// Sets the bits of a query's range. Returns whether one of them is 0.
bool fill_bits(const BoundMask& mask, std::size_t b, std::size_t h,
               std::size_t i, Range range, std::uint8_t* bits) {
  bool holes = false;
  for (std::size_t j = range.begin; j < range.end; ++j) {
    const bool may = mask.may_attend(b, h, i, j);
    holes |= !may;
    bits[j / 8] |= static_cast<std::uint8_t>(may ? 1U << j % 8 : 0U);
  }
  return holes;
}

}  // namespace

EncodedMask encode_mask(const AttentionSpec& spec, std::size_t b, std::size_t h,
                        std::size_t queries) {
  const std::size_t row_bytes = (spec.shape.sequence(b).Lkv + 7) / 8;
  const bool all_ranges = is_all_ranges(spec);
  std::vector<std::int32_t> ranges;
  std::vector<std::uint8_t> bits(all_ranges ? 0 : queries * row_bytes);
  bool holes = false;
  for (std::size_t i = 0; i < queries; ++i) {
    const Range range = range_of(spec.mask, b, i);
    ranges.push_back(static_cast<std::int32_t>(range.begin));
    ranges.push_back(static_cast<std::int32_t>(range.end));
    if (!all_ranges) {
      holes |=
          fill_bits(spec.mask, b, h, i, range, bits.data() + i * row_bytes);
    }
  }
  EncodedMask mask{encoded_block(ranges), {}};
  if (holes) {
    mask.bits = encoded_block(bits);
  }
  return mask;
}

std::string mask_name(const AttentionSpec& spec) {
  constexpr std::string_view kEnding = "_mask";
  std::string name;
  for (const BoundMask::Part& part : spec.mask.parts()) {
    if (part.name == "mask") {  // all of them together
      continue;
    }
    std::string_view shown = part.name;
    shown.remove_suffix(shown.ends_with(kEnding) ? kEnding.size() : 0);
    name += (name.empty() ? "" : " & ") + std::string(shown);
  }
  return name.empty() ? "none" : name;
}

bool masks_differ_by_head(const AttentionSpec& spec) {
  return spec.bias.given() ||
         std::ranges::any_of(spec.mask.parts(),
                             [](const auto& part) { return part.varies[1]; });
}

}  // namespace headwise::inline HEADWISE_ABI
