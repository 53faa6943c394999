#include "golden/golden_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>

#include "headwise/base/half.h"
#include "headwise/interop/npy.h"

namespace headwise::testing_support {
namespace {

using Shape = std::vector<std::size_t>;

Shape without_ones(const Shape& shape) {
  Shape rest;
  std::ranges::copy_if(shape, std::back_inserter(rest),
                       [](std::size_t extent) { return extent != 1; });
  return rest;
}

std::string text_of(const Shape& shape) {
  std::string text = "(";
  for (const std::size_t extent : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return text + ")";
}

// Where element `at` (C order) of a tensor stands.
std::string place_of(std::size_t at, const Shape& shape) {
  Shape index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = at % shape[axis];
    at /= shape[axis];
  }
  return text_of(index);
}

// Rows start, start + step, ... of axis 0.
std::vector<float> rows_of(const Got& got, std::size_t start,
                           std::size_t step) {
  const std::size_t row = got.elements.size() / got.extents[0];
  std::vector<float> rows;
  for (std::size_t r = start; r < got.extents[0]; r += step) {
    const auto first =
        got.elements.begin() + static_cast<std::ptrdiff_t>(r * row);
    rows.insert(rows.end(), first, first + static_cast<std::ptrdiff_t>(row));
  }
  return rows;
}

// How many times the tolerance `got` is away; 0 for an exact match.
double excess(double got, double want, double atol, double rtol) {
  if (got == want || (std::isnan(got) && std::isnan(want))) {
    return 0;
  }
  if (!std::isfinite(got) || !std::isfinite(want)) {
    return std::numeric_limits<double>::infinity();
  }
  return std::abs(got - want) / (atol + rtol * std::abs(want));
}

}  // namespace

GoldenCase::GoldenCase(const std::filesystem::path& folder)
    : folder_(folder), name_(folder.filename().string()) {
  std::ifstream file(folder / "case.json");
  if (!file) {
    throw std::runtime_error("no case.json in " + folder.string());
  }
  json_ = nlohmann::json::parse(file);
}

bool GoldenCase::has(const std::string& tensor) const {
  return json_.at("tensors").contains(tensor);
}

std::vector<std::string> GoldenCase::to_reproduce() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : json_.at("tensors").items()) {
    const std::string role = tensor.at("role");
    if (role == "intermediate" || role == "attention" || role == "output" ||
        role == "gradient") {
      names.push_back(name);
    }
  }
  return names;
}

std::size_t GoldenCase::rank(const std::string& tensor) const {
  return json_.at("tensors").at(tensor).at("shape").size();
}

Array GoldenCase::read(const std::string& tensor) const {
  const std::string file = json_.at("tensors").at(tensor).at("file");
  return read_npy((folder_ / file).string()).value();
}

std::vector<double> GoldenCase::want(const std::string& tensor) const {
  const auto& entry = json_.at("tensors").at(tensor);
  const std::string file = entry.contains("f64") ? entry["f64"] : entry["file"];
  const Array array = read_npy((folder_ / file).string()).value();
  if (array.shape != entry.at("shape").get<Shape>()) {
    throw std::runtime_error(file + " has shape " + text_of(array.shape));
  }
  if (array.dtype == DType::float64) {
    std::vector<double> numbers(array.data.size() / sizeof(double));
    std::memcpy(numbers.data(), array.data.data(), array.data.size());
    return numbers;
  }
  if (array.dtype == DType::float16) {
    std::vector<Float16> halves(array.data.size() / sizeof(Float16));
    std::memcpy(halves.data(), array.data.data(), array.data.size());
    std::vector<double> numbers(halves.size());
    std::ranges::transform(halves, numbers.begin(),
                           [](Float16 x) { return double{widened(x)}; });
    return numbers;
  }
  if (array.dtype != DType::float32) {
    throw std::runtime_error(file + " holds no floating-point numbers");
  }
  std::vector<float> numbers(array.data.size() / sizeof(float));
  std::memcpy(numbers.data(), array.data.data(), array.data.size());
  return {numbers.begin(), numbers.end()};
}

std::optional<float> GoldenCase::fill_of(const std::string& tensor) const {
  if (tensor != "masked_scores") {
    return std::nullopt;
  }
  const auto fill = options().find("mask_fill");
  if (fill == options().end() || !fill->is_number()) {
    return std::nullopt;
  }
  return static_cast<float>(fill->get<double>());
}

testing::AssertionResult GoldenCase::matches(const std::string& tensor,
                                             const Got& got) const {
  const auto& entry = json_.at("tensors").at(tensor);
  const Shape stored = entry.at("shape");
  const bool partial = entry.contains("rows");
  const Shape full =
      partial ? entry["rows"].at("full_shape").get<Shape>() : stored;
  if (without_ones(got.extents) != without_ones(full)) {
    return testing::AssertionFailure()
           << name_ << ": " << tensor << " has shape " << text_of(got.extents)
           << ", expected " << text_of(full);
  }
  const std::vector<float> ours =
      partial
          ? rows_of(got, entry["rows"].at("start"), entry["rows"].at("step"))
          : got.elements;
  const std::vector<double> theirs = want(tensor);
  if (ours.size() != theirs.size()) {
    return testing::AssertionFailure()
           << name_ << ": " << tensor << " has " << ours.size()
           << " elements, expected " << theirs.size();
  }
  const double atol = entry.at("atol");
  const double rtol = entry.at("rtol");
  const std::optional<float> fill = fill_of(tensor);
  std::size_t worst = 0;
  double worst_excess = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (fill && std::isinf(ours[i]) && ours[i] < 0 &&
        static_cast<float>(theirs[i]) == *fill) {
      continue;
    }
    const double here = excess(ours[i], theirs[i], atol, rtol);
    if (here > worst_excess) {
      worst_excess = here;
      worst = i;
    }
  }
  if (worst_excess <= 1) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << name_ << ": " << tensor << place_of(worst, stored) << " is "
         << ours[worst] << ", expected " << theirs[worst] << ": "
         << worst_excess << " times the tolerance";
}

}  // namespace headwise::testing_support
