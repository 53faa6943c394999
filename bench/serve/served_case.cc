#include "served_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "headwise/base/checked_product.h"
#include "served_arithmetic.h"

namespace headwise::cli {
namespace {

struct DeclaredTensor {
  std::string dtype;
  std::vector<std::size_t> extents;
};

Error bad_spec(std::string message) {
  return {ErrorCode::bad_data, {.given = "spec.txt: " + std::move(message)}};
}

std::optional<std::size_t> number(std::string_view text) {
  std::size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end ? std::optional(value)
                                             : std::nullopt;
}

// The lines of spec.txt, and the tensors that they declare.
class Spec {
 public:
  static Result<Spec> read(const std::filesystem::path& folder) {
    Spec spec(folder);
    std::ifstream file(folder / "spec.txt");
    if (!file) {
      return Error{ErrorCode::io_error,
                   {.given = "cannot open " + (folder / "spec.txt").string()}};
    }
    for (std::string line; std::getline(file, line);) {
      HEADWISE_TRY(spec.add(line));
    }
    return spec;
  }

  const std::map<std::string, std::string>& values() const { return values_; }

  std::string text(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? "" : found->second;
  }

  Result<std::size_t> size(const std::string& key) const {
    const std::optional<std::size_t> value = number(text(key));
    if (!value || *value == 0) {
      return bad_spec(fmt::format("{} is {}, expected a whole number from 1 on",
                                  key,
                                  text(key).empty() ? "missing" : text(key)));
    }
    return *value;
  }

  Result<bool> flag(const std::string& key) const {
    const std::string value = text(key);
    if (!value.empty() && value != "0" && value != "1") {
      return bad_spec(fmt::format("{} is {}, expected 0 or 1", key, value));
    }
    return value == "1";
  }

  // The tensor `name` of these extents. T is float or std::int32_t.
  template <class T, std::size_t Rank>
  Result<Tensor<T, Rank>> tensor(const std::string& name,
                                 const Extents<Rank>& extents) const {
    const std::string dtype = std::is_same_v<T, float> ? "f32" : "i32";
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
      return bad_spec(fmt::format("tensor {} is missing", name));
    }
    if (found->second.dtype != dtype ||
        !std::ranges::equal(found->second.extents, extents)) {
      return bad_spec(fmt::format("tensor {} is {} ({}), expected {} ({})",
                                  name, found->second.dtype,
                                  fmt::join(found->second.extents, ", "), dtype,
                                  fmt::join(extents, ", ")));
    }
    return read_tensor<T>(name, extents);
  }

 private:
  explicit Spec(std::filesystem::path folder) : folder_(std::move(folder)) {}

  Status add(const std::string& line) {
    std::istringstream words(line);
    std::string key;
    if (!(words >> key)) {
      return ok();
    }
    if (key != "tensor") {
      words >> values_[key];
      return ok();
    }
    std::string name;
    DeclaredTensor declared;
    words >> name >> declared.dtype;
    for (std::string word; words >> word;) {
      const std::optional<std::size_t> extent = number(word);
      if (!extent) {
        return bad_spec(fmt::format(
            "tensor {} has an extent {}, expected a whole number", name, word));
      }
      declared.extents.push_back(*extent);
    }
    tensors_[name] = std::move(declared);
    return ok();
  }

  // The file's size is looked at before memory is taken.
  template <class T, std::size_t Rank>
  Result<Tensor<T, Rank>> read_tensor(const std::string& name,
                                      const Extents<Rank>& extents) const {
    const std::filesystem::path path = folder_ / (name + ".bin");
    std::error_code failed;
    const auto bytes = std::filesystem::file_size(path, failed);
    if (failed) {
      return Error{ErrorCode::io_error,
                   {.given = fmt::format("cannot read {}: {}", path.string(),
                                         failed.message())}};
    }
    const auto count = checked_product(extents);
    if (!count || bytes % sizeof(T) != 0 || bytes / sizeof(T) != *count) {
      return Error{ErrorCode::bad_data,
                   {.given = fmt::format(
                        "{} has {} bytes, expected those of ({})",
                        path.string(), bytes, fmt::join(extents, ", "))}};
    }
    auto tensor = Tensor<T, Rank>::create(extents);
    HEADWISE_TRY(tensor);
    std::ifstream file(path, std::ios::binary);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
    file.read(reinterpret_cast<char*>(tensor->data()),
              static_cast<std::streamsize>(bytes));
    if (!file) {
      return Error{ErrorCode::io_error,
                   {.given = "cannot read " + path.string()}};
    }
    return tensor;
  }

  std::filesystem::path folder_;
  std::map<std::string, std::string> values_;
  std::map<std::string, DeclaredTensor> tensors_;
};

using Words = std::vector<std::string>;

struct Kind {
  std::string name;
  Words keys;    // that it offers besides those of every kind
  Words dtypes;  // numbers other than f32
};

const Kind* find_kind(const std::string& name) {
  static const std::vector<Kind> kKinds = {
      {"sdpa", {"causal", "lens", "window", "bias", "weights", "dv"}, {"bf16"}},
      {"ragged", {"causal", "lens", "window"}, {}},
      {"training", {"causal", "lens", "window"}, {}},
      {"module", {"causal", "lens", "window", "bias", "weights", "D"}, {}},
      {"cached",
       {"causal", "dv", "page", "prefix", "shuffled", "chunk"},
       {"bf16", "f16", "i8"}}};
  const auto found = std::ranges::find(kKinds, name, &Kind::name);
  return found == kKinds.end() ? nullptr : &*found;
}

bool has(const Words& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

Error unsupported(std::string what) {
  return {ErrorCode::unsupported, {.given = std::move(what)}};
}

// What is asked for and not offered, so that no answer is a different one.
Status check_offered(const Spec& spec) {
  static const Words kOfEveryKind = {"name",  "kind",  "B",         "Hq",
                                     "Hkv",   "Lq",    "Lk",        "d",
                                     "dtype", "fresh", "arithmetic"};
  const Kind* const kind = find_kind(spec.text("kind"));
  if (kind == nullptr) {
    return unsupported("kind " + spec.text("kind"));
  }
  for (const auto& [key, value] : spec.values()) {
    if (!has(kOfEveryKind, key) && !has(kind->keys, key) && value != "0") {
      return unsupported(
          fmt::format("{} {} of a {} workload", key, value, kind->name));
    }
  }
  const std::string dtype = spec.text("dtype");
  if (!dtype.empty() && dtype != "f32" && !has(kind->dtypes, dtype)) {
    return unsupported(
        fmt::format("dtype {} of a {} workload", dtype, kind->name));
  }
  if (kind->name == "sdpa" && dtype == "bf16" && spec.text("weights") == "1") {
    return unsupported("weights in bf16");
  }
  if (kind->name == "cached" && spec.text("causal") != "1") {
    return unsupported("a cached workload that is not causal");
  }
  return ok();
}

Result<AttentionShape> read_shape(const Spec& spec) {
  AttentionShape shape;
  for (const auto& [key, extent] :
       {std::pair("B", &shape.B), std::pair("Hq", &shape.Hq),
        std::pair("Hkv", &shape.Hkv), std::pair("Lq", &shape.Lq),
        std::pair("Lk", &shape.Lkv), std::pair("d", &shape.D)}) {
    const auto size = spec.size(key);
    HEADWISE_TRY(size);
    *extent = *size;
  }
  shape.Dv = shape.D;
  if (spec.values().contains("dv")) {
    const auto size = spec.size("dv");
    HEADWISE_TRY(size);
    shape.Dv = *size;
  }
  return shape;
}

// Before a ragged workload's sequences are cut out of the tensors by them.
Status check_lengths(const Tensor<std::int32_t, 1>& lengths,
                     const Workload& workload) {
  const auto most = static_cast<std::int32_t>(
      std::min(workload.shape.Lkv,
               workload.ragged ? workload.shape.Lq : workload.shape.Lkv));
  for (const std::int32_t length : lengths.elements()) {
    if (length < 0 || length > most) {
      return bad_spec(
          fmt::format("lens has {}, expected 0 to {}", length, most));
    }
  }
  return ok();
}

DType cached_type(const std::string& dtype) {
  return dtype == "bf16"  ? DType::bfloat16
         : dtype == "f16" ? DType::float16
         : dtype == "i8"  ? DType::int8
                          : DType::float32;
}

// What makes a workload a cached one.
Status read_cache(const Spec& spec, Workload& workload) {
  const AttentionShape& shape = workload.shape;
  if (shape.Lq > shape.Lkv) {
    return bad_spec(
        fmt::format("Lq is {}, expected at most Lk, {}", shape.Lq, shape.Lkv));
  }
  const auto prefix = spec.flag("prefix");
  const auto shuffled = spec.flag("shuffled");
  HEADWISE_TRY(prefix);
  HEADWISE_TRY(shuffled);
  KvCacheOptions cache = {.dtype = cached_type(spec.text("dtype")),
                          .page_size = 0,
                          .value_is_key_prefix = *prefix};
  if (*shuffled || spec.values().contains("page")) {
    const auto page = spec.size("page");
    HEADWISE_TRY(page);
    cache.page_size = *page;
  }
  if (spec.values().contains("chunk")) {
    const auto chunk = spec.size("chunk");
    HEADWISE_TRY(chunk);
    workload.chunk = *chunk;
  }
  workload.shuffled = *shuffled;
  workload.cache = cache;
  return ok();
}

Result<Workload> read_workload(const Spec& spec) {
  const auto shape = read_shape(spec);
  const auto causal = spec.flag("causal");
  const auto attn_weights = spec.flag("weights");
  const auto padded = spec.flag("lens");
  const auto bias = spec.flag("bias");
  const auto arithmetic =
      served_arithmetic("spec.txt", spec.text("arithmetic"));
  HEADWISE_TRY(causal);
  HEADWISE_TRY(attn_weights);
  HEADWISE_TRY(padded);
  HEADWISE_TRY(bias);
  HEADWISE_TRY(arithmetic);
  HEADWISE_TRY(shape);
  Workload workload{
      .name = spec.text("name"),
      .shape = *shape,
      .causal = *causal,
      .attn_weights = *attn_weights,
      .bias = *bias,
      .bfloat16 = spec.text("kind") == "sdpa" && spec.text("dtype") == "bf16",
      .ragged = spec.text("kind") == "ragged",
      .backward = spec.text("kind") == "training",
      .arithmetic = *arithmetic};
  if (*padded || workload.ragged) {
    const auto lengths = spec.tensor<std::int32_t, 1>("lens", {shape->B});
    HEADWISE_TRY(lengths);
    HEADWISE_TRY(check_lengths(*lengths, workload));
    workload.lengths.assign(lengths->elements().begin(),
                            lengths->elements().end());
  }
  if (spec.values().contains("window")) {
    const auto left = spec.size("window");
    HEADWISE_TRY(left);
    workload.window = static_cast<std::int64_t>(*left);
  }
  if (spec.text("kind") == "module") {
    const auto embed_dim = spec.size("D");
    HEADWISE_TRY(embed_dim);
    workload.embed_dim = *embed_dim;
  }
  if (spec.text("kind") == "cached") {
    HEADWISE_TRY(read_cache(spec, workload));
  }
  return workload;
}

Result<Linear> read_linear(const Spec& spec, const std::string& letter,
                           const Extents<2>& extents) {
  auto weight = spec.tensor<float, 2>("w" + letter, extents);
  HEADWISE_TRY(weight);
  auto bias = spec.tensor<float, 1>("b" + letter, {extents[0]});
  HEADWISE_TRY(bias);
  return Linear::from_params(*std::move(weight), *std::move(bias));
}

Result<BenchInputs> read_layer(const Spec& spec, const Workload& workload) {
  const std::size_t E = workload.embed_dim;
  BenchInputs inputs;
  auto x = spec.tensor<float, 3>("x", layer_extents(workload));
  HEADWISE_TRY(x);
  inputs.x = *std::move(x);
  const std::size_t features = workload.shape.Hq * workload.shape.D;
  std::vector<Linear> linears;
  for (const char* letter : {"q", "k", "v", "o"}) {
    auto linear = read_linear(
        spec, letter,
        *letter == 'o' ? Extents<2>{E, features} : Extents<2>{features, E});
    HEADWISE_TRY(linear);
    linears.push_back(*std::move(linear));
  }
  auto layer = MultiHeadAttention::from_params(
      {.w_q = std::move(linears[0]),
       .w_k = std::move(linears[1]),
       .w_v = std::move(linears[2]),
       .w_o = std::move(linears[3])},
      // The size of a head as well: a product beyond 64 bits is refused by it.
      HeadCounts{.num_heads = workload.shape.Hq, .head_dim = workload.shape.D});
  HEADWISE_TRY(layer);
  inputs.layer = *std::move(layer);
  return inputs;
}

Result<BenchInputs> read_attention(const Spec& spec, const Workload& workload) {
  auto query = spec.tensor<float, 4>("q", query_extents(workload));
  auto key = spec.tensor<float, 4>("k", key_extents(workload));
  HEADWISE_TRY(query);
  HEADWISE_TRY(key);
  BenchInputs inputs;
  inputs.query = *std::move(query);
  inputs.key = *std::move(key);
  if (!workload.cache || !workload.cache->value_is_key_prefix) {
    auto value = spec.tensor<float, 4>("v", value_extents(workload));
    HEADWISE_TRY(value);
    inputs.value = *std::move(value);
  }
  if (workload.backward) {
    auto d_output = spec.tensor<float, 4>("do", output_extents(workload));
    HEADWISE_TRY(d_output);
    inputs.d_output = *std::move(d_output);
  }
  return inputs;
}

}  // namespace

Result<ServedCase> read_served_case(const std::filesystem::path& folder) {
  const auto spec = Spec::read(folder);
  HEADWISE_TRY(spec);
  HEADWISE_TRY(check_offered(*spec));
  auto workload = read_workload(*spec);
  HEADWISE_TRY(workload);
  auto inputs = workload->embed_dim != 0 ? read_layer(*spec, *workload)
                                         : read_attention(*spec, *workload);
  HEADWISE_TRY(inputs);
  if (workload->bias) {
    auto bias = spec->tensor<float, 4>("bias", bias_extents(*workload));
    HEADWISE_TRY(bias);
    inputs->bias = *std::move(bias);
  }
  return ServedCase{*std::move(workload), *std::move(inputs)};
}

}  // namespace headwise::cli
