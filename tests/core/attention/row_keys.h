// The keys of a row in a call: those of its sequence, then the added ones.
#pragma once

#include <cmath>
#include <cstddef>

#include "attention/attention_call.h"
#include "headwise/attention/spec.h"

namespace headwise::testing_support {

class RowKeys {
 public:
  RowKeys(const Inputs<float>& in, const AttentionSpec& spec)
      : in_(in), spec_(spec) {}

  std::size_t count(const SequencePlace& place) const {
    return place.Lkv + spec_.added_keys.count();
  }
  static bool is_added(const SequencePlace& place, std::size_t j) {
    return j >= place.Lkv;
  }
  // Where tensors over all pairs have key j.
  std::size_t column(const SequencePlace& place, std::size_t j) const {
    return is_added(place, j) ? spec_.shape.Lkv + (j - place.Lkv) : j;
  }
  double key(const SequencePlace& place, std::size_t h, std::size_t j,
             std::size_t d) const {
    const std::size_t g = spec_.shape.kv_head(h);
    return is_added(place, j) ? spec_.added_keys.key(j - place.Lkv, g, d)
                              : in_.key(place.batch, place.first_key + j, g, d);
  }
  double value(const SequencePlace& place, std::size_t h, std::size_t j,
               std::size_t c) const {
    const std::size_t g = spec_.shape.kv_head(h);
    return is_added(place, j)
               ? spec_.added_keys.value(j - place.Lkv, g, c)
               : in_.value(place.batch, place.first_key + j, g, c);
  }
  double norm(const SequencePlace& place, std::size_t h, std::size_t j) const {
    double square = 0;
    for (std::size_t d = 0; d < spec_.shape.D; ++d) {
      square += key(place, h, j, d) * key(place, h, j, d);
    }
    return std::sqrt(square);
  }

 private:
  const Inputs<float>& in_;
  const AttentionSpec& spec_;
};

}  // namespace headwise::testing_support
