#include <algorithm>
#include <array>
#include <span>
#include <variant>

#include "interop/json_fields.h"
#include "interop/json_leaves.h"
#include "models/model_files.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// A setting that is computed with one value only.
struct FixedSetting {
  std::string_view path;
  std::string_view value;
};

constexpr std::array kFixedOfTransformer = {
    FixedSetting{"transformer_task", "feature-extraction"},
    FixedSetting{"module_output_name", "token_embeddings"},
    FixedSetting{"modality_config.text.method", "forward"},
    FixedSetting{"modality_config.text.method_output_name",
                 "last_hidden_state"},
    FixedSetting{"processing_kwargs.text.truncation", "true"}};
constexpr std::array kFixedOfNormalize = {
    FixedSetting{"module_input_name", "sentence_embedding"},
    FixedSetting{"module_output_name", "sentence_embedding"}};

// Arguments of the tokenizer and of the model: each may change the ids or what
// is computed from them, except those that only say where to find files.
constexpr auto kArguments = std::to_array<std::string_view>(
    {"processing_kwargs", "processor_kwargs", "tokenizer_args", "config_args",
     "config_kwargs"});
constexpr auto kHarmless = std::to_array<std::string_view>(
    {"padding", "return_tensors", "trust_remote_code", "cache_dir", "revision",
     "local_files_only", "token"});

template <class Names>
bool is_among(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Status check_fixed(std::string_view text, const FileSubject& subject,
                   std::span<const FixedSetting> settings) {
  const auto check = [&](const JsonPath& path, const JsonLeaf& value) {
    if (std::holds_alternative<std::monostate>(value)) {
      return ok();
    }
    const std::string name = path_text(path);
    const std::string given = leaf_text(value);
    const auto refused = [&](std::string_view expected) {
      return Status(subject.of_entry(name).error(ErrorCode::unsupported,
                                                 message("is {}", given),
                                                 std::string(expected)));
    };
    const auto fixed = std::ranges::find(settings, name, &FixedSetting::path);
    if (fixed != settings.end()) {
      return given == fixed->value ? ok() : refused(fixed->value);
    }
    return is_among(kArguments, path[0]) && !is_among(kHarmless, path.back())
               ? refused("a file without this setting")
               : ok();
  };
  return visit_json_leaves(text, subject, check);
}

}  // namespace

Status check_transformer(std::string_view text, const FileSubject& subject) {
  return check_fixed(text, subject, kFixedOfTransformer);
}

Status check_normalize(std::string_view text, const FileSubject& subject) {
  return check_fixed(text, subject, kFixedOfNormalize);
}

Result<SentenceSettings> parse_sentence_transformers(
    std::string_view text, const FileSubject& subject) {
  constexpr std::string_view kDefault = "default_prompt_name";
  constexpr std::string_view kTruncate = "truncate_dim";
  constexpr std::array kKeys = {kDefault, kTruncate};
  constexpr SizeRange kSizes = {1, std::size_t{1} << 31};
  HEADWISE_ASSIGN(const auto fields, JsonFields::parse(text, subject, kKeys));
  SentenceSettings settings;
  HEADWISE_TRY(visit_json_leaves(
      text, subject, [&](const JsonPath& path, const JsonLeaf& value) {
        const auto* const prompt = std::get_if<std::string>(&value);
        if (path[0] != "prompts") {
          return ok();
        }
        if (path.size() != 2 || prompt == nullptr) {
          return Status(subject.of_entry(path_text(path))
                            .error(ErrorCode::bad_data,
                                   message("is {}", leaf_text(value)),
                                   "a text"));
        }
        settings.prompts.emplace(path[1], *prompt);
        return ok();
      }));
  HEADWISE_TRY(fields.get(kDefault, settings.default_prompt));
  if (!settings.default_prompt.empty() &&
      !settings.prompts.contains(settings.default_prompt)) {
    return fields.unexpected(kDefault, "the name of one of the prompts");
  }
  if (fields.has(kTruncate)) {
    std::size_t size = 0;
    HEADWISE_TRY(fields.get(kTruncate, kSizes, size));
    settings.truncate_dim = size;
  }
  return settings;
}

}  // namespace headwise::inline HEADWISE_ABI
