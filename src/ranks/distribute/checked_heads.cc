#include "distribute/checked_heads.h"

#include <array>
#include <cstdint>
#include <utility>

#include "distribute/call_digest.h"
#include "distribute/rank_tensors.h"

namespace headwise::inline HEADWISE_ABI {

Status check_options_by_heads(std::string_view operation,
                              const AttentionOptions& options,
                              const OperationOptions& operation_options) {
  if (options.attn_weights == AttnWeights::mean) {
    return value_error(operation, "attn_weights", "mean",
                       "none, per_head or after_dropout by heads",
                       ErrorCode::unsupported);
  }
  AttentionOptions others = options;
  others.attn_weights = AttnWeights::none;
  others.scores = ScoresStage::none;
  return check_rank_options(operation, others, operation_options);
}

Result<CheckedHeads> checked_heads(std::string_view operation,
                                   const HeadsCall& call, std::size_t ranks) {
  HEADWISE_TRY(
      check_options_by_heads(operation, call.options, call.operation_options));
  HEADWISE_ASSIGN(auto spec,
                  AttentionSpec::create(call.tensors, call.options,
                                        call.operation_options, operation));
  HEADWISE_ASSIGN(auto shards,
                  shards_of(call.tokens, ranks, spec.mask, operation));
  HEADWISE_ASSIGN(auto heads,
                  heads_of(call.heads, ranks, spec.shape, operation));
  return CheckedHeads{std::move(spec), std::move(shards), std::move(heads)};
}

Status check_pairs(std::string_view operation, std::string_view argument,
                   const CheckedHeads& all, std::size_t rank,
                   const TensorView<const float, 4>& given, bool expected) {
  const AttentionShape& shape = all.spec.shape;
  const std::size_t heads = expected ? all.heads.query[rank].count : 0;
  const std::array<std::size_t, 4> extents = {shape.B, heads, shape.Lq,
                                              all.spec.pair_columns()};
  if (!expected && given.size() != 0) {
    return value_error(operation, argument, "given",
                       "none: the options do not ask for it");
  }
  return expected
             ? check_rank_tensor(operation, argument, given,
                                 "(B, heads of the rank, Lq, Lkv)", extents)
             : ok();
}

Status check_same_heads(Communicator& group, DType type,
                        const CheckedHeads& all) {
  Digest digest;
  digest.add(static_cast<std::uint64_t>(all.spec.attn_weights));
  digest.add(static_cast<std::uint64_t>(all.spec.scores));
  for (const PartRange& heads : all.heads.key) {
    digest.add(heads.count);
  }
  return group.check_same(
      "the call", describe_call(name_of(type), all.spec, all.shards, digest));
}

}  // namespace headwise::inline HEADWISE_ABI
