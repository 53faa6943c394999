#include "option_errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "headwise/interop/npy.h"
#include "headwise/interop/safetensors.h"
#include "shell/error_of_option.h"
#include "shell/outcome.h"
#include "tensor_name.h"

namespace headwise::cli {

Error bad_option(std::string_view option, std::string_view given,
                 Message expected) {
  return option_error(option, message("is {}", given), std::move(expected));
}

Error wrong_rank(std::string_view option, const Array& array,
                 Message expected) {
  return option_error(option,
                      message("has shape ({})",
                              fmt::format("{}", fmt::join(array.shape, ", "))),
                      std::move(expected), ErrorCode::shape_mismatch);
}

namespace {

// An argument of the library, as a path of its members, and the option that
// gives it. The longest path that fits is taken.
struct ArgumentOption {
  std::string_view argument;
  std::string_view option;
};
constexpr auto kOptions = std::to_array<ArgumentOption>(
    {{"added_keys.bias_k", "--bias-k"},
     {"added_keys.bias_v", "--bias-v"},
     {"alibi", "--alibi"},
     {"arithmetic", "--arithmetic"},
     {"bias", "--bias"},
     {"device", "--device"},
     {"dropout.keep_mask", "--keep-mask"},
     {"dropout.p", "--dropout"},
     {"dropout.sequence_ids", "--sequence-ids"},
     {"empty_rows", "--empty-rows"},
     {"mask", "--mask"},
     {"mask.documents.key_ids", "--documents"},
     {"mask.documents.query_ids", "--query-documents"},
     {"mask.key_lengths", "--key-lengths"},
     {"mask.key_padding", "--key-padding"},
     {"mask.key_starts", "--key-starts"},
     {"mask.window", "--window"},
     {"offsets", "--offsets"},
     {"offsets.key", "--offsets"},
     {"offsets.query", "--query-offsets"},
     {"query_start", "--query-start"},
     {"scale", "--scale"},
     {"score_weight", "--score-weight"},
     {"sinks", "--sinks"},
     {"softcap", "--softcap"},
     {"statistics.query_lengths", "--query-lengths"},
     {"statistics.separators", "--separators"},
     {"t5_bias.max_distance", "--t5-max-distance"},
     {"t5_bias.table", "--t5-bias"}});

// "mask.window" is the beginning of "mask.window.left", not of "mask.windows".
bool begins(std::string_view part, std::string_view path) {
  return path.starts_with(part) &&
         (path.size() == part.size() || path[part.size()] == '.' ||
          path[part.size()] == '[');
}

const ArgumentOption* option_of_argument(std::string_view argument) {
  const ArgumentOption* found = nullptr;
  for (const ArgumentOption& row : kOptions) {
    if (begins(row.argument, argument) &&
        (found == nullptr || row.argument.size() > found->argument.size())) {
      found = &row;
    }
  }
  return found;
}

}  // namespace

Error in_option_words(const Error& error, const OperationFlags& flags) {
  ErrorDetails details = error.details();
  const ArgumentOption* const row = option_of_argument(details.argument);
  if (row == nullptr) {
    return error;
  }
  // Documents of the keys are the queries' too, unless those have their own.
  const bool shared_ids = row->argument == "mask.documents.query_ids" &&
                          flags.query_documents.empty();
  details.operation.clear();
  const std::string_view option = shared_ids ? "--documents" : row->option;
  details.argument.replace(0, row->argument.size(), option);
  const Message& expected = details.expected;
  if (expected.form() == "{} = {} or more") {  // "offsets[1] = 3 or more"
    std::string place = expected.values()[0].text();
    if (begins(row->argument, place)) {
      place.replace(0, row->argument.size(), option);
      details.expected = message(expected.form(), place, expected.values()[1]);
    }
  }
  if (shared_ids && error.code() == ErrorCode::shape_mismatch) {
    details.hint = "--query-documents gives the queries other ids";
  }
  // What was typed itself has been checked; this came out of files.
  return {error.code() == ErrorCode::invalid_argument ? ErrorCode::bad_data
                                                      : error.code(),
          std::move(details)};
}

namespace {

Result<Array> read_tensor_of(std::string_view option, const std::string& path) {
  const auto file = open_safetensors(path);
  HEADWISE_TRY(file);
  const auto name = name_of_tensor(*file, option, path);
  HEADWISE_TRY(name);
  return file->array(*name);
}

}  // namespace

Result<Array> read_file_of(std::string_view option, const std::string& path) {
  auto array = path.ends_with(".safetensors") ? read_tensor_of(option, path)
                                              : read_npy(path);
  return array ? std::move(array) : error_of_option(option, array.error());
}

}  // namespace headwise::cli
