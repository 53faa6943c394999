// headwise.MultiHeadAttention: a layer that several threads may use.
#pragma once

#include <nanobind/nanobind.h>

#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

#include "headwise/module/multi_head_attention.h"
#include "layer_call.h"
#include "layer_params.h"
#include "one_at_a_time.h"
#include "rotary_argument.h"

namespace headwise::python {

class LayerObject {
 public:
  // `rotary` is the dict that made the layer's, or none.
  explicit LayerObject(MultiHeadAttention layer, nb::handle rotary)
      : layer_(std::move(layer)), rotary_(rotary_rules(rotary)) {}

  nb::object forward(nb::handle query, nb::handle key, nb::handle value,
                     const nb::kwargs& keywords) const;
  void fix_sizes(const nb::kwargs& keywords);
  void set_rotary(nb::handle rotary);
  void set_params(nb::handle params);
  void share_memory_with(const LayerObject& other);
  void save(nb::handle path) const;

  // ValueError while an input size is open.
  const MultiHeadAttentionParams& params() const;
  const MultiHeadAttentionConfig& config() const { return layer_.config(); }
  // The dict of its rotary positions, or none.
  nb::object rotary() const;

  // Runs `call(layer)` without the interpreter lock, while no call changes the
  // layer, and no other runs that has the same `alone`, if it is given.
  template <class Call>
  auto use(Call&& call, OneAtATime* alone = nullptr) const {
    const auto run = [&] {
      const std::shared_lock lock(mutex_);
      return call(layer_);
    };
    return alone != nullptr ? alone->run(run) : unlocked(run);
  }

 private:
  nb::object forward_into(const LayerTensors& tensors,
                          const LayerCallOptions& options) const;
  template <class Call>
  auto change(Call&& call) {
    const nb::gil_scoped_release released;
    const std::unique_lock lock(mutex_);
    return call(layer_);
  }

  MultiHeadAttention layer_;
  nb::object rotary_;  // without tables
  mutable std::shared_mutex mutex_;
};

}  // namespace headwise::python
