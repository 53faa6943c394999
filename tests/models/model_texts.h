// The settings' files of a small model, key by key, for tests that change one.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "headwise/base/result.h"

namespace headwise::testing_support {

// Values as JSON writes them, by key.
using Fields = std::map<std::string, std::string>;

inline std::string json(const Fields& fields) {
  std::string text;
  for (const auto& [key, value] : fields) {
    text += (text.empty() ? "{" : ", ") + ("\"" + key + "\": ") + value;
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

// modules.json of these classes of sentence_transformers.models, the first of
// which has no folder: "" and then "1_Pooling", "2_Normalize".
template <class... Name>
std::string modules_text(const Name&... names) {
  std::string text;
  int n = 0;
  for (const std::string_view name : {std::string_view(names)...}) {
    const std::string number = std::to_string(n);
    const std::string path =
        n++ == 0 ? std::string() : number + "_" + std::string(name);
    text += (text.empty() ? "[" : ", ") +
            json({{"idx", number},
                  {"name", "\"" + number + "\""},
                  {"path", "\"" + path + "\""},
                  {"type", "\"sentence_transformers.models." +
                               std::string(name) + "\""}});
  }
  return text + "]";
}

// What an error says behind "file: ", or "no error"; its code must be `code`.
template <class T>
std::string said_by(const Result<T>& result,
                    ErrorCode code = ErrorCode::bad_data) {
  if (result) {
    return "no error";
  }
  EXPECT_EQ(result.error().code, code) << result.error().message;
  const std::string_view start = "file: ";
  EXPECT_TRUE(result.error().message.starts_with(start))
      << result.error().message;
  return result.error().message.substr(start.size());
}

}  // namespace headwise::testing_support
