#include "bench_workload.h"

#include <algorithm>
#include <utility>

namespace headwise::cli {
namespace {

AttentionShape self(std::size_t B, std::size_t H, std::size_t L,
                    std::size_t D) {
  return {.B = B, .Hq = H, .Hkv = H, .Lq = L, .Lkv = L, .D = D, .Dv = D};
}

// The keys of sequence b end in the middle of the b-th of B equal parts: half
// of all are padding.
std::vector<std::int64_t> half_padded(std::size_t B, std::size_t Lkv) {
  std::vector<std::int64_t> lengths(B);
  for (std::size_t b = 0; b < B; ++b) {
    lengths[b] = static_cast<std::int64_t>((2 * b + 1) * Lkv / (2 * B));
  }
  return lengths;
}

// Lengths from 5 on, spread evenly and in no order: those of sentences.
std::vector<std::int64_t> sentences(std::size_t B, std::size_t longest) {
  constexpr std::size_t kShortest = 5;
  constexpr std::size_t kStride = 37;  // has no divisor in common with B
  std::vector<std::int64_t> lengths(B);
  for (std::size_t b = 0; b < B; ++b) {
    const std::size_t place = b * kStride % B;
    lengths[b] = static_cast<std::int64_t>(
        kShortest + place * (longest - kShortest) / (B - 1));
  }
  return lengths;
}

// Pairs of a query and a key that it may attend to, of one head.
double visible_pairs(const Workload& workload) {
  const AttentionShape& shape = workload.shape;
  const auto Lkv = static_cast<std::int64_t>(shape.Lkv);
  const std::int64_t start = Lkv - static_cast<std::int64_t>(shape.Lq);
  double pairs = 0;
  for (std::size_t b = 0; b < shape.B; ++b) {
    const std::int64_t length =
        workload.lengths.empty()
            ? Lkv
            : std::max<std::int64_t>(workload.lengths[b], 0);
    const std::int64_t queries =
        workload.ragged ? length : static_cast<std::int64_t>(shape.Lq);
    for (std::int64_t i = 0; i < queries; ++i) {
      const std::int64_t end = std::clamp(workload.causal ? start + i + 1 : Lkv,
                                          std::int64_t{0}, length);
      const std::int64_t begin =
          workload.window
              ? std::max<std::int64_t>(start + i - *workload.window, 0)
              : 0;
      pairs += static_cast<double>(std::max<std::int64_t>(end - begin, 0));
    }
  }
  return pairs;
}

// One new token of each of 8 sequences.
AttentionShape one_token(std::size_t Hkv) {
  return {
      .B = 8, .Hq = 32, .Hkv = Hkv, .Lq = 1, .Lkv = 4096, .D = 128, .Dv = 128};
}

Workload decode(std::string name, const AttentionShape& shape,
                const KvCacheOptions& cache) {
  return {
      .name = std::move(name), .shape = shape, .causal = true, .cache = cache};
}
Workload shuffled(Workload workload) {
  workload.shuffled = true;
  return workload;
}
Workload in_chunks(Workload workload, std::size_t queries) {
  workload.chunk = queries;
  return workload;
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<Workload>& workloads() {
  static const std::vector<Workload> kWorkloads = {
      {.name = "bert", .shape = self(8, 12, 512, 64)},
      {.name = "bert_causal", .shape = self(8, 12, 512, 64), .causal = true},
      {.name = "bert_pad",
       .shape = self(8, 12, 512, 64),
       .lengths = half_padded(8, 512)},
      {.name = "gpt_causal", .shape = self(1, 32, 2048, 128), .causal = true},
      {.name = "bert_bf16", .shape = self(8, 12, 512, 64), .bfloat16 = true},
      {.name = "gpt_causal_bf16",
       .shape = self(1, 32, 2048, 128),
       .causal = true,
       .bfloat16 = true},
      {.name = "gpt_full", .shape = self(1, 32, 2048, 128)},
      {.name = "gqa_causal",
       .shape = {1, 32, 8, 2048, 2048, 128, 128},
       .causal = true},
      {.name = "long_full", .shape = self(1, 8, 8192, 64)},
      {.name = "long_causal", .shape = self(1, 8, 8192, 64), .causal = true},
      {.name = "vit", .shape = self(8, 12, 197, 64)},
      {.name = "cross", .shape = {4, 8, 8, 128, 1024, 64, 64}},
      {.name = "attn_weights",
       .shape = self(8, 12, 512, 64),
       .attn_weights = true},
      {.name = "bias", .shape = self(8, 12, 512, 64), .bias = true},
      {.name = "ragged",
       .shape = self(64, 12, 512, 64),
       .lengths = sentences(64, 512),
       .ragged = true},
      {.name = "window",
       .shape = self(1, 8, 8192, 64),
       .causal = true,
       .window = 1023},
      {.name = "heads", .shape = self(1, 12, 4096, 64)},
      {.name = "heads_pooled",
       .shape = self(1, 12, 4096, 64),
       .statistics = {.rows = true}},
      {.name = "heads_map",
       .shape = self(1, 12, 4096, 64),
       .statistics = {.top_keys = 8, .columns = true, .map = true}},
      {.name = "decode_plain", .shape = {8, 32, 8, 1, 4096, 128, 128}},
      decode("decode", one_token(8), {.page_size = 0}),
      decode("decode_bf16", one_token(8),
             {.dtype = DType::bfloat16, .page_size = 0}),
      decode("decode_int8", one_token(8),
             {.dtype = DType::int8, .page_size = 0}),
      decode("decode_paged", one_token(8), {}),
      decode("decode_paged_16", one_token(8), {.page_size = 16}),
      shuffled(decode("decode_shuffled", one_token(8), {})),
      decode("decode_long", {1, 32, 8, 1, 32768, 128, 128}, {.page_size = 0}),
      decode("decode_mha", one_token(32), {.page_size = 0}),
      decode("decode_mha_bf16", one_token(32),
             {.dtype = DType::bfloat16, .page_size = 0}),
      decode("decode_mha_int8", one_token(32),
             {.dtype = DType::int8, .page_size = 0}),
      decode("decode_mla", {8, 16, 1, 1, 4096, 576, 512},
             {.page_size = 0, .value_is_key_prefix = true}),
      decode("decode_short", {1, 32, 8, 1, 128, 128, 128}, {.page_size = 0}),
      {.name = "prefill",
       .shape = {1, 32, 8, 8192, 8192, 128, 128},
       .causal = true},
      in_chunks(decode("prefill_chunks", {1, 32, 8, 8192, 8192, 128, 128}, {}),
                512),
      {.name = "seed", .shape = self(10, 8, 20, 64)},
      {.name = "module", .shape = self(8, 12, 512, 64), .embed_dim = 768},
      {.name = "module_attn_weights",
       .shape = self(8, 12, 512, 64),
       .attn_weights = true,
       .embed_dim = 768},
      {.name = "seed_module", .shape = self(10, 8, 20, 64), .embed_dim = 512},
      {.name = "gpt_layer",
       .shape = self(1, 32, 2048, 128),
       .causal = true,
       .embed_dim = 4096},
      {.name = "gpt_layer_rotary",
       .shape = self(1, 32, 2048, 128),
       .causal = true,
       .embed_dim = 4096,
       .rotary = true},
      {.name = "layer_768", .shape = self(8, 12, 256, 64), .embed_dim = 768},
      {.name = "layer_768_half",
       .shape = self(8, 6, 256, 64),
       .embed_dim = 768},
      {.name = "layer_384", .shape = self(8, 12, 256, 32), .embed_dim = 384},
      {.name = "layer_384_half",
       .shape = self(8, 6, 256, 32),
       .embed_dim = 384},
      {.name = "bert_bwd", .shape = self(8, 12, 512, 64), .backward = true},
      {.name = "bert_bwd_pad",
       .shape = self(8, 12, 512, 64),
       .lengths = half_padded(8, 512),
       .backward = true},
      {.name = "bert_bwd_dropout",
       .shape = self(8, 12, 512, 64),
       .backward = true,
       .dropout = 0.1},
      {.name = "gpt_causal_bwd",
       .shape = self(1, 32, 2048, 128),
       .causal = true,
       .backward = true},
      {.name = "growth_full_2048", .shape = self(1, 1, 2048, 64)},
      {.name = "growth_full_65536", .shape = self(1, 1, 65536, 64)},
      {.name = "growth_causal_2048",
       .shape = self(1, 1, 2048, 64),
       .causal = true},
      {.name = "growth_causal_65536",
       .shape = self(1, 1, 65536, 64),
       .causal = true},
  };
  return kWorkloads;
}

std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  for (const Workload& workload : workloads()) {
    names.push_back(workload.name);
  }
  return names;
}

double gflop(const Workload& workload) {
  const AttentionShape& shape = workload.shape;
  const double attention = 2.0 * static_cast<double>(shape.D + shape.Dv) *
                           static_cast<double>(shape.Hq) *
                           visible_pairs(workload);
  const double projections =
      8.0 * static_cast<double>(shape.B * shape.Lq) *
      static_cast<double>(workload.embed_dim * shape.Hq * shape.D);
  return (workload.backward ? 3.5 : 1.0) * (attention + projections) * 1e-9;
}

}  // namespace headwise::cli
