#include "transformer/describe_gguf.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>

#include "base/check.h"
#include "headwise/interop/array.h"
#include "headwise/json/json.h"
#include "interop/error_text.h"
#include "interop/gguf.h"
#include "interop/json_part.h"
#include "transformer/families.h"
#include "transformer/tensor_reader.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

struct Architecture {
  std::string_view name;  // general.architecture
  std::string_view model_type;
  bool pairs = false;     // both rows of a rotated pair are side by side
  bool plus_one = false;  // norms have their 1 added
};
constexpr auto kArchitectures =
    std::to_array<Architecture>({{"llama", "llama", true},
                                 {"qwen2", "qwen2"},
                                 {"qwen3", "qwen3"},
                                 {"gemma2", "gemma2", false, true},
                                 {"gemma3", "gemma3_text", false, true},
                                 {"gpt2", "gpt2"}});

struct SettingName {
  std::string_view key;     // behind the architecture
  std::string_view config;  // in config.json; empty: read elsewhere
};
constexpr auto kSettings = std::to_array<SettingName>(
    {{"context_length", "max_position_embeddings"},
     {"embedding_length", "hidden_size"},
     {"block_count", "num_hidden_layers"},
     {"feed_forward_length", "intermediate_size"},
     {"attention.head_count", "num_attention_heads"},
     {"attention.head_count_kv", "num_key_value_heads"},
     {"attention.key_length", "head_dim"},
     {"attention.value_length", ""},
     {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
     {"attention.layer_norm_epsilon", "layer_norm_epsilon"},
     {"attention.sliding_window", "sliding_window"},
     {"attn_logit_softcapping", "attn_logit_softcapping"},
     {"final_logit_softcapping", "final_logit_softcapping"},
     {"rope.freq_base", "rope_theta"},
     {"rope.dimension_count", ""},
     {"rope.scaling.type", ""},
     {"rope.scaling.factor", ""},
     {"rope.scaling.original_context_length", ""},
     {"rope.scaling.attn_factor", ""},
     {"rope.scaling.finetuned", ""},
     {"expert_count", ""},
     {"vocab_size", "vocab_size"}});
// GPT-2's settings have names of their own.
constexpr auto kGpt2Names =
    std::to_array<SettingName>({{"max_position_embeddings", "n_positions"},
                                {"hidden_size", "n_embd"},
                                {"num_hidden_layers", "n_layer"},
                                {"intermediate_size", "n_inner"},
                                {"num_attention_heads", "n_head"}});

constexpr std::string_view kFrequencies = "rope_freqs.weight";

struct GgufName {
  Part part;
  std::string_view name;
};
constexpr auto kGgufNames = std::to_array<GgufName>(
    {{Part::tokens, "token_embd"},
     {Part::positions, "position_embd"},
     {Part::final_norm, "output_norm"},
     {Part::unembedding, "output"},
     {Part::attention_before, "blk.{N}.attn_norm"},
     {Part::attention_after, "blk.{N}.post_attention_norm"},
     {Part::w_q, "blk.{N}.attn_q"},
     {Part::w_k, "blk.{N}.attn_k"},
     {Part::w_v, "blk.{N}.attn_v"},
     {Part::w_qkv, "blk.{N}.attn_qkv"},
     {Part::w_o, "blk.{N}.attn_output"},
     {Part::q_norm, "blk.{N}.attn_q_norm"},
     {Part::k_norm, "blk.{N}.attn_k_norm"},
     {Part::feed_before, "blk.{N}.ffn_norm"},
     {Part::feed_after, "blk.{N}.post_ffw_norm"},
     {Part::gate, "blk.{N}.ffn_gate"},
     {Part::up, "blk.{N}.ffn_up"},
     {Part::down, "blk.{N}.ffn_down"}});

class GgufDescriber {
 public:
  GgufDescriber(const ParamFile& file, FileSubject subject)
      : file_(file),
        contents_(file.gguf()->contents()),
        subject_(std::move(subject)) {}

  Result<Description> describe() {
    HEADWISE_TRY(find_architecture());
    HEADWISE_TRY(check_keys());
    HEADWISE_ASSIGN(Json config, as_config());
    HEADWISE_ASSIGN(auto made, describe_model({&config, subject_, ""}));
    rename(made);
    HEADWISE_TRY(check_tensors(made));
    HEADWISE_TRY(take_frequencies(made));
    return made;
  }

 private:
  Status find_architecture() {
    const std::string_view name = text("general.architecture");
    const auto* const found =
        std::ranges::find(kArchitectures, name, &Architecture::name);
    if (found == kArchitectures.end()) {
      return subject_.of_entry("general.architecture")
          .error(ErrorCode::unsupported, message("is \"{}\"", printable(name)),
                 Message::verbatim(
                     list_text(kArchitectures, ", ", &Architecture::name)));
    }
    architecture_ = found;
    return ok();
  }

  // A setting that is not obeyed is an error.
  Status check_keys() const {
    const std::string prefix = std::string(architecture_->name) + ".";
    for (const auto& [key, value] : contents_.metadata) {
      if (key.starts_with(prefix) &&
          std::ranges::find(kSettings, key.substr(prefix.size()),
                            &SettingName::key) == kSettings.end()) {
        return subject_.of_entry(printable(key))
            .error(ErrorCode::unsupported, "is a setting that is not known",
                   Message::verbatim(
                       list_text(kSettings, ", ", &SettingName::key)));
      }
    }
    return number("expert_count").value_or(0) == 0
               ? ok()
               : Status(fault("expert_count", "no experts"));
  }

  const GgufValue* find(std::string_view key) const {
    const auto found = contents_.metadata.find(
        std::string(architecture_->name) + "." + std::string(key));
    return found == contents_.metadata.end() ? nullptr : &found->second;
  }
  std::optional<double> number(std::string_view key) const {
    const GgufValue* const value = find(key);
    return value != nullptr && value->numbers.size() == 1
               ? std::optional(value->numbers[0])
               : std::nullopt;
  }
  std::string_view text(std::string_view key) const {
    const auto found = contents_.metadata.find(key);
    return found != contents_.metadata.end() && found->second.texts.size() == 1
               ? found->second.texts[0]
               : "";
  }
  Error fault(std::string_view key, Message expected) const {
    const auto given = number(key);
    return subject_
        .of_entry(std::string(architecture_->name) + "." + std::string(key))
        .error(
            ErrorCode::unsupported,
            given ? message("is {}", number_text(*given)) : "is not one number",
            std::move(expected));
  }

  // The settings as config.json would say them.
  Result<Json> as_config() const {
    Json config = Json::object();
    config["model_type"] = std::string(architecture_->model_type);
    for (const auto& [key, name] : kSettings) {
      const GgufValue* const value = find(key);
      if (value == nullptr || name.empty()) {
        continue;
      }
      const auto given = number(key);
      if (!given) {
        return fault(key, "one number");
      }
      put(config, name, *given);
    }
    const auto tokens = contents_.tensors.find("token_embd.weight");
    if (!find("vocab_size") && tokens != contents_.tensors.end() &&
        !tokens->second.shape.empty()) {
      put(config, "vocab_size", static_cast<double>(tokens->second.shape[0]));
    }
    if (!find("attention.head_count_kv") && find("attention.head_count")) {
      put(config, "num_key_value_heads", *number("attention.head_count"));
    }
    config["tie_word_embeddings"] =
        !contents_.tensors.contains("output.weight");
    HEADWISE_TRY(check_head_sizes());
    HEADWISE_TRY(put_scaling(config));
    put_scale(config);
    if (architecture_->model_type == "gpt2") {
      for (const auto& [name, of_gpt2] : kGpt2Names) {
        if (const Json* const value = config.find(name)) {
          config[std::string(of_gpt2)] = *value;
        }
      }
    }
    return config;
  }

  static void put(Json& config, std::string_view name, double number) {
    const bool is_whole = number >= 0 && number == std::floor(number) &&
                          number < 9007199254740992.0;
    if (is_whole) {
      config[std::string(name)] = static_cast<std::uint64_t>(number);
    } else {
      config[std::string(name)] = number;
    }
  }

  std::optional<double> head_dim() const {
    const auto size = number("embedding_length");
    const auto heads = number("attention.head_count");
    const auto given = number("attention.key_length");
    return given                         ? given
           : size && heads && *heads > 0 ? std::optional(*size / *heads)
                                         : std::nullopt;
  }

  Status check_head_sizes() const {
    for (const std::string_view key :
         {"attention.value_length", "rope.dimension_count"}) {
      if (find(key) != nullptr && number(key) != head_dim()) {
        return fault(key, message("{}, the size of a head",
                                  number_text(head_dim().value_or(0))));
      }
    }
    return ok();
  }

  Status put_scaling(Json& config) const {
    const std::string prefix = std::string(architecture_->name);
    const std::string type(text(prefix + ".rope.scaling.type"));
    if (type.empty() || type == "none") {
      return ok();
    }
    if (type != "linear" && type != "yarn") {
      return subject_.of_entry(prefix + ".rope.scaling.type")
          .error(ErrorCode::unsupported, message("is \"{}\"", printable(type)),
                 "none, linear or yarn");
    }
    Json scaling = {{"rope_type", type}};
    for (const auto& [key, name] :
         {std::pair("rope.scaling.factor", "factor"),
          {"rope.scaling.original_context_length",
           "original_max_position_embeddings"},
          {"rope.scaling.attn_factor", "attention_factor"}}) {
      if (const auto given = number(key)) {
        put(scaling, name, *given);
      }
    }
    config["rope_scaling"] = scaling;
    return ok();
  }

  // Gemma's scale of the scores, which depends on the size of the model.
  void put_scale(Json& config) const {
    constexpr double kLayersOf27B2 = 46;
    constexpr double kLayersOf27B3 = 62;
    if (!architecture_->plus_one) {
      return;
    }
    const bool is_27b =
        number("block_count") ==
        (architecture_->name == "gemma2" ? kLayersOf27B2 : kLayersOf27B3);
    const auto size = number("embedding_length");
    const auto heads = number("attention.head_count");
    put(config, "query_pre_attn_scalar",
        is_27b && size && heads ? *size / *heads : head_dim().value_or(0));
  }

  void rename(Description& made) const {
    made.prefix = "";
    for (TensorName& row : made.names) {
      const auto* const found =
          std::ranges::find(kGgufNames, row.part, &GgufName::part);
      row.name = found == kGgufNames.end() ? row.name : found->name;
      const bool rotates = row.part == Part::w_q || row.part == Part::w_k;
      row.bias = contents_.tensors.contains(numbered(row.name, 0) + ".bias");
      row.form =
          architecture_->pairs && rotates ? Form::rotary_pairs : Form::plain;
    }
    if (architecture_->plus_one) {
      made.stack.norm.plus_one = false;
      if (made.stack.heads.qk_norm) {
        made.stack.heads.qk_norm->plus_one = false;
      }
    }
  }

  static std::string numbered(std::string name, std::size_t layer) {
    constexpr std::string_view kMark = "{N}";
    const std::size_t at = name.find(kMark);
    return at == name.npos
               ? name
               : name.replace(at, kMark.size(), std::to_string(layer));
  }

  // One that is not read would be computed otherwise.
  Status check_tensors(const Description& made) const {
    std::set<std::string> known = {std::string(kFrequencies)};
    for (const TensorName& row : made.names) {
      for (std::size_t n = 0; n < made.stack.layers.size(); ++n) {
        known.insert(numbered(row.name, n) + ".weight");
        if (row.bias) {
          known.insert(numbered(row.name, n) + ".bias");
        }
      }
    }
    for (const auto& [name, tensor] : contents_.tensors) {
      if (!known.contains(std::string(name))) {
        return subject_.of_entry(printable(name))
            .error(ErrorCode::unsupported, "is a tensor that is not known");
      }
    }
    return ok();
  }

  // Llama 3's scaling, as a factor for each frequency.
  Status take_frequencies(Description& made) const {
    if (!contents_.tensors.contains(kFrequencies)) {
      return ok();
    }
    HEADWISE_ASSIGN(const auto array, file_.read(std::string(kFrequencies)));
    HEADWISE_ASSIGN(const auto factors,
                    to_float<1>(array, kReadTransformer, kFrequencies));
    for (RotarySpec& rotary : made.stack.rotary) {
      rotary.config.scaling =
          LongRopeScaling{{factors.data(), factors.data() + factors.size()}, 1};
      if (const auto rotated = Rotary::create(rotary.config); !rotated) {
        return subject_.of_entry(std::string(kFrequencies))
            .blame_here(rotated.error());
      }
    }
    return ok();
  }

  const ParamFile& file_;
  const GgufContents& contents_;
  FileSubject subject_;
  const Architecture* architecture_ = nullptr;
};

}  // namespace

Result<Description> describe_gguf(const ParamFile& file) {
  return GgufDescriber(file, {std::string(kReadTransformer), file.path()})
      .describe();
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
