#include "golden/golden_onnx.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "golden/onnx_call.h"
#include "headwise/attention/forward.h"
#include "headwise/attention/reference.h"
#include "headwise/base/half.h"
#include "headwise/decode/decode_plan.h"
#include "headwise/decode/kv_cache.h"
#include "support/half_tensors.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// With the axes that the case has.
Got output_of(const GoldenCase& golden, const Tensor<float, 4>& output) {
  if (golden.rank("Q") == 4) {
    return got_of(copy_of(as_bhld(view_of(output))));
  }
  Got got = got_of(output);
  const auto& blhd = output.extents();
  got.extents = {blhd[0], blhd[1], blhd[2] * blhd[3]};
  return got;
}

Tensor<float, 4> room_for_output(const OnnxCall& call) {
  const auto [B, Lq, Hq, D] = call.query().extents();
  return filled<float, 4>({B, Lq, Hq, call.value().extent(3)}, -7);
}

using Attend = Status (*)(TensorView<const float, 4> query,
                          TensorView<const float, 4> key,
                          TensorView<const float, 4> value,
                          const AttentionOutputs& outputs,
                          const AttentionOptions& options);

Computed on_tensors(const GoldenCase& golden, const OnnxCall& call,
                    std::string way, Attend attend) {
  const auto [B, Lq, Hq, D] = call.query().extents();
  auto output = room_for_output(call);
  auto scores = filled<float, 4>({B, Hq, Lq, call.key().extent(1)}, -7);
  attend(call.query(), call.key(), call.value(),
         {.output = output.view(), .scores = scores.view()}, call.options())
      .value();
  return {
      std::move(way),
      {{"Y", output_of(golden, output)}, {"qk_matmul_output", got_of(scores)}}};
}

template <class T>
Computed on_16_bits(const GoldenCase& golden, const OnnxCall& call) {
  AttentionOptions options = call.options();
  options.scores = ScoresStage::none;
  const auto query = narrowed_to<T>(call.query());
  const auto key = narrowed_to<T>(call.key());
  const auto value = narrowed_to<T>(call.value());
  auto output = narrowed_to<T>(room_for_output(call));
  attention(query, key, value, output.view(), options).value();
  return {"16 bits", {{"Y", output_of(golden, widened_to_float(output))}}};
}

// Rows `begin` to `end` of sequence b.
TensorView<const float, 4> rows_of(const Tensor<float, 4>& blhd, std::size_t b,
                                   std::size_t begin, std::size_t end) {
  return {blhd.data() +
              blhd.view().strides()[0] * static_cast<std::int64_t>(b) +
              blhd.view().strides()[1] * static_cast<std::int64_t>(begin),
          {1, end - begin, blhd.extent(2), blhd.extent(3)},
          blhd.view().strides()};
}

// The rows of each sequence that belong to the queries.
Tensor<float, 4> last_rows(const OnnxCall& call, const Tensor<float, 4>& blhd) {
  const std::size_t Lq = call.query().extent(1);
  Extents<4> extents = blhd.extents();
  extents[1] = Lq;
  auto last = filled<float, 4>(extents, 0);
  for (std::size_t b = 0; b < extents[0]; ++b) {
    const std::size_t length = call.length(b);
    std::copy_n(&blhd(b, length - Lq, 0, 0), Lq * extents[2] * extents[3],
                &last(b, 0, 0, 0));
  }
  return last;
}

// What the cache holds of all sequences, (B, H, L, D).
Computed present_of(const KvCache& cache, const std::vector<SequenceId>& ids,
                    const OnnxCall& call) {
  auto key = filled<float, 4>(call.key().extents(), 0);
  auto value = filled<float, 4>(call.value().extents(), 0);
  for (std::size_t b = 0; b < ids.size(); ++b) {
    const auto of = [&](Tensor<float, 4>& blhd) {
      return TensorView<float, 3>(
          &blhd(b, 0, 0, 0), {call.length(b), blhd.extent(2), blhd.extent(3)});
    };
    cache.read(ids[b], 0, of(key), of(value)).value();
  }
  return {"a cache's tokens",
          {{"present_key", got_of(copy_of(as_bhld(view_of(key))))},
           {"present_value", got_of(copy_of(as_bhld(view_of(value))))}}};
}

// The keys before the queries are appended first.
void add_cached(const GoldenCase& golden, const OnnxCall& call,
                std::vector<Computed>& ways) {
  const auto [B, Lkv, Hkv, D] = call.key().extents();
  const std::size_t Lq = call.query().extent(1);
  KvCache cache = KvCache::create({.num_kv_heads = Hkv,
                                   .head_dim = D,
                                   .v_head_dim = call.value().extent(3),
                                   .page_size = 16,
                                   .max_tokens = B * 64,
                                   .max_sequences = B})
                      .value();
  std::vector<SequenceId> ids;
  for (std::size_t b = 0; b < B; ++b) {
    ids.push_back(cache.add().value());
    const std::size_t before = call.length(b) - Lq;
    cache
        .append({{ids[b]}}, rows_of(call.key(), b, 0, before),
                rows_of(call.value(), b, 0, before))
        .value();
  }
  const DecodePlan plan = DecodePlan::create(cache, call.query().extent(2),
                                             B * Lq, call.cached_options())
                              .value();
  Workspace workspace = Workspace::create(plan.workspace_bytes()).value();
  const auto key = last_rows(call, call.key());
  const auto value = last_rows(call, call.value());
  auto output = room_for_output(call);
  plan.run(ids, call.query(), key, value, {.output = output.view()}, workspace)
      .value();
  ways.push_back({"a cache", {{"Y", output_of(golden, output)}}});
  if (golden.has("past_key")) {
    ways.push_back(present_of(cache, ids, call));
  }
}

}  // namespace

std::vector<Computed> compute_onnx(const GoldenCase& golden) {
  const OnnxCall call(golden);
  std::vector<Computed> ways = {
      on_tensors(golden, call, "plain",
                 [](auto query, auto key, auto value, const auto& outputs,
                    const auto& options) {
                   return attention(query, key, value, outputs, options);
                 }),
      on_tensors(golden, call, "reference",
                 [](auto query, auto key, auto value, const auto& outputs,
                    const auto& options) {
                   return reference_attention<float>(query, key, value, outputs,
                                                     options);
                 })};
  const std::string type =
      golden.json().at("tensors").at("Q").value("elem_type", "float32");
  if (type == "float16") {
    ways.push_back(on_16_bits<Float16>(golden, call));
  } else if (type == "bfloat16") {
    ways.push_back(on_16_bits<BFloat16>(golden, call));
  }
  if (call.fits_cache()) {
    add_cached(golden, call, ways);
  }
  return ways;
}

}  // namespace headwise::testing_support
