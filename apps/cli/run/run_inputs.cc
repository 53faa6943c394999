#include "run_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "headwise/base/checked_product.h"
#include "operation/option_errors.h"
#include "operation/read_axes.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

std::string_view axes_of(const RunFlags& flags) {
  if (flags.is_layer()) {
    return flags.ragged() ? "(rows, E)" : "(B, L, E) or (L, E)";
  }
  if (flags.ragged()) {
    return flags.heads_first() ? "(H, rows, D)" : "(rows, H, D)";
  }
  return flags.heads_first() ? "(B, H, L, D) or (H, L, D)"
                             : "(B, L, H, D) or (L, H, D)";
}

// The shape that the file has.
std::vector<std::size_t> given_shape(const InputArrays& arrays,
                                     const Array& array) {
  std::vector<std::size_t> given = array.shape;
  if (!arrays.batched) {
    given.erase(given.begin());
  }
  return given;
}

// `axes` names those after B, `expected` has it.
Status check(const InputArrays& arrays, std::string_view name,
             const Array& array, std::vector<std::size_t> expected,
             std::string_view axes, Message hint = {}) {
  if (array.shape == expected) {
    return ok();
  }
  const std::vector<std::size_t> given = given_shape(arrays, array);
  if (!arrays.batched) {
    expected.erase(expected.begin());
  }
  return Error{
      ErrorCode::shape_mismatch,
      {.argument = std::string(name),
       .given =
           message("has shape {}", fmt::format("({})", fmt::join(given, ", "))),
       .expected = fmt::format("({}{}) = ({})", arrays.batched ? "B, " : "",
                               axes, fmt::join(expected, ", ")),
       .hint = std::move(hint)}};
}

constexpr const char* kOwnOffsets =
    "without --query-offsets it has as many rows as --query";

// Queries and keys that are cut by the same offsets have as many rows.
bool shares_rows(const RunFlags& flags) {
  return flags.ragged() && flags.operation.query_offsets.empty();
}

// Whether each rank may need only its own rows. A cache and a rotation start
// from whole tensors, except that a layer rotates its own.
bool ranks_read_rows(const RunFlags& flags) {
  return flags.parallel.given() && !flags.cache.given() &&
         flags.past_key.empty() && flags.present_dir.empty() &&
         (flags.is_layer() || flags.rotary.asked_for().empty());
}

Result<InputArrays> read_whole_tensor(const RunFlags& flags) {
  HEADWISE_ASSIGN(auto query, read_file_of("--query", flags.query));
  HEADWISE_ASSIGN(auto key, read_file_of("--key", flags.key));
  HEADWISE_ASSIGN(auto value, read_file_of("--value", flags.value));
  return InputArrays{std::move(query), std::move(key), std::move(value)};
}

Result<InputArrays> open_inputs(const RunFlags& flags) {
  HEADWISE_ASSIGN(auto query, TensorFile::open("--query", flags.query));
  HEADWISE_ASSIGN(auto key, TensorFile::open("--key", flags.key));
  HEADWISE_ASSIGN(auto value, TensorFile::open("--value", flags.value));
  const auto header = [](const TensorFile& file) {
    return Array{file.dtype(), file.shape(), {}};
  };
  InputArrays arrays{header(query), header(key), header(value)};
  arrays.files = InputFiles{std::move(query), std::move(key), std::move(value)};
  return arrays;
}

Status read_elements(const TensorFile& file, Array& array) {
  // TensorFile::open() has checked that the bytes fit in size_t.
  array.data.resize(*checked_product(array.shape) * size_of(array.dtype));
  return file.read(0, array.data);
}

// Whether the tensors fit together in that layout.
Status check_heads(const RunFlags& flags, const InputArrays& arrays,
                   bool heads_first) {
  const std::size_t heads = heads_first ? 1 : 2;
  const std::size_t length = heads_first ? 2 : 1;
  const auto& query = arrays.query.shape;
  const auto& key = arrays.key.shape;
  const auto& value = arrays.value.shape;
  const auto axes = [&](std::string_view size) {
    const std::string_view rows = flags.ragged() ? "rows" : "Lkv";
    return heads_first ? fmt::format("Hkv, {}, {}", rows, size)
                       : fmt::format("{}, Hkv, {}", rows, size);
  };
  std::vector<std::size_t> expected = key;
  expected[0] = query[0];
  expected[3] = query[3];
  std::string hint;
  if (shares_rows(flags) && key[length] != query[length]) {
    expected[length] = query[length];
    hint = kOwnOffsets;
  }
  HEADWISE_TRY(
      check(arrays, "--key", arrays.key, expected, axes("D"), std::move(hint)));
  expected[3] = value[3];
  HEADWISE_TRY(check(arrays, "--value", arrays.value, expected, axes("Dv")));
  for (const auto& [name, array, size] :
       {std::tuple("--query", &arrays.query, "D"),
        {"--value", &arrays.value, "Dv"}}) {
    if (array->shape[3] == 0) {
      return option_error(
          name,
          message("has shape {}",
                  fmt::format("({})",
                              fmt::join(given_shape(arrays, *array), ", "))),
          message("{} of at least 1", size), ErrorCode::shape_mismatch);
    }
  }
  if (key[heads] == 0 || query[heads] % key[heads] != 0) {
    return option_error("--query", message("has {} heads", query[heads]),
                        message("a multiple of the {} of --key", key[heads]),
                        ErrorCode::shape_mismatch);
  }
  return ok();
}

}  // namespace

Result<InputArrays> read_inputs(const RunFlags& flags) {
  HEADWISE_ASSIGN(auto arrays, ranks_read_rows(flags)
                                   ? open_inputs(flags)
                                   : read_whole_tensor(flags));
  const std::size_t batched_rank = flags.is_layer() ? 3 : 4;
  const std::size_t rank = arrays.query.shape.size();
  const bool batched = rank == batched_rank && !flags.ragged();
  for (const auto& [name, array] : {std::pair{"--query", &arrays.query},
                                    {"--key", &arrays.key},
                                    {"--value", &arrays.value}}) {
    if (array->shape.size() != rank || (!batched && rank + 1 != batched_rank)) {
      return Error{
          ErrorCode::shape_mismatch,
          {.argument = name,
           .given = message("has shape {}",
                            fmt::format("({})", fmt::join(array->shape, ", "))),
           .expected = message("{}, the same for --query, --key and --value",
                               Message(axes_of(flags))),
           .hint = flags.ragged() ? "tensors of --offsets have no batch axis"
                                  : ""}};
    }
    if (!batched) {
      array->shape.insert(array->shape.begin(), 1);
    }
  }
  arrays.batched = batched;
  return arrays;
}

Result<InputArrays> with_elements(const InputArrays& headers) {
  InputArrays whole{headers.query, headers.key, headers.value, headers.batched};
  HEADWISE_TRY(read_elements(headers.files->query, whole.query));
  HEADWISE_TRY(read_elements(headers.files->key, whole.key));
  HEADWISE_TRY(read_elements(headers.files->value, whole.value));
  return whole;
}

std::string read_axes_of(const RunFlags& flags, const InputArrays& arrays) {
  std::string text;
  for (const auto& [name, array] : {std::pair{"query", &arrays.query},
                                    {"key", &arrays.key},
                                    {"value", &arrays.value}}) {
    text += read_axes(name, given_shape(arrays, *array), flags.heads_first(),
                      flags.ragged());
  }
  return text;
}

Status check_inputs(const RunFlags& flags, const InputArrays& arrays) {
  return check_layout(flags.heads_first(), [&](bool heads_first) {
    return check_heads(flags, arrays, heads_first);
  });
}

Status check_layer_inputs(const RunFlags& flags, const InputArrays& arrays,
                          const MultiHeadAttentionConfig& config) {
  const auto& query = arrays.query.shape;
  const auto& key = arrays.key.shape;
  const bool ragged = flags.ragged();
  HEADWISE_TRY(check(arrays, "--query", arrays.query,
                     {query[0], query[1], *config.query_dim},
                     ragged ? "rows, query_dim" : "Lq, query_dim"));
  const bool other_rows = shares_rows(flags) && key[1] != query[1];
  const std::size_t keys = other_rows ? query[1] : key[1];
  HEADWISE_TRY(check(
      arrays, "--key", arrays.key, {query[0], keys, *config.kdim},
      ragged ? "rows, kdim" : "Lkv, kdim", other_rows ? kOwnOffsets : ""));
  return check(arrays, "--value", arrays.value, {query[0], keys, *config.vdim},
               ragged ? "rows, vdim" : "Lkv, vdim");
}

}  // namespace headwise::cli
