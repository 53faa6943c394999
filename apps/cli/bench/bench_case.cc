#include "bench_case.h"

#include <algorithm>
#include <utility>

#include "headwise/attention/backward.h"

namespace headwise::cli {
namespace {

constexpr Seed kSeed{7};
enum Stream : std::uint32_t {
  kQuery = 100,
  kKey,
  kValue,
  kX,
  kBias,
  kOutputGradient
};

template <std::size_t Rank>
Status draw(Tensor<float, Rank>& tensor, const Extents<Rank>& extents,
            Stream stream) {
  HEADWISE_ASSIGN(auto drawn, Tensor<float, Rank>::create(extents));
  RandomStream(kSeed, stream).fill_normal(drawn.elements());
  tensor = std::move(drawn);
  return ok();
}

// Calls visit(b, h, l, row) for each row of a sequence: the row's place in the
// padded (B, H, L, D) and its place among all sequences' rows.
template <class Visit>
void for_each_row(const std::vector<std::int64_t>& offsets, std::size_t H,
                  const Visit& visit) {
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    for (std::int64_t row = offsets[b]; row < offsets[b + 1]; ++row) {
      for (std::size_t h = 0; h < H; ++h) {
        visit(b, h, static_cast<std::size_t>(row - offsets[b]),
              static_cast<std::size_t>(row));
      }
    }
  }
}

// (B, H, L, D) -> (1, rows, H, D); the padded tensor is given back.
Status remove_padding(const std::vector<std::int64_t>& offsets,
                      Tensor<float, 4>& padded, Tensor<float, 4>& ragged) {
  const std::size_t H = padded.extent(1);
  const std::size_t D = padded.extent(3);
  HEADWISE_ASSIGN(auto rows,
                  Tensor<float, 4>::create(
                      {1, static_cast<std::size_t>(offsets.back()), H, D}));
  for_each_row(offsets, H,
               [&](std::size_t b, std::size_t h, std::size_t l, std::size_t n) {
                 std::copy_n(&padded(b, h, l, 0), D, &rows(0, n, h, 0));
               });
  ragged = std::move(rows);
  padded = {};
  return ok();
}

// The tensor in bfloat16; its memory is given back.
Status narrow(Tensor<float, 4>& from, Tensor<BFloat16, 4>& to) {
  HEADWISE_ASSIGN(auto narrowed,
                  Tensor<BFloat16, 4>::create_unset(from.extents()));
  std::ranges::transform(from.elements(), narrowed.data(),
                         narrowed_to_bfloat16);
  to = std::move(narrowed);
  from = {};
  return ok();
}

// The values are the first features of the keys.
void copy_prefix(const Tensor<float, 4>& key, Tensor<float, 4>& value) {
  const std::size_t D = key.extent(3);
  const std::size_t Dv = value.extent(3);
  for (std::size_t n = 0; n < key.size() / D; ++n) {
    std::copy_n(key.data() + n * D, Dv, value.data() + n * Dv);
  }
}

}  // namespace

Result<RaggedTensors> without_padding(
    BenchInputs& inputs, const std::vector<std::int64_t>& lengths) {
  RaggedTensors ragged;
  ragged.offsets.push_back(0);
  for (const std::int64_t length : lengths) {
    ragged.offsets.push_back(ragged.offsets.back() + length);
  }
  HEADWISE_TRY(remove_padding(ragged.offsets, inputs.query, ragged.query));
  HEADWISE_TRY(remove_padding(ragged.offsets, inputs.key, ragged.key));
  HEADWISE_TRY(remove_padding(ragged.offsets, inputs.value, ragged.value));
  HEADWISE_ASSIGN(ragged.output,
                  Tensor<float, 4>::create({1, ragged.query.extent(1),
                                            ragged.query.extent(2),
                                            ragged.value.extent(3)}));
  return ragged;
}

Result<BenchInputs> draw_inputs(const Workload& workload) {
  BenchInputs inputs;
  if (workload.embed_dim == 0) {
    HEADWISE_TRY(draw(inputs.query, query_extents(workload), kQuery));
    HEADWISE_TRY(draw(inputs.key, key_extents(workload), kKey));
    HEADWISE_TRY(draw(inputs.value, value_extents(workload), kValue));
    if (workload.cache && workload.cache->value_is_key_prefix) {
      copy_prefix(inputs.key, inputs.value);
    }
    if (workload.bias) {
      HEADWISE_TRY(draw(inputs.bias, bias_extents(workload), kBias));
    }
    if (workload.backward) {
      HEADWISE_TRY(
          draw(inputs.d_output, output_extents(workload), kOutputGradient));
    }
    return inputs;
  }
  HEADWISE_TRY(draw(inputs.x, layer_extents(workload), kX));
  HEADWISE_ASSIGN(auto layer,
                  MultiHeadAttention::create({.embed_dim = workload.embed_dim,
                                              .num_heads = workload.shape.Hq,
                                              .head_dim = workload.shape.D},
                                             kSeed));
  if (workload.rotary) {
    HEADWISE_ASSIGN(const auto rotary,
                    Rotary::create({.rotary_dim = workload.shape.D}));
    HEADWISE_TRY(layer.set_rotary(rotary));
  }
  inputs.layer = std::move(layer);
  return inputs;
}

AttentionOptions options_of(const Workload& workload, const BenchInputs& inputs,
                            const RaggedTensors& ragged) {
  AttentionOptions options;
  if (workload.causal) {
    options.mask = causal();
    options.query_start = QueryStart::bottom_right();
  }
  if (workload.window) {
    options.mask = options.mask & window(*workload.window, std::nullopt);
    options.query_start = QueryStart::bottom_right();
  }
  if (workload.bias) {
    options.bias =
        dense(inputs.bias, {Axis::one, Axis::H, Axis::Lq, Axis::Lkv});
  }
  if (workload.ragged) {
    options.offsets = TensorView<const std::int64_t, 1>(
        ragged.offsets.data(), {ragged.offsets.size()});
  } else if (!workload.lengths.empty()) {
    const TensorView<const std::int64_t, 1> lengths(workload.lengths.data(),
                                                    {workload.lengths.size()});
    options.mask = options.mask & key_lengths(lengths);
  }
  if (workload.attn_weights) {
    options.attn_weights = AttnWeights::per_head;
  }
  options.arithmetic = workload.arithmetic;
  options.dropout = {.p = workload.dropout, .training = workload.backward};
  return options;
}

Result<BenchCase> BenchCase::create(Workload workload, BenchInputs inputs,
                                    const Executor& executor) {
  BenchCase created(std::move(workload), std::move(inputs));
  created.executor_ = &executor;
  if (created.inputs_.layer) {
    HEADWISE_TRY(
        created.inputs_.layer->set_arithmetic(created.workload_.arithmetic));
    HEADWISE_ASSIGN(created.layer_result_.output,
                    Tensor<float, 3>::create(created.inputs_.x.extents()));
    return created;
  }
  const AttentionShape& sizes = created.workload_.shape;
  if (created.workload_.cache) {
    HEADWISE_TRY(created.make_cache());
    return created;
  }
  AttentionShape tensors = created.workload_.shape;
  if (created.workload_.ragged) {
    HEADWISE_ASSIGN(
        created.ragged_,
        without_padding(created.inputs_, created.workload_.lengths));
    tensors.B = 1;
    tensors.Lq = tensors.Lkv = created.ragged_.query.extent(1);
  }
  HEADWISE_ASSIGN(auto plan, AttentionPlan::create(
                                 tensors, created.options(executor),
                                 {.statistics = created.workload_.statistics}));
  HEADWISE_ASSIGN(auto output,
                  Tensor<float, 4>::create(output_extents(created.workload_)));
  HEADWISE_ASSIGN(auto attn_weights,
                  Tensor<float, 4>::create(
                      created.workload_.attn_weights
                          ? Extents<4>{sizes.B, sizes.Hq, sizes.Lq, sizes.Lkv}
                          : Extents<4>{}));
  HEADWISE_ASSIGN(auto workspace, Workspace::create(plan.workspace_bytes()));
  HEADWISE_ASSIGN(auto statistics, AttentionStatistics::create(plan.spec()));
  created.plan_ = std::move(plan);
  created.statistics_ = std::move(statistics);
  created.workspace_ = std::move(workspace);
  created.output_ = std::move(output);
  created.attn_weights_ = std::move(attn_weights);
  if (created.workload_.backward) {
    HEADWISE_TRY(created.make_backward());
  }
  if (created.workload_.bfloat16) {
    HEADWISE_TRY(created.make_bfloat16());
  }
  return created;
}

Status BenchCase::make_bfloat16() {
  HEADWISE_TRY(narrow(inputs_.query, bfloat16_.query));
  HEADWISE_TRY(narrow(inputs_.key, bfloat16_.key));
  HEADWISE_TRY(narrow(inputs_.value, bfloat16_.value));
  HEADWISE_ASSIGN(bfloat16_.output,
                  Tensor<BFloat16, 4>::create(output_.extents()));
  return ok();
}

Status BenchCase::make_cache() {
  HEADWISE_ASSIGN(output_, Tensor<float, 4>::create(output_extents(workload_)));
  HEADWISE_ASSIGN(auto cache,
                  BenchCache::create(workload_, inputs_.key.view(),
                                     inputs_.value.view(), *executor_));
  cache_.emplace(std::move(cache));
  return ok();
}

Status BenchCase::make_backward() {
  const AttentionShape& shape = workload_.shape;
  HEADWISE_ASSIGN(auto rows,
                  Tensor<float, 4>::create({shape.B, shape.Hq, shape.Lq, 2}));
  HEADWISE_ASSIGN(auto d_query,
                  Tensor<float, 4>::create(inputs_.query.extents()));
  HEADWISE_ASSIGN(auto d_key, Tensor<float, 4>::create(inputs_.key.extents()));
  HEADWISE_ASSIGN(auto d_value,
                  Tensor<float, 4>::create(inputs_.value.extents()));
  backward_ = {std::move(rows), std::move(d_query), std::move(d_key),
               std::move(d_value)};
  return ok();
}

Status BenchCase::run_backward() {
  const auto query = as_blhd(inputs_.query);
  const auto key = as_blhd(inputs_.key);
  const auto value = as_blhd(inputs_.value);
  HEADWISE_TRY(plan_->run(
      query, key, value,
      {.output = as_blhd(output_), .softmax_rows = backward_.softmax_rows},
      *workspace_));
  return attention_backward(
      {query, key, value, as_blhd(output_), backward_.softmax_rows,
       as_blhd(inputs_.d_output)},
      {as_blhd(backward_.d_query), as_blhd(backward_.d_key),
       as_blhd(backward_.d_value)},
      options(*executor_));
}

Status BenchCase::run() {
  if (workload_.backward) {
    return run_backward();
  }
  if (workload_.bfloat16) {
    return plan_->run(as_blhd(bfloat16_.query), as_blhd(bfloat16_.key),
                      as_blhd(bfloat16_.value),
                      {.output = as_blhd(bfloat16_.output)}, *workspace_);
  }
  if (cache_) {
    return cache_->run(inputs_.query.view(), inputs_.key.view(),
                       inputs_.value.view(), output_.view());
  }
  if (plan_ && workload_.ragged) {
    return plan_->run(ragged_.query, ragged_.key, ragged_.value,
                      {.output = ragged_.output}, *workspace_);
  }
  if (plan_) {
    return plan_->run(as_blhd(inputs_.query), as_blhd(inputs_.key),
                      as_blhd(inputs_.value),
                      {.output = as_blhd(output_),
                       .attn_weights = attn_weights_,
                       .statistics = statistics_.views()},
                      *workspace_);
  }
  const TensorView<const float, 3> x = inputs_.x;
  const MultiHeadAttention& layer = *inputs_.layer;
  if (!workload_.attn_weights) {
    return layer.forward_into(x, x, x, layer_result_.output,
                              options(*executor_));
  }
  HEADWISE_ASSIGN(layer_result_, layer.forward(x, x, x, options(*executor_)));
  return ok();
}

std::vector<BenchCase::Output> BenchCase::outputs() {
  if (workload_.ragged) {  // nothing else is ever written there
    for_each_row(
        ragged_.offsets, output_.extent(1),
        [&](std::size_t b, std::size_t h, std::size_t l, std::size_t n) {
          std::copy_n(&ragged_.output(0, n, h, 0), output_.extent(3),
                      &output_(b, h, l, 0));
        });
  }
  if (workload_.bfloat16) {
    std::ranges::transform(bfloat16_.output.elements(), output_.data(),
                           [](BFloat16 x) { return widened(x); });
  }
  std::vector<Output> outputs = {
      {"out",
       plan_ || cache_ ? output_.elements() : layer_result_.output.elements()}};
  if (workload_.attn_weights) {
    outputs.push_back({"weights", plan_
                                      ? attn_weights_.elements()
                                      : layer_result_.attn_weights.elements()});
  }
  if (workload_.backward) {
    outputs.push_back({"dq", backward_.d_query.elements()});
    outputs.push_back({"dk", backward_.d_key.elements()});
    outputs.push_back({"dv", backward_.d_value.elements()});
  }
  return outputs;
}

}  // namespace headwise::cli
