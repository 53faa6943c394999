// Einsum: sums of products along the axes that an equation names, as
// numpy.einsum. Sums are in double, or for integers modulo 2^64, and rounded
// once.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/operators.h"
#include "onnx/shown_text.h"
#include "onnx/strided.h"
#include "onnx/sums.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// One per axis: a letter, or for an axis of an ellipsis its place from the end.
using Labels = std::vector<int>;
constexpr int kOfEllipsis = 256;
// With the extent along each.
using LabelExtents = std::map<int, std::size_t>;

std::size_t letters_in(std::string_view term) {
  return term.size() - (term.find("...") == term.npos ? 0 : 3);
}

// Nothing if the term is not one of letters for that many axes.
std::optional<Labels> labels_of(std::string_view term, std::size_t rank) {
  const std::size_t dots = term.find("...");
  const std::size_t letters = letters_in(term);
  if (letters > rank || (dots == term.npos && letters < rank)) {
    return std::nullopt;
  }
  Labels labels;
  for (std::size_t at = 0; at < term.size(); ++at) {
    const char letter = term[at];
    if (at == dots) {
      for (std::size_t left = rank - letters; left-- > 0;) {
        labels.push_back(kOfEllipsis + static_cast<int>(left));
      }
      at += 2;
    } else if ((letter >= 'a' && letter <= 'z') ||
               (letter >= 'A' && letter <= 'Z')) {
      labels.push_back(letter);
    } else {
      return std::nullopt;
    }
  }
  return labels;
}

// Of an equation that names none: the axes of the ellipses, then the letters
// that are there once, sorted.
Labels usual_output(const std::vector<Labels>& inputs,
                    const LabelExtents& extents) {
  Labels output;
  for (auto each = extents.rbegin(); each != extents.rend(); ++each) {
    if (each->first >= kOfEllipsis) {
      output.push_back(each->first);
    }
  }
  for (const auto& [label, extent] : extents) {
    std::ptrdiff_t uses = 0;
    for (const Labels& labels : inputs) {
      uses += std::ranges::count(labels, label);
    }
    if (label < kOfEllipsis && uses == 1) {
      output.push_back(label);
    }
  }
  return output;
}

// Axes of one label have one extent, or 1.
Status add_extents(const NodeCall& node, std::size_t input,
                   const Labels& labels, LabelExtents& extents) {
  const auto& shape = node.in(input).shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::size_t& extent = extents.try_emplace(labels[axis], 1).first->second;
    if (extent != 1 && shape[axis] != 1 && shape[axis] != extent) {
      return node.wrong_shape(input,
                              "axes that fit the other inputs of the equation");
    }
    extent = extent == 1 ? shape[axis] : extent;
  }
  return ok();
}

struct Equation {
  std::vector<Labels> inputs{};
  Labels output{};
  LabelExtents extents{};
};

Result<Equation> equation_of(const NodeCall& node) {
  HEADWISE_ASSIGN(auto given, node.text("equation", ""));
  const Error wrong = node.attribute("equation")
                          .bad_data(message("is {}", shown(given)),
                                    "letters for the axes of each input and of "
                                    "the output");
  std::erase(given, ' ');
  const std::string_view text = given;
  const std::size_t arrow = std::min(text.find("->"), text.size());
  Equation equation;
  std::size_t first = 0;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    const std::size_t end = std::min(text.find(',', first), arrow);
    const bool last = i + 1 == node.input_count();
    if (first > arrow || !node.has(i) || last != (end == arrow)) {
      return wrong;
    }
    HEADWISE_TRY(check_same_type(node, i));
    auto labels =
        labels_of(text.substr(first, end - first), node.in(i).shape.size());
    if (!labels) {
      return wrong;
    }
    HEADWISE_TRY(add_extents(node, i, *labels, equation.extents));
    equation.inputs.push_back(*std::move(labels));
    first = end + 1;
  }
  if (arrow == text.size()) {
    equation.output = usual_output(equation.inputs, equation.extents);
    return equation;
  }
  const std::string_view term = text.substr(arrow + 2);
  const auto of_ellipses = static_cast<std::size_t>(std::ranges::count_if(
      equation.extents,
      [](const auto& each) { return each.first >= kOfEllipsis; }));
  const auto output = labels_of(term, letters_in(term) + of_ellipses);
  if (!output || std::ranges::any_of(*output, [&](int label) {
        return !equation.extents.contains(label) ||
               std::ranges::count(*output, label) > 1;
      })) {
    return wrong;
  }
  equation.output = *output;
  return equation;
}

// Of an array whose axes have labels, along others; axes of extent 1 repeat,
// and two axes of one label are their diagonal.
std::vector<std::size_t> strides_along(const Labels& labels, const Labels& own,
                                       std::span<const std::size_t> shape) {
  const auto steps = strides_of(shape);
  std::vector<std::size_t> strides(labels.size(), 0);
  for (std::size_t n = 0; n < labels.size(); ++n) {
    for (std::size_t axis = 0; axis < own.size(); ++axis) {
      strides[n] +=
          own[axis] == labels[n] && shape[axis] != 1 ? steps[axis] : 0;
    }
  }
  return strides;
}

template <class T>
Result<Array> sums_of(const NodeCall& node, const Equation& equation) {
  Labels labels = equation.output;
  for (const auto& [label, extent] : equation.extents) {
    if (std::ranges::find(labels, label) == labels.end()) {
      labels.push_back(label);
    }
  }
  std::vector<std::size_t> extents;
  for (const int label : labels) {
    extents.push_back(equation.extents.at(label));
  }
  const std::vector<std::size_t> shape(
      extents.begin(),
      extents.begin() + static_cast<std::ptrdiff_t>(equation.output.size()));
  std::vector<std::vector<T>> factors;
  std::vector<std::vector<std::size_t>> strides;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    factors.push_back(terms_of<T>(node.in(i)));
    strides.push_back(
        strides_along(labels, equation.inputs[i], node.in(i).shape));
  }
  const auto steps = strides_along(labels, equation.output, shape);
  HEADWISE_TRY(check_size(shape));
  std::vector<T> sums(element_count(shape));
  for (Odometer at(extents); !at.done(); at.next()) {
    T product = 1;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      product *= factors[i][at.offset(strides[i])];
    }
    sums[at.offset(steps)] += product;
  }
  return array_of_sums(sums, shape, node.in(0).dtype);
}

}  // namespace

Result<Outputs> run_einsum(const NodeCall& node) {
  HEADWISE_TRY(check_numbers(node));
  HEADWISE_ASSIGN(const auto equation, equation_of(node));
  return one(is_floating(node.in(0).dtype)
                 ? sums_of<double>(node, equation)
                 : sums_of<std::uint64_t>(node, equation));
}

}  // namespace headwise::inline HEADWISE_ABI
