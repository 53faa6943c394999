#include <algorithm>
#include <array>

#include "interop/error_text.h"
#include "interop/json_fields.h"
#include "models/model_files.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// What newer files list under pooling_mode, and the switch of older files.
struct Mode {
  std::string_view name;
  std::string_view key;
  Pooling pooling;
};

// In the order that the poolings of older files have in the embedding.
constexpr std::array kModes = {
    Mode{"cls", "pooling_mode_cls_token", Pooling::cls},
    Mode{"max", "pooling_mode_max_tokens", Pooling::max},
    Mode{"mean", "pooling_mode_mean_tokens", Pooling::mean},
    Mode{"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens",
         Pooling::mean_sqrt_len},
    Mode{"weightedmean", "pooling_mode_weightedmean_tokens",
         Pooling::weighted_mean},
    Mode{"lasttoken", "pooling_mode_lasttoken", Pooling::last_token}};

constexpr std::string_view kModeKey = "pooling_mode";
constexpr std::string_view kPromptKey = "include_prompt";
constexpr std::string_view kMeanKey = kModes[2].key;
constexpr auto kSizeKeys = std::to_array<std::string_view>(
    {"word_embedding_dimension", "embedding_dimension"});
constexpr std::array kPoolingKeys = {
    kSizeKeys[0],  kSizeKeys[1],  kModeKey,      kModes[0].key, kModes[1].key,
    kModes[2].key, kModes[3].key, kModes[4].key, kModes[5].key, kPromptKey};

std::string all_names() {
  std::string names;
  for (const Mode& mode : kModes) {
    names.append(names.empty() ? "" : ", ").append(mode.name);
  }
  return names;
}

Status check_size(const JsonFields& fields, std::size_t hidden_size) {
  const auto expected = static_cast<double>(hidden_size);
  bool is_there = false;
  for (const std::string_view key : kSizeKeys) {
    double size = expected;
    HEADWISE_TRY(fields.get(key, size));
    if (size != expected) {
      return fields.unexpected(
          key, message("the model's hidden size = {}", hidden_size));
    }
    is_there = is_there || fields.has(key);
  }
  return is_there ? ok() : fields.fault(message("has no {}", kSizeKeys[0]));
}

// The list under pooling_mode, which newer files have.
Result<std::vector<Pooling>> listed(const JsonFields& fields) {
  std::vector<std::string> names;
  HEADWISE_TRY(fields.get(kModeKey, names));
  std::vector<Pooling> pooling;
  for (const std::string& name : names) {
    const auto mode = std::ranges::find(kModes, name, &Mode::name);
    if (mode == kModes.end()) {
      return fields.fault(
          message("has \"{}\" in pooling_mode", printable(name)), all_names(),
          ErrorCode::unsupported);
    }
    if (std::ranges::count(pooling, mode->pooling) > 0) {
      return fields.fault(message("has {} twice in pooling_mode", name));
    }
    pooling.push_back(mode->pooling);
  }
  if (pooling.empty()) {
    return fields.unexpected(kModeKey, all_names());
  }
  return pooling;
}

// The switches of older files. Where none is on, mean is, unless it is off.
Result<std::vector<Pooling>> switched_on(const JsonFields& fields) {
  std::vector<Pooling> pooling;
  for (const Mode& mode : kModes) {
    bool is_on = false;
    HEADWISE_TRY(fields.get(mode.key, is_on));
    if (is_on) {
      pooling.push_back(mode.pooling);
    }
  }
  if (pooling.empty() && fields.has(kMeanKey)) {
    return fields.fault("has no pooling switched on", all_names());
  }
  return pooling.empty() ? std::vector{Pooling::mean} : pooling;
}

}  // namespace

Result<PoolingSettings> parse_pooling(std::string_view text,
                                      const FileSubject& subject,
                                      std::size_t hidden_size) {
  HEADWISE_ASSIGN(const auto fields,
                  JsonFields::parse(text, subject, kPoolingKeys));
  HEADWISE_TRY(check_size(fields, hidden_size));
  PoolingSettings settings;
  HEADWISE_ASSIGN(settings.pooling,
                  fields.has(kModeKey) ? listed(fields) : switched_on(fields));
  HEADWISE_TRY(fields.get(kPromptKey, settings.includes_prompt));
  return settings;
}

}  // namespace headwise::inline HEADWISE_ABI
