#include <array>

#include "interop/folder.h"
#include "interop/json_fields.h"
#include "models/model_files.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr auto kModuleKeys = std::to_array<std::string_view>({"type", "path"});

// In the order that they must have. The last one may be missing.
constexpr auto kChain =
    std::to_array<std::string_view>({"Transformer", "Pooling", "Normalize"});
constexpr std::string_view kChainText =
    "Transformer, Pooling and perhaps Normalize";

// "Pooling" of "sentence_transformers.models.Pooling", and of what newer files
// write: "sentence_transformers.sentence_transformer.modules.pooling.Pooling".
// Nothing where the module is someone else's.
std::string_view class_of(std::string_view type) {
  return type.starts_with("sentence_transformers.")
             ? type.substr(type.rfind('.') + 1)
             : std::string_view{};
}

// The module's folder, which only the first module may not have.
Result<std::string> folder_of(const JsonFields& module, std::size_t n) {
  std::string path;
  HEADWISE_TRY(module.require("path", path));
  if (is_plain_name(path) || (n == 0 && path.empty())) {
    return path;
  }
  return module.unexpected("path", "the name of a folder, without a path");
}

}  // namespace

Result<SentenceModules> parse_sentence_modules(std::string_view text,
                                               const FileSubject& subject) {
  constexpr std::size_t kMost = 16;
  HEADWISE_ASSIGN(
      const auto modules,
      JsonFields::parse_list(text, subject, "module", kModuleKeys, kMost));
  std::array<std::string, kChain.size()> folders;
  for (std::size_t n = 0; n < modules.size(); ++n) {
    const JsonFields& module = modules[n];
    std::string type;
    HEADWISE_TRY(module.require("type", type));
    if (n >= kChain.size() || class_of(type) != kChain[n]) {
      return module.unexpected(
          "type",
          message("the modules {} of sentence_transformers in this order",
                  Message(kChainText)),
          ErrorCode::unsupported);
    }
    HEADWISE_ASSIGN(folders[n], folder_of(module, n));
  }
  if (modules.size() + 1 < kChain.size()) {
    return subject.error(ErrorCode::unsupported,
                         message("lists {} of the modules", modules.size()),
                         kChainText);
  }
  SentenceModules read{std::move(folders[0]), std::move(folders[1]), {}};
  if (modules.size() == kChain.size()) {
    read.normalize_folder = std::move(folders[2]);
  }
  return read;
}

}  // namespace headwise::inline HEADWISE_ABI
