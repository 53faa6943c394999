#include "weights_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "headwise/interop/file_subject.h"
#include "headwise/interop/npy.h"
#include "headwise/interop/npz.h"
#include "headwise/interop/safetensors.h"
#include "operation/read_tensor.h"
#include "shell/error_of_option.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kOption = "--attn-weights";
constexpr std::size_t kMostLayers = 100'000;

Result<NamedArrays> read_arrays(const std::string& path) {
  if (path.ends_with(".npz")) {
    return read_npz(path);
  }
  NamedArrays arrays;
  if (!path.ends_with(".safetensors")) {
    HEADWISE_ASSIGN(auto array, read_npy(path));
    arrays.emplace("", std::move(array));
    return arrays;
  }
  HEADWISE_ASSIGN(const auto file, open_safetensors(path));
  for (const auto& [name, entry] : file.tensors()) {
    HEADWISE_ASSIGN(auto array, file.array(name));
    arrays.emplace(name, std::move(array));
  }
  return arrays;
}

// "layer.11.attn2" -> {"layer.", ".attn"} and {11, 2}.
struct NumberedName {
  std::vector<std::string> words{""};
  std::vector<std::optional<std::size_t>> numbers{};  // none: too large

  explicit NumberedName(std::string_view name) {
    constexpr std::string_view kDigits = "0123456789";
    while (!name.empty()) {
      const std::size_t word =
          std::min(name.find_first_of(kDigits), name.size());
      words.back() += name.substr(0, word);
      name.remove_prefix(word);
      if (name.empty()) {
        return;
      }
      const std::size_t digits =
          std::min(name.find_first_not_of(kDigits), name.size());
      std::size_t number = 0;
      const auto read =
          std::from_chars(name.data(), name.data() + digits, number);
      const bool fits = read.ec == std::errc{} && number < kMostLayers;
      numbers.push_back(fits ? std::optional(number) : std::nullopt);
      words.emplace_back();
      name.remove_prefix(digits);
    }
  }
};

// Which of the numbers in these names is the layer's: the only one, or the only
// one that differs.
std::optional<std::size_t> place_of_layer(
    const std::vector<NumberedName>& names) {
  const NumberedName& first = names.front();
  if (std::ranges::any_of(names, [&](const NumberedName& name) {
        return name.words != first.words;
      })) {
    return std::nullopt;
  }
  std::optional<std::size_t> place;
  for (std::size_t n = 0; n < first.numbers.size(); ++n) {
    const bool differs =
        std::ranges::any_of(names, [&](const NumberedName& name) {
          return name.numbers[n] != first.numbers[n];
        });
    if (differs || first.numbers.size() == 1) {
      if (place) {
        return std::nullopt;
      }
      place = n;
    }
  }
  return place;
}

// The layers' numbers, in the order of the arrays.
Result<std::vector<std::size_t>> layer_numbers(const NamedArrays& arrays,
                                               const std::string& path) {
  std::vector<NumberedName> names;
  for (const auto& [name, array] : arrays) {
    names.emplace_back(name);
  }
  const auto place = place_of_layer(names);
  std::vector<std::size_t> numbers;
  for (const NumberedName& name : names) {
    const auto number = place ? name.numbers[*place] : std::nullopt;
    if (!number || std::ranges::find(numbers, *number) != numbers.end()) {
      return FileSubject{std::string(kOption), path}.bad_data(
          message("has the entries {} and {}", arrays.begin()->first,
                  arrays.rbegin()->first),
          "names that differ only in the layer's number, such as attentions.0 "
          "and attentions.1");
    }
    numbers.push_back(*number);
  }
  return numbers;
}

// Makes the rows that are NaN throughout 0 and counts them.
void clear_nan_rows(Tensor<float, 5>& weights, std::size_t first_layer,
                    WeightsFile& to) {
  const auto [N, B, H, Lq, Lkv] = weights.extents();
  for (std::size_t n = 0; n < N * B * H * Lq; ++n) {
    const std::span<float> row(weights.data() + n * Lkv, Lkv);
    if (!std::ranges::all_of(row, [](float w) { return std::isnan(w); })) {
      continue;
    }
    std::ranges::fill(row, 0.0F);
    if (to.nan_rows++ == 0) {
      to.first_nan = {first_layer + n / Lq / H / B, n / Lq / H % B, n / Lq % H,
                      n % Lq};
    }
  }
}

// The layers of one array.
Status add_layers(const FileOption& file, Array array, std::size_t number,
                  bool several, WeightsFile& to) {
  const std::size_t rank = array.shape.size();
  if (rank < 3 || rank > (several ? 5U : 4U)) {
    return wrong_rank(
        kOption, array,
        several ? "(B, H, Lq, Lkv), (H, Lq, Lkv) or (N, B, H, Lq, Lkv)"
                : "(B, H, Lq, Lkv) or (H, Lq, Lkv) per layer");
  }
  if (std::ranges::count(array.shape, std::size_t{0}) != 0) {
    return wrong_rank(kOption, array, "1 or more on every axis");
  }
  if (!to.layers.empty() && to.batched != (rank > 3)) {
    return option_error(kOption,
                        message("has {} axes in layer {}", rank, number),
                        message("the {} of layer {}", to.batched ? 4 : 3,
                                to.layers.front().number),
                        ErrorCode::shape_mismatch);
  }
  to.batched = rank > 3;
  while (array.shape.size() < 5) {
    array.shape.insert(array.shape.begin(), 1);
  }
  if (array.shape[0] > kMostLayers) {
    return option_error(kOption, message("has {} layers", array.shape[0]),
                        message("at most {}", kMostLayers),
                        ErrorCode::shape_mismatch);
  }
  HEADWISE_ASSIGN(auto all, tensor_of<float, 5>(file, array));
  clear_nan_rows(all, number, to);
  const Tensor<float, 5>& kept = to.arrays.emplace_back(std::move(all));
  const auto [N, B, H, Lq, Lkv] = kept.extents();
  for (std::size_t n = 0; n < N; ++n) {
    to.layers.push_back({number + n, {&kept(n, 0, 0, 0, 0), {B, H, Lq, Lkv}}});
  }
  return ok();
}

// Layers of one text: only the number of heads may differ.
Status check_alike(const std::vector<LayerOfWeights>& layers) {
  const auto& first = layers.front();
  for (const LayerOfWeights& layer : layers) {
    for (const auto& [axis, one, several] :
         {std::tuple{std::size_t{0}, "sequence", "sequences"},
          {2, "query", "queries"},
          {3, "key", "keys"}}) {
      const std::size_t found = layer.attn_weights.extent(axis);
      const std::size_t expected = first.attn_weights.extent(axis);
      if (found != expected) {
        return option_error(
            kOption,
            found == 1
                ? message("has 1 {} in layer {}", Message(one), layer.number)
                : message("has {} {} in layer {}", found, Message(several),
                          layer.number),
            message("the {} of layer {}", expected, first.number),
            ErrorCode::shape_mismatch);
      }
    }
  }
  return ok();
}

}  // namespace

Result<WeightsFile> read_weights_file(const std::string& path) {
  auto arrays = read_arrays(path);
  if (!arrays) {
    return error_of_option(kOption, arrays.error());
  }
  if (arrays->empty()) {
    return FileSubject{std::string(kOption), path}.bad_data("has no entries");
  }
  const Array& only = arrays->begin()->second;
  const bool whole =
      arrays->size() == 1 &&
      (only.shape.size() == 5 ||
       arrays->begin()->first.find_first_of("0123456789") == std::string::npos);
  std::vector<std::size_t> numbers{0};
  if (!whole) {
    HEADWISE_ASSIGN(numbers, layer_numbers(*arrays, path));
  }
  WeightsFile file;
  auto number = numbers.begin();
  for (auto& [name, array] : *arrays) {
    HEADWISE_TRY(
        add_layers({kOption, path}, std::move(array), *number++, whole, file));
  }
  std::ranges::sort(file.layers, {}, &LayerOfWeights::number);
  HEADWISE_TRY(check_alike(file.layers));
  return file;
}

}  // namespace headwise::cli
