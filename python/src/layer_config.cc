#include "layer_config.h"

#include <string>
#include <vector>

#include "argument_memory.h"
#include "arithmetic_words.h"
#include "error.h"
#include "number_arguments.h"
#include "rotary_argument.h"

namespace headwise::python {
namespace {

constexpr EnumWord<Scoring> kScorings[] = {{"dot", Scoring::dot},
                                           {"additive", Scoring::additive}};
constexpr EnumWord<NormKind> kNormKinds[] = {{"rms", NormKind::rms},
                                             {"layer", NormKind::layer}};
constexpr EnumWord<NormOver> kNormOvers[] = {
    {"head", NormOver::head},
    {"each_head", NormOver::each_head},
    {"projection", NormOver::projection}};

template <class Enum, std::size_t Count>
nb::str word_of(Enum value, const EnumWord<Enum> (&words)[Count]) {
  for (const EnumWord<Enum>& entry : words) {
    if (entry.value == value) {
      return nb::str(entry.word.data(), entry.word.size());
    }
  }
  return nb::str("");
}

// What both kinds of configuration have.
template <class Config>
void take_shared(NamedFields& fields, Config& config) {
  take_size(fields, "num_heads", config.num_heads);
  take_size(fields, "num_kv_heads", config.num_kv_heads);
  fields.take("kv_group_sizes", [&](nb::handle value, ArgumentName name) {
    ArgumentMemory memory;
    const auto sizes = integers<1>(value, name, "(num_kv_heads)", memory);
    for (std::size_t g = 0; g < sizes.extent(0); ++g) {
      if (sizes(g) < 1) {
        raise_value(name, "has the element " + std::to_string(sizes(g)),
                    "1 or more query heads");
      }
      config.kv_group_sizes.push_back(static_cast<std::size_t>(sizes(g)));
    }
  });
  take_number(fields, "dropout", config.dropout);
  take_size(fields, "vdim", config.vdim);
  take_size(fields, "head_dim", config.head_dim);
  fields.take("qk_norm", config.qk_norm, qk_norm_argument);
  fields.take("rotary", config.rotary, rotary_argument);
  take_boolean(fields, "add_zero_attn", config.add_zero_attn);
}

nb::object size_object(std::optional<std::size_t> size) {
  return !size                ? nb::none()
         : *size == kOpenSize ? nb::object(nb::str("open"))
                              : nb::object(nb::int_(*size));
}

}  // namespace

std::size_t size_or_open(nb::handle value, ArgumentName name) {
  if (PyUnicode_Check(value.ptr())) {
    constexpr EnumWord<std::size_t> kWords[] = {{"open", kOpenSize}};
    return one_of(value, name, kWords);
  }
  return unsigned_integer(value, name);
}

void take_size(NamedFields& fields, std::string_view name,
               std::optional<std::size_t>& place) {
  fields.take(name, place, size_or_open);
}

QkNorm qk_norm_argument(nb::handle value, ArgumentName name) {
  NamedFields fields(value, name.operation, name.argument);
  QkNorm norm;
  take_word(fields, "kind", norm.kind, kNormKinds);
  take_number(fields, "eps", norm.eps);
  take_word(fields, "over", norm.over, kNormOvers);
  take_boolean(fields, "plus_one", norm.plus_one);
  take_boolean(fields, "bias", norm.bias);
  fields.end();
  return norm;
}

MultiHeadAttentionConfig take_config(NamedFields& fields) {
  MultiHeadAttentionConfig config;
  take_size(fields, "embed_dim", config.embed_dim);
  take_shared(fields, config);
  take_boolean(fields, "bias", config.bias);
  take_size(fields, "query_dim", config.query_dim);
  take_size(fields, "kdim", config.kdim);
  take_size(fields, "v_head_dim", config.v_head_dim);
  take_boolean(fields, "out_proj", config.out_proj);
  take_boolean(fields, "value_proj", config.value_proj);
  take_word(fields, "scoring", config.scoring, kScorings);
  take_boolean(fields, "add_bias_kv", config.add_bias_kv);
  take_word(fields, "arithmetic", config.arithmetic, kArithmetics);
  return config;
}

HeadCounts take_head_counts(NamedFields& fields) {
  HeadCounts counts;
  take_shared(fields, counts);
  return counts;
}

nb::dict config_dict(const MultiHeadAttentionConfig& config) {
  nb::dict dict;
  dict["embed_dim"] = config.embed_dim;
  dict["num_heads"] = config.num_heads;
  dict["num_kv_heads"] = size_object(config.num_kv_heads);
  nb::list groups;
  for (const std::size_t size : config.kv_group_sizes) {
    groups.append(size);
  }
  dict["kv_group_sizes"] = groups;
  dict["dropout"] = config.dropout;
  dict["bias"] = config.bias;
  dict["query_dim"] = size_object(config.query_dim);
  dict["kdim"] = size_object(config.kdim);
  dict["vdim"] = size_object(config.vdim);
  dict["head_dim"] = size_object(config.head_dim);
  dict["v_head_dim"] = size_object(config.v_head_dim);
  dict["out_proj"] = config.out_proj;
  dict["value_proj"] = config.value_proj;
  dict["scoring"] = word_of(config.scoring, kScorings);
  dict["qk_norm"] = nb::none();
  if (const auto& norm = config.qk_norm) {
    nb::dict entries;
    entries["kind"] = word_of(norm->kind, kNormKinds);
    entries["eps"] = norm->eps;
    entries["over"] = word_of(norm->over, kNormOvers);
    entries["plus_one"] = norm->plus_one;
    entries["bias"] = norm->bias;
    dict["qk_norm"] = entries;
  }
  dict["rotary"] = config.rotary.has_value();
  dict["add_bias_kv"] = config.add_bias_kv;
  dict["add_zero_attn"] = config.add_zero_attn;
  dict["arithmetic"] = word_of(config.arithmetic, kArithmetics);
  return dict;
}

}  // namespace headwise::python
