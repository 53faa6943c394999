// Backward calls by ranks that are threads, compared with one call.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "distribute/ranked_call.h"
#include "headwise/attention/backward.h"
#include "support/tensors.h"

namespace headwise::testing_support {

// All gradients that a call has, filled with a number that no test expects.
// With `rows`, those of the rows that a rank has.
template <class T>
struct AllGradients {
  AllGradients(const WholeCall<T>& call, const Inputs<T>& rows)
      : query(filled<T, 4>(rows.query.extents(), T{})),
        key(filled<T, 4>(rows.key.extents(), T{})),
        value(filled<T, 4>(rows.value.extents(), T{})) {
    const AttentionSpec spec = AttentionSpec::create(call.tensors, call.options,
                                                     call.operation_options)
                                   .value();
    const AttentionShape& s = spec.shape;
    if (spec.bias.given()) {
      bias = filled<float, 4>(spec.bias.extents(), 42.0f);
    }
    if (spec.t5_bias.given()) {
      t5_bias = filled<float, 2>({spec.t5_bias.table().extent(0), s.Hq}, 42.0f);
    }
    if (spec.alibi.given()) {
      alibi = filled<float, 1>({s.Hq}, 42.0f);
    }
    if (spec.additive()) {
      score_weight = filled<float, 2>({s.Hq, s.D}, 42.0f);
    }
    if (spec.sinks.given()) {
      sinks = filled<float, 1>({s.Hq}, 42.0f);
    }
    if (spec.added_keys.learned()) {
      bias_k = filled<float, 2>({s.Hkv, s.D}, 42.0f);
      bias_v = filled<float, 2>({s.Hkv, s.Dv}, 42.0f);
    }
  }

  AttentionGradientsOf<T> views() {
    return {.query = view_of_any(query),
            .key = view_of_any(key),
            .value = view_of_any(value),
            .bias = view_of_any(bias),
            .t5_bias = view_of_any(t5_bias),
            .alibi = view_of_any(alibi),
            .score_weight = view_of_any(score_weight),
            .sinks = view_of_any(sinks),
            .bias_k = view_of_any(bias_k),
            .bias_v = view_of_any(bias_v)};
  }

  Tensor<T, 4> query, key, value;
  Tensor<float, 4> bias;
  Tensor<float, 2> t5_bias;
  Tensor<float, 1> alibi;
  Tensor<float, 2> score_weight;
  Tensor<float, 1> sinks;
  Tensor<float, 2> bias_k, bias_v;

 private:
  template <class U, std::size_t Rank>
  static TensorView<U, Rank> view_of_any(Tensor<U, Rank>& tensor) {
    return tensor.size() != 0 ? tensor.view() : TensorView<U, Rank>();
  }
};

// The names of tensors whose bytes differ.
class Differences {
 public:
  template <class T, std::size_t Rank>
  void compare(const std::string& name, const Tensor<T, Rank>& got,
               const Tensor<T, Rank>& want) {
    if (want.size() != 0 &&
        std::memcmp(got.data(), want.data(), want.size() * sizeof(T)) != 0) {
      names_ += " " + name;
    }
  }

  template <class T>
  void compare_rows(const AllGradients<T>& got, const AllGradients<T>& want) {
    compare("query", got.query, want.query);
    compare("key", got.key, want.key);
    compare("value", got.value, want.value);
  }
  template <class T>
  void compare_options(const AllGradients<T>& got,
                       const AllGradients<T>& want) {
    compare("bias", got.bias, want.bias);
    compare("t5_bias", got.t5_bias, want.t5_bias);
    compare("alibi", got.alibi, want.alibi);
    compare("score_weight", got.score_weight, want.score_weight);
    compare("sinks", got.sinks, want.sinks);
    compare("bias_k", got.bias_k, want.bias_k);
    compare("bias_v", got.bias_v, want.bias_v);
  }

  testing::AssertionResult result() const {
    return names_.empty()
               ? testing::AssertionSuccess()
               : testing::AssertionFailure() << "other gradients of" << names_;
  }

 private:
  std::string names_;
};

template <class T>
using RankBackwardWork = FunctionRef<Status(
    Communicator&, const BackwardInputsOf<T>&, const AttentionGradientsOf<T>&)>;

// A call, its outputs and the gradient of its output.
template <class T>
struct BackwardCall {
  BackwardCall(const WholeCall<T>& of, Tensor<T, 4> upstream,
               TensorView<const float, 4> d_attn_weights = {})
      : call(of),
        out(by_one_process(of)),
        d_output(std::move(upstream)),
        by_one(of, of.in) {
    const Status s = attention_backward(
        {view_of(call.in.query), view_of(call.in.key), view_of(call.in.value),
         view_of(out.output), view_of(out.softmax_rows), view_of(d_output),
         d_attn_weights},
        by_one.views(), call.options, call.operation_options);
    EXPECT_TRUE(s) << s.error().message();
  }

  // Whether the ranks of the plan get the bits of one process: their rows, and
  // each of them the gradients of the options.
  testing::AssertionResult same_by_ranks(
      const ShardPlan& plan, const RankBackwardWork<T>& work) const {
    AllGradients<T> rows(call, call.in);
    std::vector<Differences> differences(plan.ranks.size());
    const auto ended =
        run_ranks(plan.ranks.size(), [&](Communicator& group) -> Status {
          const RankShare& share = plan.ranks[group.rank()];
          HEADWISE_ASSIGN(auto own, gradients_of(group, share, work));
          put(own.query, share.queries, false, rows.query);
          put(own.key, share.keys, true, rows.key);
          put(own.value, share.keys, true, rows.value);
          differences[group.rank()].compare_options(own, by_one);
          return ok();
        }).value();
    for (const Status& status : ended) {
      if (!status) {
        return testing::AssertionFailure() << status.error().message();
      }
    }
    differences[0].compare_rows(rows, by_one);
    for (const Differences& of_rank : differences) {
      if (auto same = of_rank.result(); !same) {
        return same << ", by " << plan.ranks.size() << " ranks";
      }
    }
    return testing::AssertionSuccess();
  }

 private:
  Result<AllGradients<T>> gradients_of(Communicator& group,
                                       const RankShare& share,
                                       const RankBackwardWork<T>& work) const {
    const AttentionShape shape = call.shape();
    const auto queries = [&](const auto& x, std::size_t axis) {
      return rows_of_pieces(x, shape, share.queries, false, axis);
    };
    const Inputs<T> own = {
        queries(call.in.query, 1),
        rows_of_pieces(call.in.key, shape, share.keys, true),
        rows_of_pieces(call.in.value, shape, share.keys, true)};
    const Tensor<T, 4> output = queries(out.output, 1);
    const Tensor<float, 4> rows = queries(out.softmax_rows, 2);
    const Tensor<T, 4> upstream = queries(d_output, 1);
    AllGradients<T> gradients(call, own);
    HEADWISE_TRY(work(group,
                      {view_of(own.query), view_of(own.key), view_of(own.value),
                       view_of(output), view_of(rows), view_of(upstream)},
                      gradients.views()));
    return gradients;
  }

  void put(const Tensor<T, 4>& own, const std::vector<TokenPiece>& pieces,
           bool keys, Tensor<T, 4>& whole) const {
    std::size_t row = 0;
    for (const TokenPiece& piece : pieces) {
      copy_elements<T, 4>(
          part_along(1, view_of(own), {row, piece.range.tokens}),
          PlaceOfPiece(call.shape(), piece, keys).of(whole.view(), 1));
      row += piece.range.tokens;
    }
  }

  const WholeCall<T>& call;
  WholeOutputs<T> out;
  Tensor<T, 4> d_output;
  AllGradients<T> by_one;
};

}  // namespace headwise::testing_support
