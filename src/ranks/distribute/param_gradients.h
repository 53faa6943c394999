// The gradients of a model's parameters, when each rank has the backward pass
// of some sequences of the batch: a rank gets the terms of the parameters that
// it updates from all ranks and sums them over all sequences, in order. So the
// gradients have the bits of one process.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "distribute/batch_shares.h"
#include "distribute/param_shards.h"
#include "headwise/base/arithmetic.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/distribute/communicator.h"
#include "headwise/run/executor.h"
#include "headwise/steps/param_terms.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

class ParamGradients final : public ParamTerms {
 public:
  // NAME.weight with two axes and NAME.bias are a projection, with one axis a
  // norm; NAME.weight alone is a table. `arithmetic` is that of every
  // projection. `shards` outlives this object.
  ParamGradients(const ParamShards& shards, std::size_t rank, double norm_eps,
                 Arithmetic arithmetic);

  // A new batch.
  void begin(const BatchShares& batch);
  // Those of the rank's sequences, once for each name. Errors: shape_mismatch,
  // invalid_argument for an unknown name.
  HEADWISE_HIDDEN Status
  add_projection(std::string_view name, TensorView<const float, 3> x,
                 TensorView<const float, 3> d_y) override;
  HEADWISE_HIDDEN Status add_norm(std::string_view name,
                                  TensorView<const float, 2> x,
                                  TensorView<const float, 2> d_y) override;
  HEADWISE_HIDDEN Status
  add_table(std::string_view name, TensorView<const TokenId, 2> ids,
            TensorView<const float, 3> d_embedded) override;

  // All ranks call it when they have added their terms. Errors: rank_failure.
  Status exchange(Communicator& group);
  // The gradient of the rank's rows of each parameter, in the order of names;
  // empty where it has none. Errors: out_of_memory.
  Result<std::vector<Tensor<float, 1>>> sum(const Executor& executor);

 private:
  enum class Kind { projection, norm, table };
  // The parameters whose gradients are made of the same terms.
  struct Group {
    Kind kind = Kind::table;
    std::size_t weight = 0;  // of shards_.params()
    std::optional<std::size_t> bias{};
    std::size_t x_size = 0;    // numbers of x per token; those of an id
    std::size_t d_y_size = 0;  // numbers of d_y per token

    std::size_t size() const { return x_size + d_y_size; }
  };
  // The terms of a group for all tokens of the batch.
  struct Terms {
    TensorView<const float, 3> x;    // (1, rows, x_size)
    TensorView<const float, 3> d_y;  // (1, rows, d_y_size)
  };

  HEADWISE_HIDDEN bool has_rows(std::size_t rank, const Group& group) const;
  // The numbers per token that the rank needs of all groups.
  HEADWISE_HIDDEN std::size_t numbers(std::size_t rank) const;
  HEADWISE_HIDDEN Status add(Kind kind, std::string_view name,
                             TensorView<const float, 2> x,
                             TensorView<const float, 2> d_y);
  // `before`: the numbers per token of the groups before it.
  HEADWISE_HIDDEN Terms gather(const Group& group, std::size_t before);
  HEADWISE_HIDDEN Status sum_projection(
      const Group& group, std::size_t before, const Executor& executor,
      std::vector<Tensor<float, 1>>& gradients);
  HEADWISE_HIDDEN Status sum_table(const Group& group, const Terms& terms,
                                   std::vector<Tensor<float, 1>>& gradients);
  HEADWISE_HIDDEN Status sum_norm(const Group& group, const Terms& terms,
                                  const Executor& executor,
                                  std::vector<Tensor<float, 1>>& gradients);
  HEADWISE_HIDDEN RowRange own_rows(std::optional<std::size_t> param) const;

  const ParamShards& shards_;
  std::size_t rank_;
  double norm_eps_;
  Arithmetic arithmetic_;
  std::vector<Group> groups_;  // in the order of names
  std::map<std::string, std::size_t, std::less<>> group_of_;
  std::optional<BatchShares> batch_;
  // Group after group, x and then d_y of all tokens of the rank that has them.
  // What the rank has for itself is in in_.
  std::vector<std::vector<float>> out_;  // [to]
  std::vector<std::vector<float>> in_;   // [from]
  std::vector<float> x_;                 // of all ranks, for one group
  std::vector<float> d_y_;
};

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
