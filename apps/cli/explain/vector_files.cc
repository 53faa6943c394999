#include "vector_files.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "operation/read_tensor.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

// (B, L, E); (L, E) is a batch of one, `batched` says which all files have.
Result<Tensor<float, 3>> read_vectors(const FileOption& file,
                                      std::optional<bool>& batched) {
  auto array = read_file_of(file.option, file.path);
  HEADWISE_TRY(array);
  const std::size_t rank = array->shape.size();
  if ((rank != 2 && rank != 3) || batched.value_or(rank == 3) != (rank == 3)) {
    return wrong_rank(file.option, *array,
                      !batched   ? "(B, L, E) or (L, E)"
                      : *batched ? "(B, L, E), as --query has it"
                                 : "(L, E), as --query has it");
  }
  batched = rank == 3;
  if (rank == 2) {
    add_batch_axis(*array);
  }
  return tensor_of<float, 3>(file, *array);
}

Status check_vectors(const Vectors& vectors) {
  const auto& query = vectors.query.extents();
  const auto& key = vectors.key.extents();
  const auto& value = vectors.value.extents();
  for (const auto& [option, extents] :
       {std::pair("--key", &key), {"--value", &value}}) {
    if ((*extents)[0] != query[0]) {
      return option_error(option,
                          fmt::format("has {} sequences", (*extents)[0]),
                          fmt::format("the {} of --query", query[0]),
                          ErrorCode::shape_mismatch);
    }
  }
  return value[1] == key[1]
             ? ok()
             : Status(option_error("--value",
                                   fmt::format("has {} rows", value[1]),
                                   fmt::format("the {} of --key", key[1]),
                                   ErrorCode::shape_mismatch));
}

}  // namespace

Result<JobInput> from_vectors(const ExplainFlags& flags) {
  const std::string& key_file = flags.key.empty() ? flags.query : flags.key;
  const std::string& value_file = flags.value.empty() ? key_file : flags.value;
  std::optional<bool> batched;
  auto query = read_vectors({"--query", flags.query}, batched);
  HEADWISE_TRY(query);
  auto key = read_vectors({"--key", key_file}, batched);
  HEADWISE_TRY(key);
  auto value = read_vectors({"--value", value_file}, batched);
  HEADWISE_TRY(value);
  JobInput input;
  input.batched = *batched;
  input.embed_dim = query->extent(2);
  input.vectors =
      Vectors{*std::move(query), *std::move(key), *std::move(value)};
  HEADWISE_TRY(check_vectors(*input.vectors));
  return input;
}

}  // namespace headwise::cli
