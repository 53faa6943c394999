// The arguments of a layer's call: query, key and value, and options.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "array_argument.h"
#include "call_options.h"
#include "headwise/base/tensor.h"
#include "headwise/module/multi_head_attention.h"
#include "kv_cache_object.h"
#include "new_array.h"

namespace headwise::python {

// Only forward() takes `out`. A pass for training takes no cache.
enum class Pass { forward, explain, training };

// The options of AttentionOptions and of LayerOptions, and `lse`.
class LayerCallOptions : public CallOptions {
 public:
  // Errors: those of CallOptions::read().
  LayerCallOptions(std::string_view operation_name, nb::handle keywords,
                   Pass pass);

  LayerOptions layer;
  CacheObject* cache = nullptr;       // the cache of `layer`
  std::vector<SequenceId> sequences;  // its sequences
};

// (B, L, E), or (L, E) as a batch of one.
class LayerTensors {
 public:
  // No key (none) is the query, no value the key. ValueError for a query of
  // another rank.
  LayerTensors(nb::handle query, nb::handle key, nb::handle value,
               std::string_view operation);

  const ArrayArgument& query() const { return query_; }
  bool batched() const { return query_.rank() == 3; }
  template <class T>
  TensorView<const T, 3> query_view() const {
    return view_of<T>(query_, "(B, Lq, query_dim)", "(Lq, query_dim)");
  }
  template <class T>
  TensorView<const T, 3> key_view() const {
    return view_of<T>(key_, "(B, Lkv, kdim)", "(Lkv, kdim)");
  }
  template <class T>
  TensorView<const T, 3> value_view() const {
    return view_of<T>(value_, "(B, Lkv, vdim)", "(Lkv, vdim)");
  }
  // Of `out`, an array for the output.
  template <class T>
  TensorView<T, 3> output_view(const ArrayArgument& out) const {
    return batched()
               ? out.writable_view<T, 3>("(B, Lq, embed_dim)")
               : as_batch_of_one(out.writable_view<T, 2>("(Lq, embed_dim)"));
  }
  // ValueError if memory of one of them is gone.
  void expect_in_place() const;

 private:
  template <class T>
  TensorView<const T, 3> view_of(const ArrayArgument& array,
                                 std::string_view axes,
                                 std::string_view unbatched_axes) const {
    return batched() ? array.view<T, 3>(axes)
                     : as_batch_of_one(array.view<T, 2>(unbatched_axes));
  }

  ArrayArgument query_, key_, value_;
};

// A tensor for Python, of the library of `like`. Without its axis of batches
// unless `batched`.
template <class T, std::size_t Rank>
nb::object layer_array(const ArrayArgument& like, Tensor<T, Rank> tensor,
                       bool batched) {
  if constexpr (Rank > 1) {
    if (!batched && tensor.extent(0) == 1) {
      return layer_array(like, std::move(tensor).without_batch(), true);
    }
  }
  if constexpr (std::is_same_v<T, float>) {
    return NewArray(like, std::move(tensor)).object();
  } else {  // NumPy takes no memory of bfloat16
    NewArray copy(like, DTypeOf<T>::value, tensor.extents());
    std::copy_n(tensor.data(), tensor.size(), static_cast<T*>(copy.data()));
    return std::move(copy).object();
  }
}

// The output, or an AttentionResult if `options` ask for more.
template <class T>
nb::object layer_result(MultiHeadAttentionResult<3, T> result,
                        const LayerTensors& tensors,
                        const LayerCallOptions& options);

}  // namespace headwise::python
