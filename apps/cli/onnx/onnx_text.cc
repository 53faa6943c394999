#include "onnx_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "headwise/base/dtype.h"
#include "shell/output.h"
#include "shell/say.h"

namespace headwise::cli {
namespace {

std::string kind_text(const Array& array) {
  return fmt::format("({}) {}", fmt::join(array.shape, ", "),
                     name_of(array.dtype));
}

std::string line_of(const OnnxOutput& output) {
  const std::string kind = kind_text(output.array);
  if (!output.difference) {
    return say("{} {}", output.name, kind);
  }
  if (!output.difference->agrees()) {
    return fmt::format("{} {}: {}", output.name, kind, difference_text(output));
  }
  return say("{} {}: as expected, largest difference {:.3g}", output.name, kind,
             output.difference->largest);
}

}  // namespace

std::string difference_text(const OnnxOutput& output) {
  const ArrayDifference& found = *output.difference;
  if (!found.same_kind) {
    return say("is {}, expected {}", kind_text(output.array),
               kind_text(*output.expected));
  }
  return say(
      "{} of {} elements differ; the largest difference is {:.3g} at "
      "({}): {:.9g}, expected {:.9g}",
      found.differing, found.elements, found.largest,
      fmt::format("{}", fmt::join(found.at, ", ")), found.got, found.want);
}

std::string onnx_text(const OnnxResult& result) {
  std::string text;
  for (const OnnxOutput& output : result.outputs) {
    text += one_line(line_of(output)) + "\n";
  }
  return text;
}

Json onnx_json(const std::string& model, const OnnxResult& result) {
  Json outputs = Json::array();
  for (const OnnxOutput& output : result.outputs) {
    Json json = {{"name", output.name},
                 {"dtype", name_of(output.array.dtype)},
                 {"shape", output.array.shape},
                 {"compared", output.difference.has_value()}};
    if (output.difference) {
      const ArrayDifference& found = *output.difference;
      json["agrees"] = found.agrees();
      json["differing_elements"] = found.differing;
      json["largest_difference"] = found.largest;
      json["at"] = found.at;
      json["got"] = found.got;
      json["expected"] = found.want;
    }
    outputs.push_back(std::move(json));
  }
  return {{"model", model},
          {"outputs", std::move(outputs)},
          {"compared", result.compared()},
          {"differing", result.differing()}};
}

}  // namespace headwise::cli
