#include "past_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "operation/option_errors.h"
#include "operation/read_tensor.h"

namespace headwise::cli {
namespace {

// The new keys or values, which the past ones must fit.
struct Beside {
  std::string_view option;
  const Array& array;  // with an axis B
  std::string_view size;
};

// The tensor of `file`, which has the other's axes but for the tokens.
Result<Tensor<float, 4>> read_past(const FileOption& file, const Beside& other,
                                   const RunFlags& flags, bool batched) {
  HEADWISE_ASSIGN(auto array, read_file_of(file.option, file.path));
  if (array.dtype != other.array.dtype) {
    return option_error(
        file.option, message("holds {} elements", name_of(array.dtype)),
        message("{}, as {} has", name_of(other.array.dtype), other.option),
        ErrorCode::bad_data);
  }
  const std::vector<std::size_t> given = array.shape;
  if (!batched) {
    add_batch_axis(array);
  }
  const std::size_t length = flags.heads_first() ? 2 : 1;
  std::vector<std::size_t> expected = other.array.shape;
  if (array.shape.size() == expected.size()) {
    expected[length] = array.shape[length];
  }
  if (array.shape != expected) {
    const std::string axes = flags.heads_first()
                                 ? fmt::format("Hkv, P, {}", other.size)
                                 : fmt::format("P, Hkv, {}", other.size);
    return option_error(
        file.option,
        message("has shape {}", fmt::format("({})", fmt::join(given, ", "))),
        message("({}), for P tokens the shape of {}",
                fmt::format("{}{}", batched ? "B, " : "", axes), other.option),
        ErrorCode::shape_mismatch);
  }
  HEADWISE_ASSIGN(auto tensor, tensor_of<float, 4>(file, array));
  round_to(flags.dtype, tensor.elements());
  return tensor;
}

// `past` and then `now` along the axis of tokens.
Result<Tensor<float, 4>> joined_one(const Tensor<float, 4>& past,
                                    const Tensor<float, 4>& now,
                                    bool heads_first) {
  const std::size_t axis = heads_first ? 2 : 1;
  Extents<4> extents = now.extents();
  extents[axis] += past.extent(axis);
  HEADWISE_ASSIGN(auto all, Tensor<float, 4>::create_unset(extents));
  // What lies in front of the axis is repeated, what lies behind it is moved
  // in one piece.
  const std::size_t repeats =
      heads_first ? extents[0] * extents[1] : extents[0];
  float* to = all.data();
  for (std::size_t n = 0; n < repeats; ++n) {
    for (const Tensor<float, 4>* part : {&past, &now}) {
      const std::size_t count = part->size() / repeats;
      to = std::copy_n(part->data() + n * count, count, to);
    }
  }
  return all;
}

}  // namespace

Result<PastInputs> PastInputs::read(const RunFlags& flags,
                                    const InputArrays& arrays) {
  PastInputs past;
  if (flags.past_key.empty()) {
    return past;
  }
  HEADWISE_ASSIGN(auto key,
                  read_past({"--past-key", flags.past_key},
                            {"--key", arrays.key, "D"}, flags, arrays.batched));
  HEADWISE_ASSIGN(auto value, read_past({"--past-value", flags.past_value},
                                        {"--value", arrays.value, "Dv"}, flags,
                                        arrays.batched));
  const std::size_t axis = flags.heads_first() ? 2 : 1;
  if (key.extent(axis) != value.extent(axis)) {
    return option_error("--past-value",
                        message("has {} tokens", value.extent(axis)),
                        message("{}, as --past-key has", key.extent(axis)),
                        ErrorCode::shape_mismatch);
  }
  past.given_ = true;
  past.length_ = key.extent(axis);
  past.key_ = std::move(key);
  past.value_ = std::move(value);
  return past;
}

Result<Operands<float, 4>> PastInputs::joined(const RunFlags& flags,
                                              Operands<float, 4> now) const {
  if (!given_) {
    return now;
  }
  return operands_of(Result<Tensor<float, 4>>(std::move(now.query)),
                     joined_one(key_, now.key, flags.heads_first()),
                     joined_one(value_, now.value, flags.heads_first()));
}

}  // namespace headwise::cli
