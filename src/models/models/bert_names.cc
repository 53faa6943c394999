#include "models/bert_names.h"

#include <algorithm>

#include "headwise/interop/layouts.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr BertNames kBert = {
    "bert", "encoder.layer.{N}.attention.output.LayerNorm",
    "encoder.layer.{N}.intermediate.dense", "encoder.layer.{N}.output.dense",
    "encoder.layer.{N}.output.LayerNorm"};
constexpr BertNames kDistilBert = {
    "distilbert", "transformer.layer.{N}.sa_layer_norm",
    "transformer.layer.{N}.ffn.lin1", "transformer.layer.{N}.ffn.lin2",
    "transformer.layer.{N}.output_layer_norm"};

}  // namespace

const BertNames& bert_names(BertFamily family) {
  return family == BertFamily::bert ? kBert : kDistilBert;
}

std::string numbered(std::string_view name, std::size_t number) {
  std::string text(name);
  text.replace(text.find(kNumberMark), kNumberMark.size(),
               std::to_string(number));
  return text;
}

std::string_view attention_param_pattern(BertFamily family,
                                         std::string_view param) {
  const auto layout =
      std::ranges::find(layouts(), bert_names(family).layout, &Layout::name);
  return std::ranges::find(layout->rows, param, &LayoutRow::param)->name;
}

std::string attention_param_name(BertFamily family, std::string_view param,
                                 std::size_t layer) {
  return numbered(attention_param_pattern(family, param), layer);
}

std::string attention_linear_name(BertFamily family, std::string_view param,
                                  std::size_t layer) {
  return without_weight(
      attention_param_name(family, std::string(param) + ".weight", layer));
}

std::string without_weight(std::string_view name) {
  return std::string(name.substr(0, name.rfind(".weight")));
}

}  // namespace headwise::inline HEADWISE_ABI
