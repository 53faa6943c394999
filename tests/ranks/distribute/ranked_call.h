// Calls of attention by ranks that are threads, each with its own copy of its
// rows, compared with one call.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "attention/attention_call.h"
#include "headwise/attention/forward.h"
#include "headwise/base/function_ref.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/shard_plan.h"
#include "headwise/distribute/thread_ranks.h"
#include "steps/call_part.h"
#include "support/half_tensors.h"
#include "support/tensors.h"

namespace headwise::testing_support {

using internal::part_along;
using internal::PartRange;

// A whole call. Of a ragged batch, the tensors and `tensors` are its rows.
template <class T>
struct WholeCall {
  AttentionShape tensors;
  const Inputs<T>& in;
  AttentionOptions options{};
  OperationOptions operation_options{};

  AttentionShape shape() const {
    return AttentionSpec::create(tensors, options, operation_options)
        .value()
        .shape;
  }
};

template <class T>
struct WholeOutputs {
  explicit WholeOutputs(const AttentionShape& s)
      : output(filled<T, 4>({s.B, s.Lq, s.Hq, s.Dv}, T{})),
        lse(filled<float, 3>({s.B, s.Hq, s.Lq}, 42.0f)),
        softmax_rows(filled<float, 4>({s.B, s.Hq, s.Lq, 2}, 42.0f)) {}

  AttentionOutputsOf<T> views() {
    return {.output = output.view(),
            .lse = lse.view(),
            .softmax_rows = softmax_rows.view()};
  }

  Tensor<T, 4> output;
  Tensor<float, 3> lse;
  Tensor<float, 4> softmax_rows;
};

template <class T>
testing::AssertionResult same_bits(const WholeOutputs<T>& got,
                                   const WholeOutputs<T>& want) {
  if (std::memcmp(got.output.data(), want.output.data(),
                  want.output.size() * sizeof(T)) != 0) {
    return testing::AssertionFailure() << "another output";
  }
  if (auto r = same_bits(got.lse, want.lse); !r) {
    return r << " of lse";
  }
  return same_bits(got.softmax_rows, want.softmax_rows) << " of softmax_rows";
}

// The options without outputs that no rank has of its rows.
inline AttentionOptions options_of_ranks(AttentionOptions options) {
  options.attn_weights = AttnWeights::none;
  options.scores = ScoresStage::none;
  return options;
}

template <class T>
WholeOutputs<T> by_one_process(const WholeCall<T>& call) {
  WholeOutputs<T> out(call.tensors);
  const Status s = attention(
      view_of(call.in.query), view_of(call.in.key), view_of(call.in.value),
      out.views(), options_of_ranks(call.options), call.operation_options);
  EXPECT_TRUE(s) << s.error().message();
  return out;
}

template <class T>
Inputs<T> narrowed_to(const Inputs<float>& in) {
  return {narrowed_to<T>(in.query), narrowed_to<T>(in.key),
          narrowed_to<T>(in.value)};
}

// ---- Plans that no planner makes, with short pieces ----

// The lengths of the sequences, cut into pieces of `tokens`; piece n of m of a
// sequence goes to rank_of(n, m).
template <class RankOf>
std::vector<OwnedPiece> dealt(const std::vector<std::size_t>& lengths,
                              std::size_t tokens, const RankOf& rank_of) {
  std::vector<OwnedPiece> pieces;
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    const std::size_t count = (lengths[b] + tokens - 1) / tokens;
    for (std::size_t n = 0; n < count; ++n) {
      const std::size_t first = n * tokens;
      pieces.push_back({{b, {first, std::min(tokens, lengths[b] - first)}},
                        rank_of(n, count)});
    }
  }
  return pieces;
}

enum class Deal { contiguous, zig_zag, scattered };

inline ShardPlan plan_of(const AttentionShape& shape, std::size_t ranks,
                         Deal deal, std::size_t tokens = 128) {
  const auto rank_of = [&](std::size_t n, std::size_t count) {
    const std::size_t piece = n * 2 * ranks / std::max<std::size_t>(count, 1);
    return deal == Deal::contiguous ? piece / 2
           : deal == Deal::zig_zag  ? std::min(piece, 2 * ranks - 1 - piece)
                                    : (7 * n + 3) % ranks;
  };
  std::vector<std::size_t> queries;
  std::vector<std::size_t> keys;
  for (std::size_t b = 0; b < shape.B; ++b) {
    queries.push_back(shape.sequence(b).Lq);
    keys.push_back(shape.sequence(b).Lkv);
  }
  ShardPlan plan;
  plan.queries = dealt(queries, tokens, rank_of);
  plan.keys = dealt(keys, tokens, rank_of);
  plan.ranks.resize(ranks);
  for (const OwnedPiece& owned : plan.queries) {
    plan.ranks[owned.rank].queries.push_back(owned.piece);
  }
  for (const OwnedPiece& owned : plan.keys) {
    plan.ranks[owned.rank].keys.push_back(owned.piece);
  }
  return plan;
}

// ---- What a rank has ----

// Where a piece is in the whole tensors.
struct PlaceOfPiece {
  PlaceOfPiece(const AttentionShape& shape, const TokenPiece& piece, bool keys)
      : place(shape.sequence(piece.sequence)),
        rows{(keys ? place.first_key : place.first_query) + piece.range.first,
             piece.range.tokens} {}

  // The rows are on the axis 1, or 2 of what has the heads first.
  template <class T, std::size_t Rank>
  TensorView<T, Rank> of(TensorView<T, Rank> whole, std::size_t axis) const {
    return part_along(axis, part_along(0, whole, {place.batch, 1}), rows);
  }

  SequencePlace place;
  PartRange rows;
};

inline std::size_t tokens_of(const std::vector<TokenPiece>& pieces) {
  std::size_t tokens = 0;
  for (const TokenPiece& piece : pieces) {
    tokens += piece.range.tokens;
  }
  return tokens;
}

template <class T, std::size_t Rank>
void copy_elements(TensorView<const T, Rank> from, TensorView<T, Rank> to) {
  if constexpr (Rank == 1) {
    for (std::size_t n = 0; n < from.extent(0); ++n) {
      to(n) = from(n);
    }
  } else {
    const auto inner = [](const auto& view, std::size_t n) {
      Extents<Rank - 1> extents;
      Strides<Rank - 1> strides;
      std::copy_n(view.extents().begin() + 1, Rank - 1, extents.begin());
      std::copy_n(view.strides().begin() + 1, Rank - 1, strides.begin());
      return TensorView<std::remove_reference_t<decltype(*view.data())>,
                        Rank - 1>(
          view.data() + static_cast<std::ptrdiff_t>(n) * view.stride(0),
          extents, strides);
    };
    for (std::size_t n = 0; n < from.extent(0); ++n) {
      copy_elements<T, Rank - 1>(inner(from, n), inner(to, n));
    }
  }
}

// The pieces' rows of a whole tensor, one after the other on the axis.
template <class T>
Tensor<T, 4> rows_of_pieces(const Tensor<T, 4>& whole,
                            const AttentionShape& shape,
                            const std::vector<TokenPiece>& pieces, bool keys,
                            std::size_t axis = 1) {
  Extents<4> extents = whole.extents();
  extents[0] = 1;
  extents[axis] = tokens_of(pieces);
  auto own = Tensor<T, 4>::create(extents).value();
  std::size_t row = 0;
  for (const TokenPiece& piece : pieces) {
    copy_elements<T, 4>(
        PlaceOfPiece(shape, piece, keys).of(view_of(whole), axis),
        part_along(axis, own.view(), {row, piece.range.tokens}));
    row += piece.range.tokens;
  }
  return own;
}

template <class T>
struct RankTensors {
  RankTensors(const WholeCall<T>& call, const RankShare& share)
      : query(
            rows_of_pieces(call.in.query, call.shape(), share.queries, false)),
        key(rows_of_pieces(call.in.key, call.shape(), share.keys, true)),
        value(rows_of_pieces(call.in.value, call.shape(), share.keys, true)),
        out({.B = 1,
             .Hq = call.tensors.Hq,
             .Lq = query.extent(1),
             .Dv = call.tensors.Dv}) {}

  AttentionInputsOf<T> inputs() const {
    return {view_of(query), view_of(key), view_of(value)};
  }

  // Writes what the rank has of the whole outputs.
  void put(const AttentionShape& shape, const RankShare& share,
           WholeOutputs<T>& whole) const {
    std::size_t row = 0;
    for (const TokenPiece& piece : share.queries) {
      const PlaceOfPiece place(shape, piece, false);
      const PartRange rows = {row, piece.range.tokens};
      copy_elements<T, 4>(part_along(1, view_of(out.output), rows),
                          place.of(whole.output.view(), 1));
      copy_elements<float, 3>(part_along(2, view_of(out.lse), rows),
                              place.of(whole.lse.view(), 2));
      copy_elements<float, 4>(part_along(2, view_of(out.softmax_rows), rows),
                              place.of(whole.softmax_rows.view(), 2));
      row += piece.range.tokens;
    }
  }

  Tensor<T, 4> query;
  Tensor<T, 4> key;
  Tensor<T, 4> value;
  WholeOutputs<T> out;
};

template <class T>
using RankWork = FunctionRef<Status(Communicator&, const AttentionInputsOf<T>&,
                                    const AttentionOutputsOf<T>&)>;

template <class T>
WholeOutputs<T> by_ranks(const WholeCall<T>& call, const ShardPlan& plan,
                         const RankWork<T>& work) {
  const AttentionShape shape = call.shape();
  WholeOutputs<T> whole(call.tensors);
  const auto ended =
      run_ranks(plan.ranks.size(), [&](Communicator& group) -> Status {
        const RankShare& share = plan.ranks[group.rank()];
        RankTensors<T> tensors(call, share);
        HEADWISE_TRY(work(group, tensors.inputs(), tensors.out.views()));
        tensors.put(shape, share, whole);  // each rank has rows of its own
        return ok();
      }).value();
  for (const Status& status : ended) {
    EXPECT_TRUE(status) << status.error().message();
  }
  return whole;
}

}  // namespace headwise::testing_support
