#include "rotary_argument.h"

#include <optional>
#include <string>

#include "error.h"
#include "named_fields.h"
#include "new_array.h"
#include "number_arguments.h"

namespace headwise::python {
namespace {

constexpr EnumWord<RotaryLayout> kLayouts[] = {
    {"halves", RotaryLayout::halves},
    {"interleaved", RotaryLayout::interleaved}};

enum class ScalingKind { linear, ntk, yarn, llama3, longrope };
constexpr EnumWord<ScalingKind> kKinds[] = {
    {"linear", ScalingKind::linear},
    {"ntk", ScalingKind::ntk},
    {"yarn", ScalingKind::yarn},
    {"llama3", ScalingKind::llama3},
    {"longrope", ScalingKind::longrope}};

YarnScaling yarn_of(NamedFields& fields) {
  YarnScaling scaling;
  take_number(fields, "factor", scaling.factor);
  take_size(fields, "original_length", scaling.original_length);
  take_number(fields, "beta_fast", scaling.beta_fast);
  take_number(fields, "beta_slow", scaling.beta_slow);
  take_boolean(fields, "truncate", scaling.truncate);
  fields.take("attention_factor", scaling.attention_factor, number);
  return scaling;
}

Llama3Scaling llama3_of(NamedFields& fields) {
  Llama3Scaling scaling;
  take_number(fields, "factor", scaling.factor);
  take_number(fields, "low_freq_factor", scaling.low_freq_factor);
  take_number(fields, "high_freq_factor", scaling.high_freq_factor);
  take_size(fields, "original_length", scaling.original_length);
  return scaling;
}

LongRopeScaling longrope_of(NamedFields& fields) {
  LongRopeScaling scaling;
  fields.take("factors", [&](nb::handle given, ArgumentName argument) {
    if (!nb::isinstance<nb::sequence>(given)) {
      raise_kind(given, argument, "a list of numbers");
    }
    for (const nb::handle factor : nb::iter(given)) {
      scaling.factors.push_back(number(factor, argument));
    }
  });
  take_number(fields, "attention_factor", scaling.attention_factor);
  return scaling;
}

RotaryScaling scaling_of(nb::handle value, ArgumentName name) {
  NamedFields fields(value, name.operation, name.argument);
  std::optional<ScalingKind> kind;
  fields.take("kind", [&](nb::handle given, ArgumentName argument) {
    kind = one_of(given, argument, kKinds);
  });
  if (!kind) {
    raise_value(name, "has no kind", "linear, ntk, yarn, llama3 or longrope");
  }
  RotaryScaling scaling;
  double factor = 1;
  switch (*kind) {
    case ScalingKind::linear:
      take_number(fields, "factor", factor);
      scaling = LinearScaling{factor};
      break;
    case ScalingKind::ntk:
      take_number(fields, "factor", factor);
      scaling = NtkScaling{factor};
      break;
    case ScalingKind::yarn:
      scaling = yarn_of(fields);
      break;
    case ScalingKind::llama3:
      scaling = llama3_of(fields);
      break;
    case ScalingKind::longrope:
      scaling = longrope_of(fields);
      break;
  }
  fields.end();
  return scaling;
}

}  // namespace

Rotary rotary_argument(nb::handle value, ArgumentName name) {
  NamedFields fields(value, name.operation, name.argument);
  RotaryConfig config;
  std::optional<ArrayArgument> cos, sin;
  take_size(fields, "rotary_dim", config.rotary_dim);
  take_number(fields, "base", config.base);
  take_word(fields, "layout", config.layout, kLayouts);
  fields.take("scaling", config.scaling, scaling_of);
  fields.take("cos", [&](nb::handle given, ArgumentName) {
    cos.emplace(given, ArgumentName{name.operation, "rotary.cos"});
  });
  fields.take("sin", [&](nb::handle given, ArgumentName) {
    sin.emplace(given, ArgumentName{name.operation, "rotary.sin"});
  });
  fields.end();
  if (!cos && !sin) {
    return value_of(Rotary::create(config));
  }
  constexpr std::string_view kAxes = "(positions, rotary_dim / 2)";
  TensorView<const float, 2> cosines, sines;
  if (cos) {
    cosines = cos->view<float, 2>(kAxes);
  }
  if (sin) {
    sines = sin->view<float, 2>(kAxes);
  }
  return value_of(Rotary::from_tables(cosines, sines, config.layout));
}

nb::object rotary_rules(nb::handle value) {
  if (value.is_none()) {
    return nb::none();
  }
  nb::dict rules;
  for (const auto& [key, entry] : nb::borrow<nb::dict>(value)) {
    const std::string_view name = word(key, {"rotary", ""});
    if (name != "cos" && name != "sin") {
      rules[key] = nb::isinstance<nb::dict>(entry)
                       ? nb::object(entry.attr("copy")())
                       : nb::borrow(entry);
    }
  }
  return rules;
}

nb::dict rotary_dict(const Rotary& rotary, nb::handle rules) {
  nb::dict dict(nb::borrow<nb::dict>(rules));
  if (rotary.frequencies().empty()) {
    const std::size_t pairs = rotary.rotary_dim() / 2;
    const Extents<2> extents = {rotary.positions(), pairs};
    auto cos = value_of(Tensor<float, 2>::create_unset(extents));
    auto sin = value_of(Tensor<float, 2>::create_unset(extents));
    for (std::size_t n = 0; n < extents[0]; ++n) {
      check(rotary.angles(static_cast<std::int64_t>(n),
                          std::span(cos.data() + n * pairs, pairs),
                          std::span(sin.data() + n * pairs, pairs)));
    }
    dict["cos"] = NewArray(std::move(cos)).object();
    dict["sin"] = NewArray(std::move(sin)).object();
  }
  return dict;
}

}  // namespace headwise::python
