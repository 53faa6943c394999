#include <array>

#include "interop/folder.h"
#include "interop/json_fields.h"
#include "models/model_files.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr auto kModuleKeys = std::to_array<std::string_view>({"type", "path"});

constexpr std::string_view kChainText =
    "Transformer, Pooling, any number of Dense and perhaps Normalize";

// Whether a module may be the n-th, `before` being the one before it.
bool may_follow(std::string_view module, std::size_t n,
                std::string_view before) {
  if (n < 2) {
    return module == (n == 0 ? "Transformer" : "Pooling");
  }
  return before != "Normalize" && (module == "Dense" || module == "Normalize");
}

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
  SentenceModules read;
  std::string before;
  for (std::size_t n = 0; n < modules.size(); ++n) {
    const JsonFields& module = modules[n];
    std::string type;
    HEADWISE_TRY(module.require("type", type));
    const std::string name(class_of(type));
    if (!may_follow(name, n, before)) {
      return module.unexpected(
          "type",
          message("the modules {} of sentence_transformers in this order",
                  Message(kChainText)),
          ErrorCode::unsupported);
    }
    HEADWISE_ASSIGN(auto folder, folder_of(module, n));
    (n == 0                ? read.transformer_folder
     : n == 1              ? read.pooling_folder
     : name == "Normalize" ? read.normalize_folder.emplace()
                           : read.dense_folders.emplace_back()) =
        std::move(folder);
    before = name;
  }
  return modules.size() < 2
             ? subject.error(ErrorCode::unsupported,
                             message("lists {} of the modules", modules.size()),
                             kChainText)
             : Result<SentenceModules>(std::move(read));
}

}  // namespace headwise::inline HEADWISE_ABI
