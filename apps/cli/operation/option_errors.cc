#include "option_errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

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

const std::vector<ArgumentOption>& known_arguments() {
  static const std::vector<ArgumentOption> known = [] {
    OperationFlags none;
    auto arguments = arguments_of(all_operation_options(none));
    // Of commands of their own.
    arguments.insert(arguments.end(),
                     {{"device", "--device"},
                      {"statistics.query_lengths", "--query-lengths"},
                      {"statistics.separators", "--separators"}});
    return arguments;
  }();
  return known;
}

}  // namespace

Error in_option_words(const Error& error, const OperationFlags& flags) {
  ErrorDetails details = error.details();
  const ArgumentOption* const row =
      option_of(details.argument, known_arguments());
  if (row == nullptr) {
    return error;
  }
  // Documents of the keys are the queries' too, unless those have their own.
  const bool shared_ids = row->argument == "mask.documents.query_ids" &&
                          flags.query_documents.empty();
  details.operation.clear();
  const std::string option = shared_ids ? "--documents" : row->option;
  details.argument.replace(0, row->argument.size(), option);
  const Message& expected = details.expected;
  if (expected.form() == "{} = {} or more") {  // "offsets[1] = 3 or more"
    std::string place = expected.values()[0].text();
    if (begins_path(row->argument, place)) {
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
  HEADWISE_ASSIGN(const auto file, open_safetensors(path));
  HEADWISE_ASSIGN(const auto name, name_of_tensor(file, option, path));
  return file.array(name);
}

}  // namespace

Result<Array> read_file_of(std::string_view option, const std::string& path) {
  auto array = path.ends_with(".safetensors") ? read_tensor_of(option, path)
                                              : read_npy(path);
  return array ? std::move(array) : error_of_option(option, array.error());
}

}  // namespace headwise::cli
