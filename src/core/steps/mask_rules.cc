// The rules of masks: which keys a query may attend to, what a call must fulfil
// and how each is shown. steps/mask_rule.h says what a rule declares; nothing
// else has to know a rule.
#include <algorithm>
#include <string>

#include "base/check.h"
#include "headwise/steps/mask.h"
#include "steps/call_part.h"
#include "steps/mask_rule.h"
#include "steps/stored_rule.h"

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

// ---- What several checks share ----

bool counts_keys(std::int64_t keys, const MaskCall& call) {
  return keys >= 0 && static_cast<std::uint64_t>(keys) <= call.shape.Lkv;
}

Error no_count_of_keys(std::string_view argument, const std::string& place,
                       std::int64_t given, const MaskCall& call) {
  return value_error(call.operation, std::string(argument) + "[" + place + "]",
                     std::to_string(given),
                     message("0 to Lkv = {}", call.shape.Lkv),
                     ErrorCode::out_of_range);
}

// "1, 2"
std::string place_text(std::size_t b, std::size_t i) {
  return std::to_string(b) + ", " + std::to_string(i);
}

// One side of documents(): a row for each sequence or one for all, no row with
// an id below the one before it.
Status check_ids(TensorView<const std::int64_t, 2> ids, bool shared,
                 std::string_view argument, std::string_view axis,
                 std::size_t count, const MaskCall& call) {
  const std::string axes = (shared ? "(" : "(B, ") + std::string(axis) + ")";
  const std::array<std::size_t, 2> expected = {call.shape.B, count};
  HEADWISE_TRY(check_shape(call.operation, argument,
                           std::span(ids.extents()).subspan(shared ? 1 : 0),
                           axes, std::span(expected).subspan(shared ? 1 : 0)));
  for (std::size_t b = 0; count != 0 && b < ids.extent(0); ++b) {
    for (std::size_t l = 1; l < count; ++l) {
      if (ids(b, l) < ids(b, l - 1)) {
        const std::string place = shared ? std::to_string(l) : place_text(b, l);
        return value_error(
            call.operation, std::string(argument) + "[" + place + "]",
            std::to_string(ids(b, l)),
            message(
                "at least the {} before it: ids do not decrease along a row",
                ids(b, l - 1)));
      }
    }
  }
  return ok();
}

Status check_side(std::string_view argument, std::optional<std::int64_t> keys,
                  const MaskCall& call) {
  return !keys || *keys >= 0
             ? ok()
             : Status(value_error(
                   call.operation, argument, std::to_string(*keys),
                   "a whole number, 0 or greater", ErrorCode::out_of_range));
}

// The number of the part's keys among the first `keys` of the call.
std::int64_t keys_in_part(std::int64_t keys, const CallPart& part) {
  return std::clamp<std::int64_t>(
      keys - static_cast<std::int64_t>(part.keys.first), 0,
      static_cast<std::int64_t>(part.keys.count));
}

// ---- The rules ----

struct Causal {
  static constexpr MaskWords kWords = {
      "causal_mask", "causal mask: True where the key is not in the future",
      "causal_mask[0,0,i,j] = j <= i + query_start"};
  static constexpr bool kMovesOn = true;

  std::array<bool, 4> varies(bool starts_differ) const {
    return {starts_differ, false, true, true};
  }
  Status check(const MaskCall& /*call*/) const { return ok(); }
  void cut_to(const CallPart& /*part*/, PartNumbers& /*numbers*/) {}
  Interval keys(const QueryRow& query) const {
    return {kBeforeAllKeys, query.position + 1};
  }
};

struct Window {
  static constexpr MaskWords kWords = {
      "window_mask", "window mask: True where the key is near the query",
      "window_mask[0,0,i,j] = p - left <= j <= p + right, p = i + "
      "query_start"};
  static constexpr bool kMovesOn = true;

  std::array<bool, 4> varies(bool starts_differ) const {
    return {starts_differ, false, true, true};
  }
  Status check(const MaskCall& call) const {
    HEADWISE_TRY(check_side("mask.window.left", left, call));
    return check_side("mask.window.right", right, call);
  }
  void cut_to(const CallPart& /*part*/, PartNumbers& /*numbers*/) {}
  Interval keys(const QueryRow& query) const {
    // A side whose end no number can hold has no end.
    const std::int64_t p = query.position;
    const bool begins = left && p >= kBeforeAllKeys + *left;
    const bool ends = right && p < kBeyondAllKeys - *right;
    return {begins ? p - *left : kBeforeAllKeys,
            ends ? p + *right + 1 : kBeyondAllKeys};
  }

  std::optional<std::int64_t> left;  // none: no limit on that side
  std::optional<std::int64_t> right;
};

// A window that also sees the first keys: what a rolling cache keeps.
struct WindowAndFirst {
  static constexpr MaskWords kWords = {
      "window_and_first_mask",
      "window mask: True where the key is near the query or among the first",
      "window_and_first_mask[0,0,i,j] = (p - left <= j | j < keep_first) & "
      "j <= p + right, p = i + query_start"};
  static constexpr bool kMovesOn = true;

  std::array<bool, 4> varies(bool starts_differ) const {
    return window.varies(starts_differ);
  }
  Status check(const MaskCall& call) const {
    HEADWISE_TRY(window.check(call));
    return check_side("mask.window.keep_first", keep_first, call);
  }
  void cut_to(const CallPart& part, PartNumbers& numbers) {
    window.cut_to(part, numbers);
    keep_first = keys_in_part(keep_first, part);
  }
  std::array<Interval, 2> keys(const QueryRow& query) const {
    const Interval near = window.keys(query);
    return {{{kBeforeAllKeys, std::min(keep_first, near.end)}, near}};
  }

  Window window;
  std::int64_t keep_first;
};

struct KeyLengths {
  static constexpr MaskWords kWords = {
      "key_lengths_mask", "length mask: True for keys within the length",
      "key_lengths_mask[b,0,i,j] = j < key_lengths[b] (or [b,i])"};

  std::array<bool, 4> varies(bool /*starts_differ*/) const {
    return {true, false, per_query, true};
  }
  Status check(const MaskCall& call) const {
    const AttentionShape& shape = call.shape;
    const auto [B, rows] = lengths.extents();
    if (per_query && (B != shape.B || rows != shape.Lq)) {
      return shape_error(call.operation, "mask.key_lengths", lengths.extents(),
                         "(B, Lq)", {{shape.B, shape.Lq}});
    }
    if (B != shape.B) {
      return shape_error(call.operation, "mask.key_lengths", {{B}}, "(B)",
                         {{shape.B}});
    }
    for (std::size_t b = 0; rows != 0 && b < B; ++b) {
      for (std::size_t i = 0; i < rows; ++i) {
        if (!counts_keys(lengths(b, i), call)) {
          return no_count_of_keys(
              "mask.key_lengths",
              per_query ? place_text(b, i) : std::to_string(b), lengths(b, i),
              call);
        }
      }
    }
    return ok();
  }
  void cut_to(const CallPart& part, PartNumbers& numbers) {
    const Extents<2> extents = {part.sequences.count,
                                per_query ? part.queries.count : 1};
    lengths = numbers.keep(extents, [&](std::size_t b, std::size_t i) {
      return keys_in_part(
          lengths(part.sequences[b], per_query ? part.queries[i] : 0), part);
    });
  }
  Interval keys(const QueryRow& query) const {
    return {kBeforeAllKeys, lengths(query.b, per_query ? query.i : 0)};
  }

  TensorView<const std::int64_t, 2> lengths;  // (B, Lq), or (B, 1)
  bool per_query;
};

struct KeyStarts {
  static constexpr MaskWords kWords = {
      "key_starts_mask", "left padding mask: True from the first real key on",
      "key_starts_mask[b,0,0,j] = j >= key_starts[b]"};

  std::array<bool, 4> varies(bool /*starts_differ*/) const {
    return {true, false, false, true};
  }
  Status check(const MaskCall& call) const {
    HEADWISE_TRY(check_shape(call.operation, "mask.key_starts",
                             starts.extents(), "(B)", {{call.shape.B}}));
    for (std::size_t b = 0; b < call.shape.B; ++b) {
      if (!counts_keys(starts(b), call)) {
        return no_count_of_keys("mask.key_starts", std::to_string(b), starts(b),
                                call);
      }
    }
    return ok();
  }
  void cut_to(const CallPart& part, PartNumbers& numbers) {
    starts = numbers.keep(part.sequences.count, [&](std::size_t b) {
      return keys_in_part(starts(part.sequences[b]), part);
    });
  }
  Interval keys(const QueryRow& query) const {
    return {starts(query.b), kBeyondAllKeys};
  }

  TensorView<const std::int64_t, 1> starts;  // (B)
};

struct KeyPadding {
  static constexpr MaskWords kWords = {
      "padding_mask", "padding mask: True where the key is a real token",
      "padding_mask[b,0,0,j] = key j of sequence b is not padding"};

  std::array<bool, 4> varies(bool /*starts_differ*/) const {
    return {true, false, false, true};
  }
  Status check(const MaskCall& call) const {
    return check_shape(call.operation, "mask.key_padding", padding.extents(),
                       "(B, Lkv)", {{call.shape.B, call.shape.Lkv}});
  }
  void cut_to(const CallPart& part, PartNumbers& /*numbers*/) {
    padding = part_along(1, part_along(0, padding, part.sequences), part.keys);
  }
  Booleans values() const {
    return {padding.data(), {padding.stride(0), 0, 0, padding.stride(1)}};
  }

  TensorView<const bool, 2> padding;  // (B, Lkv)
};

// Ids do not decrease along a row, so the keys of one document are next to each
// other.
struct Documents {
  static constexpr MaskWords kWords = {
      "documents_mask",
      "document mask: True where query and key belong to the same document",
      "documents_mask[b,0,i,j] = query_ids[b,i] == key_ids[b,j]"};
  static constexpr bool kMovesOn = true;

  std::array<bool, 4> varies(bool /*starts_differ*/) const {
    return {!shared, false, true, true};
  }
  Status check(const MaskCall& call) const {
    HEADWISE_TRY(check_ids(query_ids, shared, "mask.documents.query_ids", "Lq",
                           call.shape.Lq, call));
    return check_ids(key_ids, shared, "mask.documents.key_ids", "Lkv",
                     call.shape.Lkv, call);
  }
  void cut_to(const CallPart& part, PartNumbers& /*numbers*/) {
    query_ids = part_along(1, query_ids, part.queries);
    key_ids = part_along(1, key_ids, part.keys);
    if (!shared) {
      query_ids = part_along(0, query_ids, part.sequences);
      key_ids = part_along(0, key_ids, part.sequences);
    }
  }
  Interval keys(const QueryRow& query) const {
    const std::size_t row = shared ? 0 : query.b;
    const std::int64_t id = query_ids(row, query.i);
    // The first key from `from` on that `reaches` the id, by bisection.
    const auto first_key = [&](std::int64_t from, auto reaches) {
      std::int64_t end = query.within.end;
      while (from < end) {
        const std::int64_t middle = from + (end - from) / 2;
        if (reaches(key_ids(row, static_cast<std::size_t>(middle)))) {
          end = middle;
        } else {
          from = middle + 1;
        }
      }
      return from;
    };
    const std::int64_t begin = first_key(
        query.within.begin, [&](std::int64_t key) { return key >= id; });
    return {begin,
            first_key(begin, [&](std::int64_t key) { return key > id; })};
  }
  bool same_as_previous(const QueryRow& query) const {
    const std::size_t row = shared ? 0 : query.b;
    return query_ids(row, query.i) == query_ids(row, query.i - 1);
  }

  TensorView<const std::int64_t, 2> query_ids;  // (B, Lq), or (1, Lq)
  TensorView<const std::int64_t, 2> key_ids;    // (B, Lkv), or (1, Lkv)
  bool shared;                                  // by all sequences: the latter
};

struct Dense {
  static constexpr MaskWords kWords = {
      "dense_mask", "the given mask: True where a query may attend",
      "dense_mask: given"};

  std::array<bool, 4> varies(bool /*starts_differ*/) const {
    return axes.named();
  }
  Status check(const MaskCall& call) const {
    return axes.check(call.shape, call.operation, "mask");
  }
  void cut_to(const CallPart& part, PartNumbers& /*numbers*/) {
    data += offset_of_part(axes, part);
    axes = axes_of_part(axes, part);
  }
  Booleans values() const { return {data, axes.score_strides()}; }

  const bool* data;
  NamedAxes axes;
};

// ---- All of them ----

template <class... Rules>
struct RuleList {
  static constexpr std::array<MaskWords, sizeof...(Rules)> kWords = {
      Rules::kWords...};
  template <class Rule>
  static constexpr bool kHas = (std::is_same_v<Rule, Rules> || ...);
};
using AllRules = RuleList<KeyPadding, Causal, Window, WindowAndFirst, KeyStarts,
                          Documents, KeyLengths, Dense>;

}  // namespace

std::span<const MaskWords> mask_words() { return AllRules::kWords; }

}  // namespace headwise::internal::inline HEADWISE_ABI

namespace headwise::inline HEADWISE_ABI {

using namespace internal;  // NOLINT(google-build-using-namespace): the rules

namespace {

template <MaskRule Rule>
Mask listed(const Rule& rule) {
  static_assert(AllRules::kHas<Rule>, "list the rule in AllRules");
  return mask_of(rule);
}

}  // namespace

Mask causal() { return listed(Causal{}); }

Mask window(std::optional<std::int64_t> left, std::optional<std::int64_t> right,
            std::int64_t keep_first) {
  // Without first keys it is one interval, which is faster.
  return keep_first == 0 ? listed(Window{left, right})
                         : listed(WindowAndFirst{{left, right}, keep_first});
}

Mask key_lengths(TensorView<const std::int64_t, 1> lengths) {
  return listed(KeyLengths{
      {lengths.data(), {lengths.extent(0), 1}, {lengths.stride(0), 0}}, false});
}

Mask key_lengths(TensorView<const std::int64_t, 2> lengths) {
  return listed(KeyLengths{lengths, true});
}

Mask key_starts(TensorView<const std::int64_t, 1> starts) {
  return listed(KeyStarts{starts});
}

Mask key_padding(TensorView<const bool, 2> padding) {
  return listed(KeyPadding{padding});
}

Mask documents(TensorView<const std::int64_t, 2> query_ids,
               TensorView<const std::int64_t, 2> key_ids) {
  return listed(Documents{query_ids, key_ids, false});
}

Mask documents(TensorView<const std::int64_t, 1> query_ids,
               TensorView<const std::int64_t, 1> key_ids) {
  const auto one_row = [](TensorView<const std::int64_t, 1> ids) {
    return TensorView<const std::int64_t, 2>(ids.data(), {1, ids.extent(0)},
                                             {0, ids.stride(0)});
  };
  return listed(Documents{one_row(query_ids), one_row(key_ids), true});
}

Mask dense(const bool* data, const NamedAxes& axes) {
  return listed(Dense{data, axes});
}

}  // namespace headwise::inline HEADWISE_ABI
