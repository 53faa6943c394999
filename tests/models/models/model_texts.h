// The settings' files of a small model, key by key, for tests that change one.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "support/errors.h"

namespace headwise::testing_support {

// Values as JSON writes them, by key.
using Fields = std::map<std::string, std::string>;

inline std::string json(const Fields& fields) {
  std::string text;
  for (const auto& [key, value] : fields) {
    text += text.empty() ? "{\"" : ", \"";
    text.append(key).append("\": ").append(value);
  }
  return text.empty() ? "{}" : text + "}";
}

inline Fields with(Fields fields, const std::string& key,
                   const std::string& value) {
  fields[key] = value;
  return fields;
}

inline Fields without(Fields fields, const std::string& key) {
  EXPECT_EQ(fields.erase(key), 1u) << key;
  return fields;
}

inline Fields bert_fields() {
  return {{"model_type", "\"bert\""},
          {"vocab_size", "30522"},
          {"hidden_size", "384"},
          {"num_hidden_layers", "6"},
          {"num_attention_heads", "12"},
          {"intermediate_size", "1536"},
          {"max_position_embeddings", "512"},
          {"type_vocab_size", "2"},
          {"layer_norm_eps", "1e-7"},
          {"hidden_act", "\"gelu\""},
          {"position_embedding_type", "\"absolute\""},
          {"is_decoder", "false"}};
}

inline Fields distilbert_fields() {
  return {{"model_type", "\"distilbert\""},
          {"vocab_size", "28996"},
          {"dim", "768"},
          {"n_layers", "3"},
          {"n_heads", "8"},
          {"hidden_dim", "3072"},
          {"max_position_embeddings", "256"},
          {"activation", "\"gelu\""}};
}

// The nth module of modules.json, of a class of sentence_transformers.models.
// The first has no folder; then come "1_Pooling", "2_Normalize".
inline std::string module_text(int n, const std::string& name) {
  const std::string number = std::to_string(n);
  const std::string path = n == 0 ? "" : number + "_" + name;
  return json({{"idx", number},
               {"name", "\"" + number + "\""},
               {"path", "\"" + path + "\""},
               {"type", "\"sentence_transformers.models." + name + "\""}});
}

// modules.json of modules of these names.
template <class... Name>
std::string modules_text(const Name&... names) {
  std::string text = "[";
  int n = 0;
  for (const char* name : {names...}) {
    text.append(n == 0 ? "" : ", ").append(module_text(n, name));
    ++n;
  }
  return text + "]";
}

// The settings in "file" are refused: the error is about this key of them, or
// about the whole, and names these values.
inline auto IsRefused(ErrorCode code, std::string key,
                      std::vector<std::string> given,
                      std::vector<std::string> expected = {}) {
  return HasError({.code = code,
                   .file = "file",
                   .entry = std::move(key),
                   .given = std::move(given),
                   .expected = std::move(expected)});
}
inline auto IsBad(std::string key, std::vector<std::string> given,
                  std::vector<std::string> expected = {}) {
  return IsRefused(ErrorCode::bad_data, std::move(key), std::move(given),
                   std::move(expected));
}
inline auto IsUnsupported(std::string key, std::vector<std::string> given,
                          std::vector<std::string> expected = {}) {
  return IsRefused(ErrorCode::unsupported, std::move(key), std::move(given),
                   std::move(expected));
}

}  // namespace headwise::testing_support
