#include "headwise/interop/layouts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "interop/element_bytes.h"
#include "interop/error_text.h"
#include "interop/laid_out.h"
#include "interop/layout_forms.h"
#include "interop/layout_names.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The heads that the axis of a form with heads counts.
bool counts_kv_heads(std::string_view param) {
  return param.starts_with("w_k.") || param.starts_with("w_v.");
}

// An Array made by hand may not hold what its shape says.
bool is_whole(const Array& array) {
  return array_bytes(array.shape, array.dtype) == array.data.size();
}
Message bytes_given(const Array& array) {
  return message("has {} bytes of data", array.data.size());
}
Message bytes_expected(const Array& array) {
  return message("those of its shape {}", shape_text(array.shape));
}

Error invalid(std::string_view argument, Message given, Message expected = {}) {
  return argument_error("lay_out", argument, std::move(given),
                        std::move(expected));
}

// "layer.params.w_q.weight"
std::string param_path(std::string_view name) {
  return "layer.params." + std::string(name);
}

Status check_number(const LayoutMatch& match, std::size_t number) {
  if (std::ranges::find(match.layers, number) != match.layers.end()) {
    return ok();
  }
  return match.subject.error(
      ErrorCode::out_of_range, message("has no layer {}", number),
      message("one of {}", list_text(match.layers, " ")));
}

// Takes the heads that the tensor `name` says, which are those of the tensors
// before.
Status count_heads(const LayoutMatch& match, const std::string& name,
                   std::optional<std::size_t> heads,
                   std::optional<std::size_t>& known) {
  if (heads && known && heads != known) {
    return match.subject.of_entry(name).bad_data(
        message("has {} heads", *heads),
        message("{} as those before it", *known));
  }
  known = heads ? heads : known;
  return ok();
}

// Takes one layer apart, a row at a time; a packed tensor is read once.
class LayerTaker {
 public:
  using Read = FunctionRef<Result<Array>(const std::string&)>;

  LayerTaker(const LayoutMatch& match, const ShapesByName& shapes, Read read)
      : match_(match), shapes_(shapes), read_(read) {}

  Result<LayerParams> take(std::size_t number, const LayerShapes& said) {
    layer_.num_heads = said.num_heads;
    layer_.num_kv_heads = said.num_kv_heads;
    layer_.qk_norm = match_.layout->qk_norm;
    layer_.number = number;
    for (const LayoutRow& row : match_.layout->rows) {
      const std::string name = name_in(match_.prefix, row.name, number);
      const auto shape = shapes_.find(name);
      if (shape == shapes_.end()) {
        continue;  // optional: find_layout() saw to it
      }
      HEADWISE_TRY(read_tensor(name, shape->second));
      layer_.params.emplace(row.param,
                            from_form(row.form, tensor_, row.part, row.parts));
    }
    return std::move(layer_);
  }

 private:
  Status read_tensor(const std::string& name,
                     const std::vector<std::size_t>& shape) {
    if (name == name_) {
      return ok();
    }
    HEADWISE_ASSIGN(auto tensor, read_(name));
    if (tensor.shape != shape) {  // the forms rely on it
      return match_.subject.of_entry(name).bad_data(
          message("has shape {}", shape_text(tensor.shape)),
          message("{} as when it was looked at", shape_text(shape)));
    }
    if (!is_whole(tensor)) {
      return match_.subject.of_entry(name).bad_data(bytes_given(tensor),
                                                    bytes_expected(tensor));
    }
    tensor_ = std::move(tensor);
    name_ = name;
    return ok();
  }

  const LayoutMatch& match_;
  const ShapesByName& shapes_;
  Read read_;
  std::string name_;  // of the tensor that was read last
  Array tensor_;
  LayerParams layer_;
};

// The parameters of one tensor of a layout, one below another.
class Stack {
 public:
  Status add(std::string_view name, const Array& param, bool is_bias) {
    if (param.shape.size() != (is_bias ? 1u : 2u)) {
      return invalid(param_path(name),
                     message("has shape {}", shape_text(param.shape)),
                     is_bias ? "1 axis" : "2 axes");
    }
    if (!is_whole(param)) {
      return invalid(param_path(name), bytes_given(param),
                     bytes_expected(param));
    }
    if (count_++ == 0) {
      array_ = param;
      return ok();
    }
    if (param.dtype != array_.dtype ||
        !std::ranges::equal(std::span(param.shape).subspan(1),
                            std::span(array_.shape).subspan(1)) ||
        param.shape[0] * count_ != array_.shape[0] + param.shape[0]) {
      return invalid(
          param_path(name),
          message("has shape {} and type {}, which does not go into one tensor "
                  "with {}",
                  shape_text(param.shape), name_of(param.dtype), first_text()));
    }
    array_.shape[0] += param.shape[0];
    array_.data.insert(array_.data.end(), param.data.begin(), param.data.end());
    return ok();
  }

  std::size_t count() const { return count_; }
  const Array& array() const { return array_; }

 private:
  Message first_text() const {
    std::vector<std::size_t> shape = array_.shape;
    shape[0] /= count_ - 1;
    return message("those before it, of shape {} and type {}",
                   shape_text(shape), name_of(array_.dtype));
  }

  std::size_t count_ = 0;
  Array array_;
};

// The tensor whose first row this is, of `layer`; nothing where it is optional
// and the layer has none.
Result<std::optional<Array>> tensor_of(const LayoutRow& first,
                                       const Layout& layout,
                                       const LayerParams& layer) {
  Stack stack;
  for (const LayoutRow& row : layout.rows) {
    const auto param = layer.params.find(std::string(row.param));
    if (row.name != first.name || param == layer.params.end()) {
      continue;
    }
    HEADWISE_TRY(stack.add(row.param, param->second, is_bias(row.form)));
  }
  if (stack.count() == 0 && !first.required) {
    return std::optional<Array>();
  }
  if (stack.count() != first.parts) {
    return invalid("layer.params",
                   first.parts == 1
                       ? message("lack {}, which the layout {} has",
                                 first.param, layout.name)
                       : message("lack a part of {}, which the layout {} has",
                                 first.name, layout.name));
  }
  if (!has_heads(first.form)) {
    return std::optional(to_form(first.form, stack.array(), 1));
  }
  const auto heads = counts_kv_heads(first.param) && layer.num_kv_heads
                         ? layer.num_kv_heads
                         : layer.num_heads;
  const std::size_t axis =
      stack.array().shape[first.form == ParamForm::head_inputs ? 1 : 0];
  if (!heads || *heads == 0 || axis % *heads != 0) {
    return invalid("layer.num_heads",
                   heads ? message("is {}", *heads) : Message("is not given"),
                   message("a divisor of {} features of {} for the layout {}",
                           axis, first.param, layout.name));
  }
  return std::optional(to_form(first.form, stack.array(), *heads));
}

}  // namespace

Result<LayerShapes> layer_shapes(const LayoutMatch& match,
                                 const ShapesByName& shapes,
                                 std::size_t number) {
  return catching_out_of_memory([&]() -> Result<LayerShapes> {
    HEADWISE_TRY(check_number(match, number));
    LayerShapes layer;
    for (const LayoutRow& row : match.layout->rows) {
      const std::string name = name_in(match.prefix, row.name, number);
      const auto shape = shapes.find(name);
      if (shape == shapes.end()) {
        continue;  // optional: find_layout() saw to it
      }
      const auto [out, in, heads] = sizes_of(row.form, shape->second);
      std::vector<std::size_t>& param = layer.params[std::string(row.param)];
      param = {out / row.parts};
      if (!is_bias(row.form)) {
        param.push_back(in);
      }
      HEADWISE_TRY(count_heads(
          match, name, heads,
          counts_kv_heads(row.param) ? layer.num_kv_heads : layer.num_heads));
    }
    return layer;
  });
}

Result<LayerParams> take_layer(
    const LayoutMatch& match, const ShapesByName& shapes, std::size_t number,
    FunctionRef<Result<Array>(const std::string&)> read) {
  return catching_out_of_memory([&]() -> Result<LayerParams> {
    const auto said = layer_shapes(match, shapes, number);
    return said ? LayerTaker(match, shapes, read).take(number, *said)
                : said.error();
  });
}

Result<NamedArrays> lay_out(const LayerParams& layer, std::size_t number,
                            const Layout& layout,
                            std::optional<std::string_view> prefix) {
  return catching_out_of_memory([&]() -> Result<NamedArrays> {
    for (const auto& [name, array] : layer.params) {
      if (std::ranges::find(layout.rows, name, &LayoutRow::param) ==
          layout.rows.end()) {
        return invalid(param_path(name),
                       message("is not in the layout {}", layout.name));
      }
    }
    NamedArrays tensors;
    for (const LayoutRow& row : layout.rows) {
      if (row.part > 0) {
        continue;
      }
      HEADWISE_ASSIGN(auto tensor, tensor_of(row, layout, layer));
      if (tensor) {
        tensors.emplace(
            name_in(prefix.value_or(layout.prefixes[0]), row.name, number),
            *std::move(tensor));
      }
    }
    return tensors;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
