// Random calls of attention: sizes, masks, options, layouts and values, drawn
// by rapidcheck as a handful of numbers, so that a failing one shrinks to a
// small one and prints in a line.
#pragma once

#include <rapidcheck.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>

#include "headwise/base/arithmetic.h"
#include "headwise/base/dtype.h"

namespace headwise::testing_support {

enum class Feature {
  causal,
  window,
  key_lengths,
  row_lengths,
  key_starts,
  key_padding,
  dense,
  documents,
  bias,
  t5_bias,
  alibi,
  softcap,
  dropout,
  ragged,
  grouped_heads,
  unequal_sizes,  // D != Dv
  strided,
  query_start,
  uniform_rows,  // EmptyRow::uniform
  nan_rows,      // EmptyRow::nan, where the former is off
  additive,      // scoring
  uneven_groups,
  rotary,  // of queries and keys before the call
  sinks,
  bias_kv,  // of added keys, as the next one
  zero_attn,
};
inline constexpr std::array<std::string_view, 26> kFeatureNames = {
    "causal",     "window",        "key_lengths", "row_lengths",
    "key_starts", "key_padding",   "dense",       "documents",
    "bias",       "t5_bias",       "alibi",       "softcap",
    "dropout",    "ragged",        "grouped",     "unequal_sizes",
    "strided",    "query_start",   "uniform",     "nan",
    "additive",   "uneven_groups", "rotary",      "sinks",
    "bias_kv",    "zero_attn"};

inline constexpr std::size_t kMostKeyHeads = 2;

struct RandomCall {
  std::array<bool, kFeatureNames.size()> features{};
  std::size_t B = 1;
  std::size_t Hkv = 1;
  std::size_t group = 1;
  // Query heads that a key head has beyond the group.
  std::array<std::size_t, kMostKeyHeads> more{};
  std::size_t Lq = 1;
  std::size_t Lkv = 1;
  std::size_t D = 1;
  std::size_t Dv = 1;
  std::size_t range = 0;         // of the values, kRanges
  std::size_t bias_form = 0;     // which axes, kBiasForms
  std::size_t start_form = 0;    // a number, one a sequence, bottom right
  std::size_t weights_form = 0;  // AttnWeights
  std::size_t scores_stage = 0;  // ScoresStage
  DType dtype = DType::float32;  // of query, key, value and output
  Arithmetic arithmetic = Arithmetic::exact;
  std::size_t rotary_form = 0;  // of random_rotation.h
  std::size_t threads = 1;
  std::uint32_t stream = 0;  // of the numbers that fill the tensors

  bool has(Feature feature) const {
    return features[static_cast<std::size_t>(feature)];
  }
  std::size_t query_heads() const { return Hkv * group + more[0] + more[1]; }
  // More than two blocks of keys and more than one of queries.
  bool large() const { return Lkv > 256 && Lq > 48; }
};

inline constexpr std::array<double, 5> kRanges = {1, 2, 0.01, 8, 30};
inline constexpr std::size_t kBiasForms = 4;

// One of four is in bf16; all where the environment has HEADWISE_RANDOM_BF16.
rc::Gen<RandomCall> random_call();
// All are exact.
rc::Gen<RandomCall> random_exact_call();
std::ostream& operator<<(std::ostream& to, const RandomCall& call);

}  // namespace headwise::testing_support
