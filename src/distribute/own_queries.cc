#include "distribute/own_queries.h"

#include <algorithm>

#include "attention/call_part.h"
#include "headwise/attention/forward.h"
#include "headwise/base/half.h"

namespace headwise::inline HEADWISE_ABI {

template <class T>
auto OwnQueries<T>::of_sequence(std::size_t sequence) -> std::span<Own> {
  const auto of = [](const Own& own) { return own.shard.sequence; };
  return {std::ranges::lower_bound(own_, sequence, {}, of),
          std::ranges::upper_bound(own_, sequence, {}, of)};
}

template <class T>
Status OwnQueries<T>::expect(std::size_t rank,
                             std::span<const QueryShard> queries,
                             std::span<const Shard> keys) {
  for (const QueryShard& shard : queries) {
    if (shard.rank == rank) {
      own_.push_back({shard});
    }
  }
  for (const Shard& shard : keys) {
    for (Own& own : of_sequence(shard.sequence)) {
      own.parts += sees(own.shard, shard) ? 1 : 0;
    }
  }
  if (std::ranges::any_of(own_, [](const Own& own) { return own.parts > 1; })) {
    const auto [one, rows, Hq, D] = query_.extents();
    auto softmax_rows = Tensor<float, 4>::create_unset({one, Hq, rows, 2});
    HEADWISE_TRY(softmax_rows);
    auto context =
        Tensor<float, 4>::create_unset({one, rows, Hq, whole_.shape.Dv});
    HEADWISE_TRY(context);
    softmax_rows_ = *std::move(softmax_rows);
    context_ = *std::move(context);
  }
  return ok();
}

template <class T>
Status OwnQueries<T>::take(const Shard& keys, const KeyViews<const T>& rows) {
  for (Own& own : of_sequence(keys.sequence)) {
    if (!sees(own.shard, keys)) {
      continue;
    }
    const bool first = own.taken == 0;
    const bool last = ++own.taken == own.parts;
    HEADWISE_TRY(attend(own, keys.tokens, rows,
                        first && last ? KeyPart::all
                        : first       ? KeyPart::first
                        : last        ? KeyPart::last
                                      : KeyPart::middle));
  }
  return ok();
}

template <class T>
Status OwnQueries<T>::finish() {
  const AttentionShape& shape = whole_.shape;
  for (const Own& own : own_) {
    if (own.parts == 0) {
      const KeyViews<const T> none = {
          {query_.data(), {1, 0, shape.Hkv, shape.D}},
          {query_.data(), {1, 0, shape.Hkv, shape.Dv}}};
      HEADWISE_TRY(attend(own, {}, none, KeyPart::all));
    }
  }
  return ok();
}

template <class T>
Status OwnQueries<T>::attend(const Own& own, const PartRange& keys,
                             const KeyViews<const T>& rows, KeyPart key_part) {
  CallPart part = internal::whole_call(whole_.shape);
  part.sequences = {own.shard.sequence, 1};
  part.queries = own.shard.tokens;
  part.keys = keys;
  auto cut = internal::options_of_part(whole_.shape, whole_.options,
                                       whole_.operation_options, part);
  HEADWISE_TRY(cut);
  cut->operation_options.key_part = key_part;
  const PartRange own_rows = {own.shard.row, own.shard.tokens.count};
  AttentionOutputsOf<T> outputs;
  if (key_part == KeyPart::all || key_part == KeyPart::last) {
    outputs.output = part_along(1, outputs_.output, own_rows);
    outputs.lse = part_along(2, outputs_.lse, own_rows);
    outputs.softmax_rows = part_along(2, outputs_.softmax_rows, own_rows);
  }
  if (key_part != KeyPart::all) {
    outputs.state = {part_along(2, softmax_rows_.view(), own_rows),
                     part_along(1, context_.view(), own_rows)};
  }
  return attention(part_along(1, query_, own_rows), rows.key, rows.value,
                   outputs, cut->options, cut->operation_options);
}

template class OwnQueries<float>;
template class OwnQueries<BFloat16>;
template class OwnQueries<Float16>;

}  // namespace headwise::inline HEADWISE_ABI
