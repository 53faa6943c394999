#include "rank_call.h"

#include <cstdint>
#include <utility>

namespace headwise {
namespace {

// Numbers without a rule: speed does not depend on them.
Result<Tensor<float, 4>> random_rows(std::size_t rows, std::uint64_t seed) {
  auto tensor = Tensor<float, 4>::create({1, rows, kHeads, kHeadDim});
  HEADWISE_TRY(tensor);
  std::uint64_t state = seed;
  for (float& x : tensor->elements()) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    x = static_cast<float>(state >> 40U) / 8388608.0F - 1;
  }
  return tensor;
}

AttentionInputsOf<float> inputs_of(const Tensors& own) {
  return {own.query, own.key, own.value};
}
AttentionOutputs outputs_of(Tensors& own, bool backward) {
  AttentionOutputs outputs = {.output = own.output};
  if (backward) {
    outputs.softmax_rows = own.rows;
  }
  return outputs;
}
BackwardInputs backward_inputs_of(const Tensors& own) {
  return {own.query, own.key, own.value, own.output, own.rows, own.d_output};
}
AttentionGradients gradients_of(Tensors& own) {
  return {.query = own.d_query, .key = own.d_key, .value = own.d_value};
}

}  // namespace

Result<Tensors> make_tensors(std::size_t rows, bool backward) {
  Tensors made;
  const std::size_t with_gradients = backward ? rows : 0;
  std::uint64_t seed = 0;
  for (const auto& [tensor, count] : {std::pair{&made.query, rows},
                                      {&made.key, rows},
                                      {&made.value, rows},
                                      {&made.output, rows},
                                      {&made.d_output, with_gradients},
                                      {&made.d_query, with_gradients},
                                      {&made.d_key, with_gradients},
                                      {&made.d_value, with_gradients}}) {
    auto random = random_rows(count, ++seed);
    HEADWISE_TRY(random);
    *tensor = *std::move(random);
  }
  auto softmax_rows = Tensor<float, 4>::create({1, kHeads, with_gradients, 2});
  HEADWISE_TRY(softmax_rows);
  made.rows = *std::move(softmax_rows);
  return made;
}

Status alone(Tensors& whole, const AttentionOptions& options, bool backward) {
  HEADWISE_TRY(attention(whole.query, whole.key, whole.value,
                         outputs_of(whole, backward), options));
  return backward ? attention_backward(backward_inputs_of(whole),
                                       gradients_of(whole), options)
                  : ok();
}

Status together(Communicator& group, const ContextCall& call, Tensors& own,
                bool backward) {
  HEADWISE_TRY(context_attention(group, call, inputs_of(own),
                                 outputs_of(own, backward)));
  return backward ? context_attention_backward(
                        group, call, backward_inputs_of(own), gradients_of(own))
                  : ok();
}

Result<ContextCall> call_of(std::size_t ranks, const CallSettings& settings,
                            const AttentionOptions& options) {
  auto plan = plan_shards({.ranks = ranks,
                           .parallel = Parallel::context,
                           .sequences = {{settings.length, settings.length}},
                           .heads = kHeads,
                           .kv_heads = kHeads,
                           .band = KeyBand::causal(),
                           .pieces_per_rank = settings.pieces});
  HEADWISE_TRY(plan);
  return ContextCall{.tensors = {.B = 1,
                                 .Hq = kHeads,
                                 .Hkv = kHeads,
                                 .Lq = settings.length,
                                 .Lkv = settings.length,
                                 .D = kHeadDim,
                                 .Dv = kHeadDim},
                     .plan = *std::move(plan),
                     .options = options,
                     .keys = KeyTransport::chunks,
                     .chunk_keys = settings.chunk_keys};
}

std::size_t rows_of(const RankShare& share) {
  std::size_t rows = 0;
  for (const TokenPiece& piece : share.queries) {
    rows += piece.range.tokens;
  }
  return rows;
}

}  // namespace headwise
