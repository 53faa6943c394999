// What all ranks must have been given alike, as a text that fits on one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "distribute/shards.h"
#include "headwise/attention/spec.h"
#include "headwise/module/multi_head_attention.h"

namespace headwise::inline HEADWISE_ABI {

// FNV-1a of 64 bits: it finds mistakes, not attacks.
class Digest {
 public:
  void add(std::uint64_t number);
  void add(double number);
  void add(TensorView<const float, 1> numbers);
  // 16 hexadecimal digits.
  std::string text() const;

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

// Adds what of a layer's configuration changes the bits of its results.
void add_layer(const MultiHeadAttentionConfig& config, Digest& digest);

// Sizes and rules in words; the other numbers of the options and the shards as
// a digest. For dense masks only their presence is included, for a bias its
// shape.
// `more`: what the caller adds.
std::string describe_call(std::string_view type, const AttentionSpec& spec,
                          const Shards& shards, Digest more);

}  // namespace headwise::inline HEADWISE_ABI
