#include "generate/generation_settings.h"

#include <optional>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "interop/gguf_file.h"
#include "interop/input_file.h"
#include "interop/json_part.h"
#include "interop/param_file.h"
#include "interop/read_bytes.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "read_generation_settings";
constexpr std::size_t kMostBytes = std::size_t{1} << 22U;

// Those that change what is chosen, and the values with which they do not.
struct UnusedKey {
  std::string_view key;
  double without;
};
constexpr UnusedKey kUnused[] = {{"bad_words_ids", 0},
                                 {"begin_suppress_tokens", 0},
                                 {"constraints", 0},
                                 {"do_sample", 0},
                                 {"encoder_no_repeat_ngram_size", 0},
                                 {"encoder_repetition_penalty", 1},
                                 {"exponential_decay_length_penalty", 0},
                                 {"force_words_ids", 0},
                                 {"forced_bos_token_id", -1},
                                 {"forced_eos_token_id", -1},
                                 {"guidance_scale", 1},
                                 {"min_length", 0},
                                 {"min_new_tokens", 0},
                                 {"no_repeat_ngram_size", 0},
                                 {"num_beams", 1},
                                 {"penalty_alpha", 0},
                                 {"repetition_penalty", 1},
                                 {"sequence_bias", 0},
                                 {"suppress_tokens", 0}};

class SettingsReader {
 public:
  SettingsReader(const TransformerShape& shape, GenerationSettings& into)
      : shape_(shape), into_(into) {}

  // The ends of this part, if it has any.
  Status take_ends(const JsonPart& config) {
    const JsonPart ends = config.at("eos_token_id");
    if (!ends.exists()) {
      return ok();
    }
    into_.end_ids.clear();
    if (!ends.json().is_array()) {
      return add(config, "eos_token_id", ends.json());
    }
    for (std::size_t n = 0; n < ends.json().size(); ++n) {
      HEADWISE_TRY(add(config, "eos_token_id", ends.json()[n]));
    }
    return ok();
  }

  Status take_start(const JsonPart& config) {
    const JsonPart start = config.at("decoder_start_token_id");
    if (shape_.encoder_layers == 0 || !start.exists()) {
      return ok();
    }
    HEADWISE_ASSIGN(into_.decoder_start,
                    id_of(config, "decoder_start_token_id", start.json()));
    return ok();
  }

  void take_unused(const JsonPart& config) {
    for (const auto& [key, without] : kUnused) {
      const JsonPart part = config.at(key);
      double number = without;
      bool flag = false;
      const bool is_without = !part.exists() ||
                              (part.json().get(number) && number == without) ||
                              (part.json().get(flag) && !flag);
      if (!is_without) {
        into_.unused.emplace_back(key);
      }
    }
  }

 private:
  Result<TokenId> id_of(const JsonPart& config, std::string_view key,
                        const Json& given) const {
    std::uint64_t id = 0;
    if (!given.get(id) || id >= shape_.vocab_size) {
      return config.unexpected(key, message("ids below {}", shape_.vocab_size));
    }
    return static_cast<TokenId>(id);
  }
  Status add(const JsonPart& config, std::string_view key, const Json& given) {
    HEADWISE_ASSIGN(const TokenId id, id_of(config, key, given));
    into_.end_ids.push_back(id);
    return ok();
  }

  const TransformerShape& shape_;
  GenerationSettings& into_;
};

// The JSON object of a file; none if there is none. Errors: io_error, bad_data.
Result<std::optional<std::pair<Json, FileSubject>>> read_object(
    const std::string& path) {
  HEADWISE_ASSIGN(auto file, InputFile::open_if_there(kOperation, path));
  if (!file) {
    return std::optional<std::pair<Json, FileSubject>>();
  }
  HEADWISE_ASSIGN(const auto bytes, read_at_most(*file, kMostBytes));
  constexpr std::size_t kDeepest = 20;
  auto json = Json::parse(text_of(bytes), kMostBytes, kDeepest);
  if (!json || !json->is_object()) {
    return file->subject().bad_data("is not a JSON object");
  }
  return std::optional(std::pair(*std::move(json), file->subject()));
}

// The end of a text and of a turn in the metadata of a GGUF.
Status take_gguf(const std::string& path, const TransformerShape& shape,
                 GenerationSettings& into) {
  HEADWISE_ASSIGN(const auto file,
                  ParamFile::open(kOperation, path, FileAccess::mapped));
  const auto& metadata = file.gguf()->contents().metadata;
  for (const char* const key :
       {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"}) {
    const auto found = metadata.find(key);
    if (found != metadata.end() && found->second.numbers.size() == 1) {
      const double id = found->second.numbers[0];
      if (!(id >= 0 && id < static_cast<double>(shape.vocab_size))) {
        return FileSubject{std::string(kOperation), path}
            .of_entry(key)
            .bad_data(message("is {}", std::to_string(id)),
                      message("ids below {}", shape.vocab_size));
      }
      into.end_ids.push_back(static_cast<TokenId>(id));
    }
  }
  return ok();
}

}  // namespace

Result<GenerationSettings> read_generation_settings(
    const std::string& path, const TransformerShape& shape) {
  GenerationSettings made{.decoder_start = shape.decoder_start};
  if (path.ends_with(".gguf")) {
    HEADWISE_TRY(take_gguf(path, shape, made));
    return made;
  }
  SettingsReader reader(shape, made);
  for (const std::string_view name : {"config", "generation_config"}) {
    HEADWISE_ASSIGN(const auto object,
                    read_object(path + "/" + std::string(name) + ".json"));
    if (object) {
      const JsonPart config(&object->first, object->second, "");
      HEADWISE_TRY(reader.take_ends(config));
      HEADWISE_TRY(reader.take_start(config));
      if (name == "generation_config") {
        reader.take_unused(config);
      }
    }
  }
  return made;
}

}  // namespace headwise::inline HEADWISE_ABI
