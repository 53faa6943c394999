#include "distribute/row_gradients.h"

#include <utility>

#include "attention/row_sums.h"
#include "distribute/share_heads.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kAlibi = 0;
constexpr std::size_t kSinks = 1;

TensorView<float, 3> without_last_axis(Tensor<float, 4>& rows) {
  const auto [B, heads, count, one] = rows.extents();
  return rows.size() == 0
             ? TensorView<float, 3>()
             : TensorView<float, 3>(rows.data(), {B, heads, count});
}

// What all rows give to this rank's heads, added up.
Result<Tensor<float, 1>> sums_of_heads(const HeadExchanges& exchanges,
                                       const AttentionShape& shape,
                                       std::size_t heads,
                                       const Tensor<float, 4>& own) {
  const Extents<3> extents = {shape.batches(), heads, shape.query_rows()};
  HEADWISE_ASSIGN(auto rows, Tensor<float, 4>::create_unset(
                                 {extents[0], extents[1], extents[2], 1}));
  HEADWISE_TRY(exchanges.queries<float>(kHeadsFirst).to_heads(own, rows));
  HEADWISE_ASSIGN(auto sums, Tensor<float, 1>::create_unset({heads}));
  add_rows_up(shape, {rows.data(), extents}, sums);
  return sums;
}

}  // namespace

Result<RowGradients> RowGradients::create(Communicator& group,
                                          const AttentionShape& shape,
                                          std::size_t rows,
                                          const CallTensors& tensors) {
  HEADWISE_ASSIGN(const auto asked,
                  Wanted<2>::ask(group, {tensors.has(CallTensor::d_alibi),
                                         tensors.has(CallTensor::d_sinks)}));
  RowGradients made(asked);
  for (const auto& [n, shares] :
       {std::pair(kAlibi, &made.alibi_), {kSinks, &made.sinks_}}) {
    if (asked.by_any(n)) {
      HEADWISE_ASSIGN(*shares,
                      Tensor<float, 4>::create_unset({1, shape.Hq, rows, 1}));
    }
  }
  return made;
}

RowShares RowGradients::shares() {
  return {without_last_axis(alibi_), without_last_axis(sinks_)};
}

Status RowGradients::add_up(Communicator& group, const AttentionShape& shape,
                            const Shards& shards, const RankHeads& heads,
                            const CallTensors& tensors) const {
  const HeadExchanges exchanges(group, shape, shards, heads);
  for (const auto& [n, own, whole] :
       {std::tuple(kAlibi, &alibi_, CallTensor::d_alibi),
        {kSinks, &sinks_, CallTensor::d_sinks}}) {
    if (!wanted_.by_any(n)) {
      continue;
    }
    HEADWISE_ASSIGN(
        const auto sums,
        sums_of_heads(exchanges, shape, heads.query[group.rank()].count, *own));
    HEADWISE_TRY(share_heads(
        group, heads.query, 3, sums.elements(),
        [&, n = n](std::size_t rank) { return wanted_.by(rank, n); },
        as_rank_4(tensors.floats<1>(whole))));
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
