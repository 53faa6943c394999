#include "layer_by_heads.h"

#include <optional>
#include <utility>
#include <vector>

#include "headwise/distribute/layer_shard.h"
#include "layer_result.h"
#include "operation/number_type.h"
#include "run_gradients.h"
#include "shell/rank_job.h"
#include "shell/visible_work.h"

namespace headwise::cli {
namespace {

template <class T>
Status status_of(const Result<T>& result) {
  return result ? ok() : Status(result.error());
}

template <class T>
Result<RunResult> forward(Communicator& group, const LayerShard& shard,
                          const Operands<T, 3>& in, const LayerTogether& of) {
  auto result = shard.forward(group, in.query.view(), in.key.view(),
                              in.value.view(), of.options, of.layer_options);
  HEADWISE_TRY(of_all_ranks(status_of(result)));
  return run_result<T>(*std::move(result));
}

// The whole gradients by name, on rank 0.
template <class T>
Result<std::vector<NamedGradient>> named_on_first(
    Communicator& group, const LayerShard& shard,
    MultiHeadAttentionGradientsOf<T> own, const LayerTogether& of) {
  MultiHeadAttentionParamGradients& of_params = own;
  auto params = shard.gather(group, std::move(of_params));
  HEADWISE_TRY(of_all_ranks(status_of(params)));
  if (group.rank() != 0) {
    return std::vector<NamedGradient>();
  }
  of_params = *std::move(params);
  auto wide = widen_gradients<T>(std::move(own));
  HEADWISE_TRY(wide);
  return named_gradients(*std::move(wide), of.options.bias, of.batched);
}

template <class T>
Result<RunResult> both_ways(Communicator& group, const LayerShard& shard,
                            const Operands<T, 3>& in, const LayerTogether& of) {
  const MultiHeadAttentionConfig& config = shard.config();
  const auto files = work_visibly(&group, [&] {
    return read_upstream(
        of.flags, of.batched,
        {in.query.extent(0), in.query.extent(1), config.embed_dim}, {});
  });
  HEADWISE_TRY(agreed(group, status_of(files)));
  const auto d_output = d_output_in<T>(*files);
  HEADWISE_TRY(agreed(group, status_of(d_output)));
  auto saved =
      shard.forward_for_backward(group, in.query.view(), in.key.view(),
                                 in.value.view(), of.options, of.layer_options);
  HEADWISE_TRY(of_all_ranks(status_of(saved)));
  auto gradients = shard.backward(group, *saved, d_output->view());
  HEADWISE_TRY(of_all_ranks(status_of(gradients)));
  auto by_name = named_on_first<T>(group, shard, *std::move(gradients), of);
  HEADWISE_TRY(by_name);
  return run_result<T>(std::move(*saved).take_result(), *std::move(by_name));
}

}  // namespace

Result<RunResult> run_layer_by_heads(Communicator& group,
                                     MultiHeadAttention layer,
                                     Operands<float, 3> in,
                                     const LayerTogether& of) {
  std::optional<MultiHeadAttention> whole = std::move(layer);
  const auto shard = LayerShard::create(*whole, group.ranks(), group.rank(),
                                        {.training = of.training()});
  HEADWISE_TRY(agreed(group, status_of(shard)));
  whole.reset();
  return with_dtype(of.flags.dtype, [&](auto number) -> Result<RunResult> {
    using T = decltype(number);
    const auto in_type = narrow<T>(std::move(in));
    HEADWISE_TRY(in_type);
    return of.training() ? both_ways<T>(group, *shard, *in_type, of)
                         : forward<T>(group, *shard, *in_type, of);
  });
}

}  // namespace headwise::cli
