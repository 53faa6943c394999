// Where the gradients of parameters go on a backward pass: summed by name, or
// as terms to who sums them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/steps/param_terms.h"
#include "headwise/transformer/model_pass.h"
#include "headwise/version.h"
#include "transformer/param_names.h"
#include "transformer/params.h"

namespace headwise::inline HEADWISE_ABI::transformer {

class GradientSums {
 public:
  // `terms` null: summed here. All must outlive it.
  GradientSums(const ParamNames& names, ModelGradients& into, bool wanted,
               ParamTerms* terms, TensorView<const std::int64_t, 1> offsets,
               const Executor& executor)
      : names_(names),
        into_(into),
        wanted_(wanted),
        terms_(terms),
        offsets_(offsets),
        executor_(executor) {}

  bool wanted() const { return wanted_; }
  const Executor& executor() const { return executor_; }
  std::vector<Tensor<float, 2>>& head_gates() const { return into_.head_gates; }

  // Back through y = linear(x): adds its parameters', if it has any of its own,
  // and returns the gradient by x.
  Result<Rows> through(const Linear& linear, const Rows& x,
                       const Rows& d_y) const;
  // The same of a norm, in d's memory.
  Result<Rows> through(const RowNorm& norm, const Rows& x, Rows d) const;
  // Of a table looked up by `ids` (1, rows).
  Status add(const Embedding& table, TensorView<const TokenId, 2> ids,
             const Rows& d) const;
  // Of a table that is the unembedding, too, whose logits are of x.
  Status add_to_table(const Embedding& table, const Linear& unembedding,
                      const Rows& x, const Rows& d_y) const;
  // Of attention, and of the sinks of its block.
  Status add(const Block& block, MultiHeadAttentionGradients& by) const;
  // Of T5's table of relative positions: its columns of these heads.
  Status add_relative(const Tensor<float, 2>& table, const Tensor<float, 2>& by,
                      const std::vector<std::size_t>& heads) const;
  // What attention's backward pass takes; null: it sums. It is valid until the
  // next call.
  ParamTerms* terms_of(const MultiHeadAttention& attention);

 private:
  class AttentionTerms;

  template <std::size_t Rank>
  void put(const std::string& name, Tensor<float, Rank> gradient) const;
  Status put_parts(const NamedLinear& named, LinearGradients by) const;

  const ParamNames& names_;
  ModelGradients& into_;
  bool wanted_;
  ParamTerms* terms_;
  TensorView<const std::int64_t, 1> offsets_;
  const Executor& executor_;
  std::shared_ptr<ParamTerms> of_attention_{};
};

}  // namespace headwise::inline HEADWISE_ABI::transformer
