// TensorScatter, opset 24: new keys or values written into a cache of fixed
// length, from write_indices of each sequence on. In the mode "circular" slots
// count modulo the length of the cache.
#include <cstdint>
#include <cstring>
#include <string>

#include "base/check.h"
#include "onnx/node_memory.h"
#include "onnx/numbers.h"
#include "onnx/operators.h"
#include "onnx/shown_text.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

struct ScatterSizes {
  std::size_t axis = 0;
  std::size_t slots = 0;   // of the cache, along the axis
  std::size_t tokens = 0;  // of the update
  std::size_t outer = 1;   // rows of one sequence before the axis
  std::size_t inner = 1;   // bytes behind it
};

Result<ScatterSizes> scatter_sizes(const NodeCall& node) {
  const Array& cache = node.in(0);
  const Array& update = node.in(1);
  HEADWISE_TRY(check_same_type(node));
  ScatterSizes sizes;
  HEADWISE_ASSIGN(const auto axis, node.axis("axis", -2, cache.shape.size()));
  if (axis == 0) {
    return node.attribute("axis").bad_data("is the axis of sequences",
                                           "an axis behind it");
  }
  sizes.axis = axis;
  std::vector<std::size_t> expected = cache.shape;
  if (update.shape.size() == expected.size()) {
    expected[sizes.axis] = update.shape[sizes.axis];
  }
  if (update.shape != expected ||
      expected[sizes.axis] > cache.shape[sizes.axis]) {
    return node.wrong_shape(
        1, message("no more than {}", shape_text(cache.shape)));
  }
  sizes.slots = cache.shape[sizes.axis];
  sizes.tokens = update.shape[sizes.axis];
  sizes.inner = size_of(cache.dtype);
  for (std::size_t i = 1; i < cache.shape.size(); ++i) {
    if (i < sizes.axis) {
      sizes.outer *= cache.shape[i];
    } else if (i > sizes.axis) {
      sizes.inner *= cache.shape[i];
    }
  }
  return sizes;
}

// Where the tokens of each sequence begin.
Result<std::vector<std::int64_t>> first_slots(const NodeCall& node,
                                              const ScatterSizes& sizes,
                                              bool circular) {
  const std::size_t batch = node.in(0).shape[0];
  if (!node.has(2)) {
    return NodeMemory::numbers<std::int64_t>(batch);
  }
  HEADWISE_TRY(check_type(node, 2, DType::int64));
  HEADWISE_TRY(check_shape_of(node, 2, {batch}));
  auto slots = integers_of(node.in(2));
  const auto most = static_cast<std::int64_t>(sizes.slots - sizes.tokens);
  for (std::int64_t& slot : slots) {
    if (slot < 0 || (!circular && slot > most)) {
      return node.input(2).error(
          ErrorCode::out_of_range, message("has {}", slot),
          circular ? "at least 0" : message("0 to {}", most));
    }
    if (circular && sizes.slots > 0) {
      slot %= static_cast<std::int64_t>(sizes.slots);
    }
  }
  return slots;
}

}  // namespace

Result<Outputs> run_tensor_scatter(const NodeCall& node) {
  HEADWISE_ASSIGN(const auto mode, node.text("mode", "linear"));
  if (mode != "linear" && mode != "circular") {
    return node.attribute("mode").bad_data(message("is {}", shown(mode)),
                                           "linear or circular");
  }
  HEADWISE_ASSIGN(const auto sizes, scatter_sizes(node));
  HEADWISE_ASSIGN(const auto slots,
                  first_slots(node, sizes, mode == "circular"));
  HEADWISE_ASSIGN(auto copied, copy_of(node.in(0), node.in(0).shape));
  Array& present = copied;
  const std::byte* from = node.in(1).data.data();
  for (std::size_t b = 0; b < slots.size(); ++b) {
    for (std::size_t row = 0; row < sizes.outer; ++row) {
      for (std::size_t t = 0; t < sizes.tokens && sizes.inner > 0; ++t) {
        const std::size_t slot =
            (static_cast<std::size_t>(slots[b]) + t) % sizes.slots;
        std::byte* to =
            present.data.data() +
            ((b * sizes.outer + row) * sizes.slots + slot) * sizes.inner;
        std::memcpy(to, from, sizes.inner);
        from += sizes.inner;
      }
    }
  }
  return one(std::move(copied));
}

}  // namespace headwise::inline HEADWISE_ABI
