// The families of models: each turns its settings into a description.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "interop/json_part.h"
#include "transformer/description.h"

namespace headwise::inline HEADWISE_ABI::transformer {

// Of a layer, and of the features of one.
inline constexpr std::size_t kMostHeads = std::size_t{1} << 16U;

struct Family {
  std::string_view model_type;
  // `config`: config.json. Errors: bad_data, unsupported.
  Result<Description> (*describe)(const JsonPart& config);
};

// Of one file each.
extern const std::span<const Family> kLlamaFamilies;
extern const std::span<const Family> kGemmaFamilies;
extern const std::span<const Family> kGpt2Families;
extern const std::span<const Family> kGptNeoxFamilies;
extern const std::span<const Family> kBertFamilies;
extern const std::span<const Family> kModernBertFamilies;
extern const std::span<const Family> kDebertaFamilies;
extern const std::span<const Family> kT5Families;
extern const std::span<const Family> kBartFamilies;
extern const std::span<const Family> kCausalFamilies;

// The description of a model, by its model_type.
Result<Description> describe_model(const JsonPart& config);

}  // namespace headwise::inline HEADWISE_ABI::transformer
