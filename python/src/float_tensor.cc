#include "float_tensor.h"

#include <string>
#include <type_traits>

#include "call_tensors.h"
#include "error.h"

namespace headwise::python {
namespace {

template <class T>
Tensor<float, 4> widened_copy(TensorView<const T, 4> from) {
  auto to = value_of(Tensor<float, 4>::create(from.extents()));
  for (std::size_t b = 0; b < from.extent(0); ++b) {
    for (std::size_t i = 0; i < from.extent(1); ++i) {
      for (std::size_t h = 0; h < from.extent(2); ++h) {
        for (std::size_t d = 0; d < from.extent(3); ++d) {
          to(b, i, h, d) = widened(from(b, i, h, d));
        }
      }
    }
  }
  return to;
}

}  // namespace

FloatTensor::FloatTensor(nb::handle array, ArgumentName name,
                         std::string_view axes)
    : array_(array, name) {
  const bool batched = array_.rank() != 3;
  with_element_type(array_, [&]<class T>(T) {
    const TensorView<const T, 4> given = call_view<T>(array_, batched, axes);
    if constexpr (std::is_same_v<T, float>) {
      view_ = given;
    } else {
      widened_ = widened_copy(given);
      view_ = widened_;
    }
  });
}

}  // namespace headwise::python
