// The shares of docs/arithmetic.md written out once more: what keys have of a
// row by attention weights times norms.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "attention/contract_statistics.h"
#include "run/float_environment.h"

namespace headwise::testing_support {

class ContractShares : private ContractStatistics {
 public:
  // `norms` (B, Hq, Lkv)
  ContractShares(const Inputs<float>& in, TensorView<const float, 3> norms,
                 const AttentionOptions& options,
                 const OperationOptions& operation_options)
      : ContractStatistics(in, of_keys(options), of_keys(operation_options),
                           norms),
        attention_(in, options, operation_options) {}

  // Their statistics.
  using ContractStatistics::run;

  // (B, Lq, Hq): of the attention weights times the norms.
  Tensor<float, 3> sums() const {
    const FloatEnvironment environment;
    const AttentionShape& s = spec().shape;
    auto sums = Tensor<float, 3>::create({s.B, s.Lq, s.Hq}).value();
    for (std::size_t b = 0; b < s.B; ++b) {
      for (std::size_t h = 0; h < s.Hq; ++h) {
        for (std::size_t i = 0; i < s.Lq; ++i) {
          sums(b, i, h) = sum(b, h, i);
        }
      }
    }
    return sums;
  }

 private:
  // Neither a sink nor an added key has a share.
  static AttentionOptions of_keys(AttentionOptions options) {
    options.sinks = {};
    options.attn_weights = AttnWeights::none;
    options.scores = ScoresStage::none;
    return options;
  }
  static OperationOptions of_keys(OperationOptions options) {
    options.added_keys = {};
    options.statistics.rows = true;
    return options;
  }

  float sum(std::size_t b, std::size_t h, std::size_t i) const {
    ContractRow state(1);
    std::size_t first = spec().mask.first_key(b);
    for (const ContractBlock& of : blocks(b, h, i)) {
      float reciprocals = 0;
      for (std::size_t k = 0; k < of.p.size(); ++k) {
        if (allowed(b, h, i, first + k)) {
          reciprocals =
              std::fma(of.p[k], 1 / norm(b, h, first + k), reciprocals);
        }
      }
      state.fold(of.max, of.sum, {reciprocals});
      first += kBlock;
    }
    if (state.sum() == 0) {
      return 0;
    }
    const float of_keys = 1 / (state.context(0) / state.sum());
    const auto share = attention_.share_of_keys(b, h, i);
    return share ? of_keys * *share : of_keys;
  }

  ContractStatistics attention_;
};

}  // namespace headwise::testing_support
