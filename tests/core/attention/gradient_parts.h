// Backward calls that are cut into parts of their keys or of their queries
// (headwise/attention/gradient_state.h).
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

#include "attention/attention_call.h"
#include "attention/backward_call.h"
#include "attention/cut_call.h"
#include "attention/key_parts.h"
#include "headwise/attention/backward.h"
#include "headwise/attention/gradient_state.h"
#include "support/tensors.h"

namespace headwise::testing_support {

// Part n of `count`.
inline QueryPart query_part(std::size_t n, std::size_t count) {
  return static_cast<QueryPart>(key_part(n, count));
}

// Filled with 42, so that a test sees which elements were never written.
struct GradientStateTensors {
  explicit GradientStateTensors(const AttentionShape& s)
      : query(filled<float, 4>({s.B, s.Lq, s.Hq, s.D}, 42.0f)),
        key(filled<float, 4>({s.B, s.Lkv, s.Hkv, s.D}, 42.0f)),
        value(filled<float, 4>({s.B, s.Lkv, s.Hkv, s.Dv}, 42.0f)),
        alibi(filled<float, 3>({s.B, s.Hq, s.Lq}, 42.0f)),
        sinks(filled<float, 3>({s.B, s.Hq, s.Lq}, 42.0f)) {}

  Tensor<float, 4> query;
  Tensor<float, 4> key;
  Tensor<float, 4> value;
  Tensor<float, 3> alibi;
  Tensor<float, 3> sinks;
};

// A whole call whose passes are then cut: T is float, BFloat16 or Float16.
template <class T>
struct WholeCall {
  AttentionShape shape;
  BackwardInputsOf<T> inputs;
  AttentionOptions options;
  OperationOptions operation_options;

  AttentionSpec spec() const {
    return AttentionSpec::create(shape, options, operation_options).value();
  }
  BackwardInputsOf<T> cut(const Cut& cut) const {
    return {queries_of(inputs.query, cut),
            keys_of(inputs.key, cut),
            keys_of(inputs.value, cut),
            queries_of(inputs.output, cut),
            rows_of(inputs.softmax_rows, cut),
            queries_of(inputs.d_output, cut),
            {}};
  }
  void run(const Cut& cut, const AttentionGradientsOf<T>& gradients,
           KeyPart keys, QueryPart queries) const {
    const CutOptions part(spec(), options, operation_options, cut);
    OperationOptions of_part = part.operation_options();
    of_part.key_part = keys;
    of_part.query_part = queries;
    const Status s =
        attention_backward(this->cut(cut), gradients, part.options(), of_part);
    EXPECT_TRUE(s) << s.error().message();
  }
};

// The sums that become a gradient; those of 16-bit calls are elsewhere.
template <class T>
TensorView<float, 4> sums_in(StateMemory memory, Tensor<float, 4>& own,
                             Tensor<T, 4>& gradient) {
  if constexpr (std::is_same_v<T, float>) {
    return memory == StateMemory::own ? own.view() : gradient.view();
  } else {
    return own.view();
  }
}

template <class T>
struct QueryGradients {
  Tensor<T, 4> query;
  Tensor<float, 1> alibi;  // without elements where the call has none
  Tensor<float, 1> sinks;
};

// d_query in parts of the keys that begin at `cuts`, of which the first is 0,
// and what else such parts have.
template <class T>
QueryGradients<T> query_gradients_in_parts(
    const WholeCall<T>& call, const std::vector<std::size_t>& cuts,
    StateMemory memory = StateMemory::own) {
  const AttentionShape& s = call.shape;
  const bool alibi = call.options.alibi.data() != nullptr;
  const bool sinks = call.options.sinks.data() != nullptr;
  QueryGradients<T> d = {Tensor<T, 4>::create({s.B, s.Lq, s.Hq, s.D}).value(),
                         filled<float, 1>({alibi ? s.Hq : 0}, 42),
                         filled<float, 1>({sinks ? s.Hq : 0}, 42)};
  GradientStateTensors state(s);
  for (std::size_t n = 0; n < cuts.size(); ++n) {
    const bool last = n + 1 == cuts.size();
    const std::size_t end = last ? s.Lkv : cuts[n + 1];
    AttentionGradientsOf<T> gradients;
    if (last) {
      gradients.query = d.query;
    }
    if (last && alibi) {
      gradients.alibi = d.alibi;
    }
    if (last && sinks) {
      gradients.sinks = d.sinks;
    }
    if (cuts.size() != 1) {
      gradients.state.query = sums_in(memory, state.query, d.query);
      if (alibi) {
        gradients.state.alibi = state.alibi;
      }
    }
    call.run(keys_cut(s, cuts[n], end - cuts[n]), gradients,
             key_part(n, cuts.size()), QueryPart::all);
  }
  return d;
}

// The calls of a pass over the queries, in the order of the sums, and which
// part each is for its key heads.
struct QueryCall {
  Cut cut;
  QueryPart part;
};
// Query heads first_head, first_head + head_step, ..., of each group those with
// these numbers; the queries are cut at `cuts`.
inline void add_query_calls(const AttentionShape& s, Cut cut,
                            std::size_t number, std::size_t group,
                            const std::vector<std::size_t>& cuts,
                            std::vector<QueryCall>& calls) {
  for (std::size_t n = 0; n < cuts.size(); ++n) {
    const std::size_t end = n + 1 < cuts.size() ? cuts[n + 1] : s.Lq;
    cut.first_query = cuts[n];
    cut.queries = end - cuts[n];
    calls.push_back(
        {cut, query_part(number * cuts.size() + n, group * cuts.size())});
  }
}
// One head of every group at a time; of uneven groups one group after another.
inline std::vector<QueryCall> query_calls(
    const AttentionShape& s, const std::vector<std::size_t>& cuts) {
  std::vector<QueryCall> calls;
  Cut cut = no_cut(s);
  if (s.kv_groups.even()) {
    const std::size_t group = s.Hq / s.Hkv;
    cut.heads = s.Hkv;
    cut.head_step = group;
    for (cut.first_head = 0; cut.first_head < group; ++cut.first_head) {
      add_query_calls(s, cut, cut.first_head, group, cuts, calls);
    }
    return calls;
  }
  cut.heads = 1;
  cut.key_heads = 1;
  for (std::size_t g = 0; g < s.Hkv; ++g) {
    cut.first_key_head = g;
    const std::size_t first = s.first_query_head(g);
    const std::size_t group = s.first_query_head(g + 1) - first;
    for (std::size_t n = 0; n < group; ++n) {
      cut.first_head = first + n;
      add_query_calls(s, cut, n, group, cuts, calls);
    }
  }
  return calls;
}

template <class T>
struct KeyGradients {
  Tensor<T, 4> key;
  Tensor<T, 4> value;
};

// d_key and d_value in parts of the queries that begin at `cuts`.
template <class T>
KeyGradients<T> key_gradients_in_parts(const WholeCall<T>& call,
                                       const std::vector<std::size_t>& cuts,
                                       StateMemory memory = StateMemory::own) {
  const AttentionShape& s = call.shape;
  KeyGradients<T> d = {Tensor<T, 4>::create({s.B, s.Lkv, s.Hkv, s.D}).value(),
                       Tensor<T, 4>::create({s.B, s.Lkv, s.Hkv, s.Dv}).value()};
  GradientStateTensors state(s);
  for (const auto& [cut, part] : query_calls(call.spec().shape, cuts)) {
    AttentionGradientsOf<T> gradients;
    if (part == QueryPart::last || part == QueryPart::all) {
      gradients.key = keys_of(d.key.view(), cut);
      gradients.value = keys_of(d.value.view(), cut);
    }
    if (part != QueryPart::all) {
      gradients.state.key = keys_of(sums_in(memory, state.key, d.key), cut);
      gradients.state.value =
          keys_of(sums_in(memory, state.value, d.value), cut);
    }
    call.run(cut, gradients, KeyPart::all, part);
  }
  return d;
}

}  // namespace headwise::testing_support
