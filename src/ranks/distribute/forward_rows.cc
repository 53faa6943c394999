#include "distribute/forward_rows.h"

#include <type_traits>

#include "attention/call_part.h"
#include "headwise/attention/forward.h"
#include "headwise/base/half.h"

namespace headwise::inline HEADWISE_ABI {

template <class T>
Result<ForwardRows<T>> ForwardRows<T>::create(
    const WholeOptions& whole, TensorView<const T, 4> query,
    const AttentionOutputsOf<T>& outputs, bool with_state) {
  ForwardRows made(whole, query, outputs);
  if (with_state) {
    HEADWISE_TRY(made.make_state());
  }
  return made;
}

template <class T>
Status ForwardRows<T>::make_state() {
  const auto [one, rows, Hq, D] = query_.extents();
  state_.softmax_rows = outputs_.softmax_rows;
  if (state_.softmax_rows.data() == nullptr) {
    HEADWISE_ASSIGN(softmax_rows_,
                    Tensor<float, 4>::create_unset({one, Hq, rows, 2}));
    state_.softmax_rows = softmax_rows_;
  }
  if constexpr (std::is_same_v<T, float>) {
    state_.context = outputs_.output;
  } else {
    HEADWISE_ASSIGN(context_, Tensor<float, 4>::create_unset(
                                  {one, rows, Hq, whole_.shape.Dv}));
    state_.context = context_;
  }
  return ok();
}

template <class T>
Status ForwardRows<T>::attend(const Shard& queries, const PartRange& keys,
                              const KeyViews<const T>& rows, KeyPart key_part) {
  HEADWISE_ASSIGN(const auto cut, whole_.of(queries, keys, key_part));
  const PartRange own = {queries.row, queries.tokens.count};
  AttentionOutputsOf<T> outputs;
  if (key_part == KeyPart::all || key_part == KeyPart::last) {
    outputs.output = part_along(1, outputs_.output, own);
    outputs.lse = part_along(2, outputs_.lse, own);
    outputs.softmax_rows = part_along(2, outputs_.softmax_rows, own);
  }
  if (key_part != KeyPart::all) {
    outputs.state = {part_along(2, state_.softmax_rows, own),
                     part_along(1, state_.context, own)};
  }
  return attention(part_along(1, query_, own), rows.key, rows.value, outputs,
                   cut.options, cut.operation_options);
}

template <class T>
Status ForwardRows<T>::attend_to_none(const Shard& queries) {
  return attend(queries, {}, no_keys(whole_.shape, query_.data()),
                KeyPart::all);
}

template class ForwardRows<float>;
template class ForwardRows<BFloat16>;
template class ForwardRows<Float16>;

}  // namespace headwise::inline HEADWISE_ABI
