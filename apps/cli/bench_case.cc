#include "bench_case.h"

#include <utility>

namespace headwise::cli {
namespace {

constexpr Seed kSeed{7};
enum Stream : std::uint32_t { kQuery = 100, kKey, kValue, kX };

template <std::size_t Rank>
Status draw(Tensor<float, Rank>& tensor, const Extents<Rank>& extents,
            Stream stream) {
  auto drawn = Tensor<float, Rank>::create(extents);
  if (!drawn) {
    return drawn.error();
  }
  RandomStream(kSeed, stream).fill_normal(drawn->elements());
  tensor = *std::move(drawn);
  return ok();
}

}  // namespace

Result<BenchInputs> draw_inputs(const Workload& workload) {
  const auto& [B, Hq, Hkv, Lq, Lkv, D, Dv] = workload.shape;
  BenchInputs inputs;
  if (workload.embed_dim == 0) {
    Status s = draw(inputs.query, {B, Hq, Lq, D}, kQuery);
    if (s) {
      s = draw(inputs.key, {B, Hkv, Lkv, D}, kKey);
    }
    if (s) {
      s = draw(inputs.value, {B, Hkv, Lkv, Dv}, kValue);
    }
    return s ? Result<BenchInputs>(std::move(inputs)) : s.error();
  }
  if (Status s = draw(inputs.x, {B, Lq, workload.embed_dim}, kX); !s) {
    return s.error();
  }
  auto layer = MultiHeadAttention::create(
      {.embed_dim = workload.embed_dim, .num_heads = Hq}, kSeed);
  if (!layer) {
    return layer.error();
  }
  inputs.layer = *std::move(layer);
  return inputs;
}

AttentionOptions BenchCase::options(const Executor& executor) const {
  AttentionOptions options;
  if (workload_.causal) {
    options.mask = causal();
    options.query_start = QueryStart::bottom_right();
  }
  if (!workload_.lengths.empty()) {
    const TensorView<const std::int64_t, 1> lengths(workload_.lengths.data(),
                                                    {workload_.lengths.size()});
    options.mask = std::move(options.mask) & key_lengths(lengths);
  }
  if (workload_.attn_weights) {
    options.attn_weights = AttnWeights::per_head;
  }
  options.executor = &executor;
  return options;
}

Result<BenchCase> BenchCase::create(Workload workload, BenchInputs inputs,
                                    const Executor& executor) {
  BenchCase created(std::move(workload), std::move(inputs));
  created.executor_ = &executor;
  if (created.inputs_.layer) {
    return created;
  }
  const auto& [B, Hq, Hkv, Lq, Lkv, D, Dv] = created.workload_.shape;
  auto plan =
      AttentionPlan::create(created.workload_.shape, created.options(executor));
  auto output = Tensor<float, 4>::create({B, Hq, Lq, Dv});
  auto attn_weights = Tensor<float, 4>::create(created.workload_.attn_weights
                                                   ? Extents<4>{B, Hq, Lq, Lkv}
                                                   : Extents<4>{});
  if (!plan || !output || !attn_weights) {
    return !plan     ? plan.error()
           : !output ? output.error()
                     : attn_weights.error();
  }
  created.plan_ = *std::move(plan);
  created.output_ = *std::move(output);
  created.attn_weights_ = *std::move(attn_weights);
  return created;
}

Status BenchCase::run() {
  if (plan_) {
    return plan_->run(as_blhd(std::as_const(inputs_.query).view()),
                      as_blhd(std::as_const(inputs_.key).view()),
                      as_blhd(std::as_const(inputs_.value).view()),
                      {.output = as_blhd(output_.view()),
                       .attn_weights = attn_weights_.view()});
  }
  const auto x = std::as_const(inputs_.x).view();
  auto result =
      std::as_const(*inputs_.layer).forward(x, x, x, options(*executor_));
  if (!result) {
    return result.error();
  }
  layer_result_ = *std::move(result);
  return ok();
}

std::vector<BenchCase::Output> BenchCase::outputs() const {
  std::vector<Output> outputs = {
      {"out", plan_ ? output_.elements() : layer_result_.output.elements()}};
  if (workload_.attn_weights) {
    outputs.push_back({"weights", plan_
                                      ? attn_weights_.elements()
                                      : layer_result_.attn_weights.elements()});
  }
  return outputs;
}

}  // namespace headwise::cli
