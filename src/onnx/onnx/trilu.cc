// Trilu: the upper or the lower triangle of matrices, 0 elsewhere.
#include <algorithm>
#include <cstdint>

#include "onnx/numbers.h"
#include "onnx/operators.h"
#include "onnx/strided.h"

namespace headwise::inline HEADWISE_ABI {

Result<Outputs> run_trilu(const NodeCall& node) {
  const Array& x = node.in(0);
  const std::size_t rank = x.shape.size();
  if (rank < 2) {
    return node.wrong_shape(0, "at least 2 axes");
  }
  std::int64_t diagonal = 0;
  if (node.has(1)) {
    HEADWISE_TRY(check_type(node, 1, DType::int64));
    HEADWISE_TRY(check_one_element(node, 1));
    diagonal = integers_of(node.in(1)).front();
  }
  HEADWISE_ASSIGN(const auto upper, node.integer("upper", 1));
  HEADWISE_ASSIGN(auto result, gathered(x, x.shape, strides_of(x.shape)));
  const std::size_t item = size_of(x.dtype);
  std::byte* element = result.data.data();
  for (Odometer at(x.shape); !at.done(); at.next(), element += item) {
    const std::int64_t above = static_cast<std::int64_t>(at.index(rank - 1)) -
                               static_cast<std::int64_t>(at.index(rank - 2));
    if (upper != 0 ? above < diagonal : above > diagonal) {
      std::fill_n(element, item, std::byte{0});
    }
  }
  return one(std::move(result));
}

}  // namespace headwise::inline HEADWISE_ABI
