#include "distribute/call_digest.h"

#include <bit>
#include <utility>

#include "steps/stored_rule.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

void add_dropout(const AttentionSpec& spec, Digest& digest) {
  const BoundDropout& dropout = spec.dropout;
  digest.add(std::uint64_t{dropout.active()});
  digest.add(dropout.factor());
  if (!dropout.active() || dropout.keep_mask().data() != nullptr) {
    return;
  }
  for (const std::uint32_t word : dropout.key()) {
    digest.add(std::uint64_t{word});
  }
  digest.add(dropout.threshold());
  for (std::size_t b = 0; b < sequences_with_tokens(spec.shape); ++b) {
    digest.add(std::uint64_t{dropout.sequence_id(b)});
  }
}

void add_options(const AttentionSpec& spec, Digest& digest) {
  digest.add(spec.scale);
  digest.add(spec.softcap.value_or(0));
  digest.add(static_cast<std::uint64_t>(spec.empty_rows));
  digest.add(static_cast<std::uint64_t>(spec.arithmetic));
  digest.add(spec.alibi.slopes());
  digest.add(spec.sinks.view());
  digest.add(std::uint64_t{spec.bias.given()});
  for (const std::size_t extent : spec.bias.extents()) {
    digest.add(extent);
  }
  const TensorView<const float, 2> table = spec.t5_bias.table();
  for (std::size_t bucket = 0; bucket < table.extent(0); ++bucket) {
    digest.add(TensorView<const float, 1>(&table(bucket, 0), {table.extent(1)},
                                          {table.stride(1)}));
  }
  digest.add(std::uint64_t{spec.additive()});
  digest.add(spec.added_keys.count());
  add_dropout(spec, digest);
  for (std::size_t g = 0; g < spec.shape.Hkv; ++g) {
    digest.add(spec.shape.first_query_head(g));
  }
  for (std::size_t b = 0; b < sequences_with_tokens(spec.shape); ++b) {
    const SequencePlace place = spec.shape.sequence(b);
    digest.add(place.Lq);
    digest.add(place.Lkv);
    digest.add(static_cast<std::uint64_t>(spec.mask.query_start(b)));
  }
}

void add_shard(const Shard& shard, Digest& digest) {
  digest.add(shard.rank);
  digest.add(shard.sequence);
  digest.add(shard.tokens.first);
  digest.add(shard.tokens.count);
}

// What a query sees by each rule, with the numbers of the rule.
void add_row(const BoundMask& mask, std::size_t b, std::size_t i,
             Digest& digest) {
  const auto keys = static_cast<std::int64_t>(mask.shape().sequence(b).Lkv);
  for (const internal::StoredMaskRule& rule : mask.rules()) {
    for (const auto& [begin, end] :
         rule.type->seen(rule, {b, i, 1, mask.query_start(b), {0, keys}})) {
      digest.add(static_cast<std::uint64_t>(begin));
      digest.add(static_cast<std::uint64_t>(end));
    }
  }
}

void add_shards(const Shards& shards, Digest& digest) {
  for (const QueryShard& queries : shards.queries) {
    add_shard(queries, digest);
    for (const PartRange& seen : queries.seen) {
      digest.add(seen.first);
      digest.add(seen.count);
    }
    add_row(shards.mask, queries.sequence, queries.tokens.first, digest);
    add_row(shards.mask, queries.sequence,
            queries.tokens.first + queries.tokens.count - 1, digest);
  }
  for (const Shard& keys : shards.keys) {
    add_shard(keys, digest);
  }
}

std::string names_of(const BoundMask& mask) {
  std::string names;
  for (const internal::StoredMaskRule& rule : mask.rules()) {
    names += (names.empty() ? "" : " & ") + std::string(rule.type->name);
  }
  return names.empty() ? "no mask" : names;
}

}  // namespace

void Digest::add(std::uint64_t number) {
  for (int byte = 0; byte < 8; ++byte) {
    hash_ = (hash_ ^ (number >> (8 * byte) & 0xff)) * 0x100000001b3;
  }
}

void Digest::add(double number) { add(std::bit_cast<std::uint64_t>(number)); }

void Digest::add(TensorView<const float, 1> numbers) {
  add(numbers.extent(0));
  for (std::size_t n = 0; n < numbers.extent(0); ++n) {
    add(static_cast<double>(numbers(n)));
  }
}

std::string Digest::text() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) {
    text += kDigits[hash_ >> shift & 0xf];
  }
  return text;
}

void add_layer(const MultiHeadAttentionConfig& config, Digest& digest) {
  for (const std::size_t size :
       {config.embed_dim, config.num_heads, *config.num_kv_heads,
        *config.query_dim, *config.kdim, *config.vdim, *config.head_dim,
        *config.v_head_dim, std::size_t{config.bias},
        std::size_t{config.out_proj}, std::size_t{config.value_proj},
        static_cast<std::size_t>(config.scoring),
        static_cast<std::size_t>(config.arithmetic),
        std::size_t{config.add_bias_kv}, std::size_t{config.add_zero_attn},
        std::size_t{config.qk_norm.has_value()},
        std::size_t{config.rotary.has_value()}}) {
    digest.add(size);
  }
  if (const auto& norm = config.qk_norm) {
    digest.add(static_cast<std::uint64_t>(norm->kind));
    digest.add(norm->eps);
    digest.add(static_cast<std::uint64_t>(norm->over));
    digest.add(std::uint64_t{norm->plus_one});
    digest.add(std::uint64_t{norm->bias});
  }
  if (const auto& rotary = config.rotary) {
    digest.add(rotary->rotary_dim());
    digest.add(static_cast<std::uint64_t>(rotary->layout()));
    for (const double frequency : rotary->frequencies()) {
      digest.add(frequency);
    }
    digest.add(rotary->attention_factor());
    digest.add(rotary->positions());
  }
}

std::string describe_call(std::string_view type, const AttentionSpec& spec,
                          const Shards& shards, Digest more) {
  add_options(spec, more);
  add_shards(shards, more);
  const AttentionShape& s = spec.shape;
  std::string text(type);
  for (const auto& [name, size] :
       {std::pair("B", s.B), std::pair("Hq", s.Hq), std::pair("Hkv", s.Hkv),
        std::pair("Lq", s.Lq), std::pair("Lkv", s.Lkv), std::pair("D", s.D),
        std::pair("Dv", s.Dv)}) {
    text += std::string(", ") + name + " = " + std::to_string(size);
  }
  return text + ", " + names_of(spec.mask) + ", digest " + more.text();
}

}  // namespace headwise::inline HEADWISE_ABI
