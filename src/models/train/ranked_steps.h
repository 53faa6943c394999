// What ranks that train one sentence encoder together divide: the sequences of
// a batch, and the parameters that each rank updates. Everything has the bits
// of one process.
//
// All ranks call the same functions in the same order. Errors: those of the
// encoder, of the lowest rank that has one; rank_failure; out_of_memory.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "distribute/batch_shares.h"
#include "distribute/param_gradients.h"
#include "distribute/param_shards.h"
#include "headwise/base/any_view.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/distribute/communicator.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/module/optimizer.h"
#include "headwise/run/executor.h"
#include "headwise/steps/tokens.h"

namespace headwise::inline HEADWISE_ABI {

class RankedSteps {
 public:
  // `group` and `encoder` outlive the steps.
  RankedSteps(Communicator& group, SentenceEncoder& encoder);
  RankedSteps(const RankedSteps&) = delete;
  RankedSteps& operator=(const RankedSteps&) = delete;

  // The embeddings of the whole batch.
  Result<Tensor<float, 2>> forward(const RaggedTokens& ids,
                                   const Executor& executor);
  // From the gradients by all embeddings to those by the rank's parameters.
  // Errors: also out_of_range for one that is not finite.
  Status backward(TensorView<const float, 2> d_embeddings,
                  const Executor& executor);
  // By the norm of all gradients. Those of `first` come before the encoder's;
  // every rank has them.
  Status clip(std::span<const std::span<float>> first, double max_norm);
  // Updates the rank's parameters, then every rank gets all of them; of the
  // word table, most of which a batch does not read, the rows of `next` alone.
  // Errors: also out_of_range for a parameter that is not finite.
  Status move(Optimizer& optimizer, const RaggedTokens& next);
  // Every rank gets the whole word table, unless it has it.
  Status complete();
  // The caller gave every rank the same values of all parameters.
  void set_complete() { is_complete_ = true; }

  // The state of an optimiser of one process from those of the ranks, on rank
  // 0; on the others a state without values.
  Result<OptimizerState> gather(const Optimizer& optimizer) const;
  // And back: what the rank needs of it.
  Result<OptimizerState> own_part(const OptimizerState& whole) const;

 private:
  Status write_own(Optimizer& optimizer);
  Status update_own(Optimizer& optimizer, std::size_t param,
                    std::span<float> values);
  Status read_all();
  void read_table(std::span<float> to) const;
  // The rows of the word table that belong to the rank.
  RowRange table_rows(std::size_t rank) const {
    return shards_.rows(rank, table_);
  }
  // Where a parameter is in values_[rank].
  std::size_t place_of(std::size_t rank, std::size_t param) const;
  // The number of the encoder's parameter of this name.
  std::optional<std::size_t> find(std::string_view name) const;
  Status gather_kind(std::string_view kind, const OptimizerState& own,
                     OptimizerState& whole) const;

  Communicator& group_;
  SentenceEncoder& encoder_;
  ParamShards shards_;
  ParamGradients terms_;
  std::optional<BatchShares> batch_{};
  std::optional<SentencesSaved> saved_{};
  std::vector<Tensor<float, 1>> gradients_;  // of the rank's rows
  std::map<std::string, AnyView> params_{};  // of the encoder
  // The values of each rank's parameters but the word table; then 1 if one of
  // its parameters is not finite; then its rows of `looked_up_`.
  std::vector<std::vector<float>> values_;
  std::size_t table_;                   // the number of the word table
  std::size_t table_size_;              // of a row
  std::vector<float> own_table_;        // the rank's rows
  std::vector<std::size_t> looked_up_;  // rows of the word table, ascending
  bool is_complete_ = true;
};

}  // namespace headwise::inline HEADWISE_ABI
