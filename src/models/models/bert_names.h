// The names of the parameters in the families of BERT. Those of attention are
// in the table of layouts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "headwise/models/model_settings.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr std::string_view kWordTable =
    "embeddings.word_embeddings.weight";
inline constexpr std::string_view kPositionTable =
    "embeddings.position_embeddings.weight";
inline constexpr std::string_view kTypeTable =
    "embeddings.token_type_embeddings.weight";
inline constexpr std::string_view kEmbeddingNorm = "embeddings.LayerNorm";

// A placeholder for the number of a layer.
inline constexpr std::string_view kNumberMark = "{N}";

struct BertNames {
  std::string_view layout;  // of its attention
  // Of one layer, without ".weight" and ".bias"; {N} is its number.
  std::string_view attention_norm;
  std::string_view intermediate;
  std::string_view output;
  std::string_view output_norm;
};

const BertNames& bert_names(BertFamily family);

// "encoder.layer.3.output.dense" of "encoder.layer.{N}.output.dense".
std::string numbered(std::string_view name, std::size_t number);

// The name in files of a parameter of attention, such as "w_q.weight"; {N} is
// the number of the layer.
std::string_view attention_param_pattern(BertFamily family,
                                         std::string_view param);
// The same of one layer.
std::string attention_param_name(BertFamily family, std::string_view param,
                                 std::size_t layer);
// The same of a projection, such as "w_q", without ".weight".
std::string attention_linear_name(BertFamily family, std::string_view param,
                                  std::size_t layer);
// "a.b" of "a.b.weight".
std::string without_weight(std::string_view name);

}  // namespace headwise::inline HEADWISE_ABI
