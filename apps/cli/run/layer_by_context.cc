#include "layer_by_context.h"

#include <utility>
#include <vector>

#include "headwise/distribute/context_layer.h"
#include "operands.h"
#include "operation/number_type.h"
#include "own_rows.h"
#include "rank_results.h"
#include "rank_rows.h"
#include "run_gradients.h"
#include "shell/ranks/rank_job.h"
#include "shell/visible_work.h"

namespace headwise::cli {
namespace {

// One call: what this rank has of the tokens.
class LayerTokens {
 public:
  LayerTokens(Communicator& group, const MultiHeadAttention& layer,
              const LayerTogether& of, const Division& division)
      : group_(group),
        layer_(layer),
        of_(of),
        shape_(of.spec.shape),
        rows_(group, shape_, division.tokens),
        call_{.B = shape_.batches(),
              .Lq = shape_.query_rows(),
              .Lkv = shape_.key_rows(),
              .plan = division.tokens,
              .options = of.options,
              .positions = of.layer_options.positions,
              .for_backward = of.training(),
              .keys = division.keys} {}

  Result<RunResult> run(const InputFiles& files) const {
    const auto d_output =
        work_visibly(&group_, [&] { return read_d_output(); });
    HEADWISE_TRY(agreed(group_, d_output));
    const auto own = work_visibly(&group_, [&] {
      return operands_of(own_rows(Side::queries, files.query),
                         own_rows(Side::keys, files.key),
                         own_rows(Side::keys, files.value));
    });
    HEADWISE_TRY(agreed(group_, own));
    const ContextLayerInputs inputs = {own->query, own->key, own->value};
    auto run = context_layer(group_, layer_, call_, inputs);
    HEADWISE_TRY(of_all_ranks(run));
    // Without a w_o the backward pass begins with the output as it is written.
    round_to(of_.flags.dtype, run->result.output.elements());
    RunResult result;
    if (of_.training()) {
      HEADWISE_ASSIGN(result.gradients, differentiate(inputs, *run, *d_output));
    }
    HEADWISE_ASSIGN(result.output,
                    whole_of(Side::queries, std::move(run->result.output)));
    HEADWISE_ASSIGN(result.lse, collect_lse(group_, shape_, rows_,
                                            std::move(run->result.lse)));
    return result;
  }

 private:
  // The rank's rows of --d-output; empty without it.
  Result<Tensor<float, 3>> read_d_output() const {
    if (!of_.training()) {
      return Tensor<float, 3>();
    }
    HEADWISE_ASSIGN(
        const auto file,
        open_d_output(of_.flags, of_.batched,
                      {shape_.batches(), shape_.query_rows(), output_size()}));
    return own_rows(Side::queries, file);
  }
  std::size_t output_size() const {
    return layer_.config().out_proj ? layer_.config().embed_dim
                                    : shape_.Hq * shape_.Dv;
  }

  // In the type of --dtype: (1, rows, E).
  Result<Tensor<float, 3>> own_rows(Side side, const TensorFile& file) const {
    HEADWISE_ASSIGN(const auto rows, read_own_tokens(rows_, side, file));
    HEADWISE_ASSIGN(auto own, to_float<3>(rows, "run", file.option()));
    round_to(of_.flags.dtype, own.elements());
    return own;
  }

  // The rows of all ranks in the type of --dtype: (B, L, E), on rank 0.
  Result<Tensor<float, 3>> whole_of(Side side, Tensor<float, 3> own) const {
    const std::size_t E = own.extent(2);
    const bool queries = side == Side::queries;
    const Extents<3> extents = {
        shape_.batches(), queries ? shape_.query_rows() : shape_.key_rows(), E};
    HEADWISE_ASSIGN(
        auto whole,
        on_rank_0<float>(group_, {extents[0], extents[1], 1, extents[2]}));
    const auto of_rank = [&](std::size_t rank) {
      return Extents<4>{1, rows_.count(side, rank), 1, E};
    };
    Tensor<float, 4> rows = std::move(own).with_extents(of_rank(group_.rank()));
    HEADWISE_TRY(rows_.collect(
        side, rows, of_rank,
        [](TensorView<const float, 4> view) { return view; }, whole.view()));
    if (group_.rank() != 0) {
      return Tensor<float, 3>();
    }
    round_to(of_.flags.dtype, whole.elements());
    return (std::move(whole)).with_extents(extents);
  }

  // The whole gradients by name, on rank 0.
  Result<std::vector<NamedGradient>> differentiate(
      const ContextLayerInputs& inputs, const ContextLayerRun& run,
      const Tensor<float, 3>& d_output) const {
    auto gradients = context_layer_backward(group_, layer_, call_, inputs, run,
                                            d_output.view());
    HEADWISE_TRY(of_all_ranks(gradients));
    HEADWISE_ASSIGN(
        auto whole,
        operands_of(whole_of(Side::queries, std::move(gradients->query)),
                    whole_of(Side::keys, std::move(gradients->key)),
                    whole_of(Side::keys, std::move(gradients->value))));
    if (group_.rank() != 0) {
      return std::vector<NamedGradient>();
    }
    gradients->query = std::move(whole.query);
    gradients->key = std::move(whole.key);
    gradients->value = std::move(whole.value);
    return named_gradients(*std::move(gradients), of_.options.bias,
                           of_.batched);
  }

  Communicator& group_;
  const MultiHeadAttention& layer_;
  const LayerTogether& of_;
  const AttentionShape& shape_;
  RankRows rows_;
  ContextLayerCall call_;
};

}  // namespace

Result<RunResult> run_layer_by_context(Communicator& group,
                                       const MultiHeadAttention& layer,
                                       const InputFiles& files,
                                       const LayerTogether& of,
                                       const Division& division) {
  return LayerTokens(group, layer, of, division).run(files);
}

}  // namespace headwise::cli
