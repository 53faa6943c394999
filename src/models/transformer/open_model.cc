#include "transformer/open_model.h"

#include <string_view>
#include <utility>

#include "interop/find_params.h"
#include "interop/input_file.h"
#include "interop/json_part.h"
#include "interop/read_bytes.h"
#include "transformer/describe_gguf.h"
#include "transformer/families.h"
#include "transformer/pruned_stack.h"
#include "transformer/tensor_reader.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

// Of config.json: what becomes of it in memory is some 30 times as much.
constexpr std::size_t kMostBytes = std::size_t{1} << 22U;

}  // namespace

Result<Description> describe_text(std::string_view text,
                                  const FileSubject& subject) {
  constexpr std::size_t kDeepest = 20;
  const auto json = Json::parse(text, kMostBytes, kDeepest);
  if (!json || !json->is_object()) {
    return subject.bad_data("is not a JSON object");
  }
  HEADWISE_ASSIGN(auto description, describe_model({&*json, subject, ""}));
  HEADWISE_TRY(take_pruned_heads(text, subject, description.reading()));
  return description;
}

Result<Description> describe_folder(const std::string& path) {
  HEADWISE_ASSIGN(auto settings, internal::InputFile::open(
                                     kReadTransformer, path + "/config.json"));
  HEADWISE_ASSIGN(const auto bytes, read_at_most(settings, kMostBytes));
  return describe_text(text_of(bytes), settings.subject());
}

Result<OpenModel> open_model(const std::string& path, FileAccess access) {
  if (path.ends_with(".gguf")) {
    HEADWISE_ASSIGN(auto file, ParamFile::open(kReadTransformer, path, access));
    HEADWISE_ASSIGN(auto description, describe_gguf(file));
    return OpenModel{std::move(description), std::move(file)};
  }
  HEADWISE_ASSIGN(auto description, describe_folder(path));
  HEADWISE_ASSIGN(const auto params, find_params(kReadTransformer, path));
  HEADWISE_ASSIGN(auto file, ParamFile::open(kReadTransformer, params, access));
  HEADWISE_TRY(take_kept_heads(file.metadata(),
                               {std::string(kReadTransformer), params},
                               description.reading()));
  return OpenModel{std::move(description), std::move(file)};
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
