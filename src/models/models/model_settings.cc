#include "headwise/models/model_settings.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/out_of_memory.h"
#include "interop/folder.h"
#include "interop/input_file.h"
#include "interop/read_bytes.h"
#include "models/model_files.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kModelSettings = "read_model_settings";

// What `parse` makes of the file goes into `into`; where there is none, `into`
// stays.
template <class Into, class Parse>
Status read_into(Into& into, const std::string& path, const Parse& parse) {
  HEADWISE_ASSIGN(auto file, InputFile::open_if_there(kModelSettings, path));
  if (!file.has_value()) {
    return ok();
  }
  HEADWISE_ASSIGN(const auto bytes, read_at_most(*file, kLargestSettings));
  HEADWISE_ASSIGN(into, parse(text_of(bytes), file->subject()));
  return ok();
}

Error has_no_config(const std::string& folder, Message expected) {
  return FileSubject{std::string(kModelSettings), folder}.error(
      ErrorCode::io_error, "has no config.json", expected);
}

Result<TransformerShape> read_shape(const std::string& folder) {
  const std::string path = folder + "/config.json";
  HEADWISE_ASSIGN(const auto file,
                  InputFile::open_if_there(kModelSettings, path));
  if (!file) {
    return has_no_config(folder,
                         "the files of a model: config.json, "
                         "model.safetensors, vocab.txt");
  }
  return Transformer::read_shape(folder);
}

// Reads a file that is only checked, if it is there.
template <class Check>
Status check_file(const std::string& path, const Check& check) {
  bool passed = false;
  const auto parse = [&](std::string_view text,
                         const FileSubject& subject) -> Result<bool> {
    HEADWISE_TRY(check(text, subject));
    return true;
  };
  return read_into(passed, path, parse);
}

// No file may add tokens to the vocabulary, which is all that is used.
Status check_no_added_tokens(const std::string& folder) {
  for (const char* name : {"/tokenizer.json", "/tokenizer_config.json",
                           "/special_tokens_map.json"}) {
    HEADWISE_TRY(check_file(folder + name, check_listed_tokens));
  }
  return check_file(folder + "/added_tokens.json", check_added_tokens);
}

// Where the tokenizer of BERT and DistilBERT lies: in a vocabulary without
// added tokens, which goes before tokenizer.json.
Status find_bert_tokenizer(const std::string& folder, std::string& file) {
  HEADWISE_TRY(check_no_added_tokens(folder));
  HEADWISE_ASSIGN(file, vocabulary_path(folder));
  return ok();
}

// The tokenizer's settings, and what sentence-transformers makes of them.
Status read_tokenizer(const std::string& folder, const std::string& family,
                      std::string& file, TokenizerSettings& into) {
  const bool is_bert = family == "bert" || family == "distilbert";
  const std::string whole = folder + "/tokenizer.json";
  HEADWISE_TRY(check_regular_file(kModelSettings, whole));
  HEADWISE_ASSIGN(const bool has_whole, is_regular_file(kModelSettings, whole));
  file = has_whole ? whole : folder;
  if (is_bert) {
    HEADWISE_TRY(find_bert_tokenizer(folder, file));
  } else if (family == "headwise-causal" && !has_whole) {
    return FileSubject{std::string(kModelSettings), folder}.error(
        ErrorCode::io_error, "has no tokenizer.json");
  }
  const auto parse_config = [&](std::string_view text,
                                const FileSubject& subject) {
    return is_bert ? parse_tokenizer_config(text, subject, into)
                   : parse_any_tokenizer_config(text, subject, has_whole);
  };
  HEADWISE_TRY(
      read_into(into, folder + "/tokenizer_config.json", parse_config));
  if (into.generic_class) {
    file = whole;
    if (!has_whole) {
      return FileSubject{std::string(kModelSettings), folder}.error(
          ErrorCode::unsupported,
          "has no tokenizer.json, which its tokenizer_class needs");
    }
  }
  std::optional<TokenizerSettings> changed;
  for (const char* name :
       {"/sentence_bert_config.json", "/sentence_distilbert_config.json"}) {
    const auto parse = [&](std::string_view text, const FileSubject& subject) {
      return parse_sentence_config(text, subject, into);
    };
    if (Status s = read_into(changed, folder + name, parse); !s || changed) {
      into = changed.value_or(into);
      return s;
    }
  }
  return ok();
}

Status read_pooling(const std::string& folder, ModelSettings& into) {
  HEADWISE_TRY(check_folder_named_by_file(kModelSettings, folder));
  std::optional<PoolingSettings> pooling;
  const auto parse = [&](std::string_view text, const FileSubject& subject) {
    return parse_pooling(text, subject, into.shape.hidden_size);
  };
  HEADWISE_TRY(read_into(pooling, folder + "/config.json", parse));
  if (!pooling) {
    return has_no_config(folder, "the pooling that modules.json names");
  }
  into.pooling = std::move(pooling->pooling);
  into.pools_prompt = pooling->includes_prompt;
  return ok();
}

Status read_dense(const std::string& folder, ModelSettings& into) {
  HEADWISE_TRY(check_folder_named_by_file(kModelSettings, folder));
  HEADWISE_ASSIGN(auto file, InputFile::open_if_there(kModelSettings,
                                                      folder + "/config.json"));
  if (!file) {
    return has_no_config(folder, "the Dense module that modules.json names");
  }
  HEADWISE_ASSIGN(const auto bytes, read_at_most(*file, kLargestSettings));
  HEADWISE_ASSIGN(auto dense, parse_dense(text_of(bytes), file->subject()));
  const std::size_t size = into.dense.empty()
                               ? into.pooling.size() * into.shape.hidden_size
                               : into.dense.back().out_features;
  if (dense.in_features != size) {
    return file->subject().bad_data(
        message("has in_features {}", dense.in_features),
        message("{}, the size of what comes before it", size));
  }
  dense.folder = folder;
  into.dense.push_back(std::move(dense));
  return ok();
}

Status read_normalize(const std::string& folder, ModelSettings& into) {
  into.normalize = true;
  return check_file(folder + "/config.json", check_normalize);
}

// The folder of the encoder, of those that modules.json names.
Result<std::string> transformer_folder(const std::string& folder,
                                       const std::string& name) {
  if (name.empty()) {
    return folder;
  }
  const std::string path = folder + "/" + name;
  HEADWISE_TRY(check_folder_named_by_file(kModelSettings, path));
  return path;
}

Result<ModelSettings> read_gguf(const std::string& path) {
  ModelSettings settings;
  HEADWISE_ASSIGN(settings.shape, Transformer::read_shape(path));
  settings.transformer_folder = settings.tokenizer_file = path;
  settings.max_tokens = settings.most_tokens();
  return settings;
}

Result<ModelSettings> read(const std::string& folder) {
  if (folder.ends_with(".gguf")) {
    return read_gguf(folder);
  }
  HEADWISE_TRY(check_folder(kModelSettings, folder));
  std::optional<SentenceModules> modules;
  HEADWISE_TRY(
      read_into(modules, folder + "/modules.json", parse_sentence_modules));
  HEADWISE_ASSIGN(auto place, transformer_folder(
                                  folder, modules ? modules->transformer_folder
                                                  : std::string()));
  ModelSettings settings;
  settings.transformer_folder = std::move(place);
  HEADWISE_ASSIGN(settings.shape, read_shape(settings.transformer_folder));
  TokenizerSettings tokenizer;
  HEADWISE_TRY(read_tokenizer(settings.transformer_folder,
                              settings.shape.family, settings.tokenizer_file,
                              tokenizer));
  const std::size_t most = settings.most_tokens();
  settings.normalization = tokenizer.normalization;
  settings.max_tokens = std::min(tokenizer.max_tokens.value_or(most), most);
  if (tokenizer.max_tokens && *tokenizer.max_tokens < most) {
    settings.max_tokens_key = tokenizer.max_tokens_key;
  }
  if (!modules) {
    return settings;
  }
  HEADWISE_TRY(read_pooling(folder + "/" + modules->pooling_folder, settings));
  for (const std::string& name : modules->dense_folders) {
    HEADWISE_TRY(read_dense(folder + "/" + name, settings));
  }
  if (modules->normalize_folder) {
    HEADWISE_TRY(
        read_normalize(folder + "/" + *modules->normalize_folder, settings));
  }
  std::optional<SentenceSettings> of_sentences;
  HEADWISE_TRY(read_into(of_sentences,
                         folder + "/config_sentence_transformers.json",
                         parse_sentence_transformers));
  if (of_sentences) {
    settings.truncate_dim = of_sentences->truncate_dim;
    settings.prompts = std::move(of_sentences->prompts);
    settings.default_prompt = std::move(of_sentences->default_prompt);
  }
  return settings;
}

}  // namespace

Result<ModelSettings> read_model_settings(const std::string& folder) {
  return catching_out_of_memory([&] { return read(folder); });
}

}  // namespace headwise::inline HEADWISE_ABI
