#include "option_errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "headwise/interop/npy.h"

namespace headwise::cli {

Error bad_option(std::string_view option, const std::string& given,
                 std::string_view expected) {
  return {ErrorCode::invalid_argument,
          fmt::format("{} is {}, expected {}", option, given, expected)};
}

Error wrong_rank(std::string_view option, const Array& array,
                 std::string_view expected) {
  return {ErrorCode::shape_mismatch,
          fmt::format("{} has shape ({}), expected {}", option,
                      fmt::join(array.shape, ", "), expected)};
}

Error in_option_words(const Error& error, const OperationFlags& flags) {
  const bool own_ids = !flags.query_documents.empty();
  const std::map<std::string_view, std::string_view> options = {
      {"alibi", "--alibi"},
      {"bias", "--bias"},
      {"documents.key_ids", "--documents"},
      {"documents.query_ids", own_ids ? "--query-documents" : "--documents"},
      {"dropout.keep_mask", "--keep-mask"},
      {"dropout.sequence_ids", "--sequence-ids"},
      {"key_lengths", "--key-lengths"},
      {"key_padding", "--key-padding"},
      {"key_starts", "--key-starts"},
      {"mask", "--mask"},
      {"offsets", "--offsets"},
      {"offsets.key", "--offsets"},
      {"offsets.query", "--query-offsets"},
      {"query_start", "--query-start"},
      {"scale", "--scale"},
      {"score_weight", "--score-weight"},
      {"statistics.query_lengths", "--query-lengths"},
      {"statistics.separators", "--separators"}};
  ErrorDetails said = error.details();
  // "key_lengths[0]"
  const std::string name =
      said.argument.substr(0, said.argument.find_first_of(" ["));
  const auto option = options.find(name);
  if (option == options.end()) {
    return error;
  }
  said.operation.clear();
  said.argument.replace(0, name.size(), option->second);
  if (name == "documents.query_ids" && !own_ids &&
      error.code() == ErrorCode::shape_mismatch) {
    said.expected += "; --query-documents gives the queries other ids";
  }
  return {error.code(), std::move(said)};
}

Result<Array> read_file_of(std::string_view option, const std::string& path) {
  auto array = read_npy(path);
  if (!array) {
    const std::string& what = array.error().message();
    const std::string_view reader = "read_npy: ";
    return Error{
        array.error().code(),
        fmt::format("{}: {}", option,
                    what.substr(what.starts_with(reader) ? reader.size() : 0))};
  }
  return array;
}

}  // namespace headwise::cli
