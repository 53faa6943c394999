#include "models/dense_module.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "base/check.h"
#include "headwise/interop/array.h"
#include "headwise/interop/file_subject.h"
#include "interop/folder.h"
#include "interop/json_fields.h"
#include "interop/param_file.h"
#include "models/model_files.h"
#include "models/model_folder.h"
#include "models/pooling.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kDense = "read_dense";

constexpr auto kDenseKeys = std::to_array<std::string_view>(
    {"in_features", "out_features", "bias", "activation_function",
     "module_input_name", "module_output_name", "use_residual"});
constexpr SizeRange kFeatures = {1, std::size_t{1} << 20U};
constexpr std::string_view kEmbedding = "sentence_embedding";

template <std::size_t Rank>
Result<Tensor<float, Rank>> tensor_of(const ParamFile& file,
                                      const std::string& name,
                                      const Extents<Rank>& extents) {
  const FileSubject subject{std::string(kDense), file.path()};
  if (!file.names().contains(name)) {
    return subject.bad_data(message("has no {}", name));
  }
  HEADWISE_ASSIGN(const auto array, file.read(name));
  Status s = check_shape(
      kDense, name, array.shape,
      Rank == 2 ? "(out_features, in_features)" : "(out_features)", extents);
  s = s ? check_finite(array.view(), kDense, name) : s;
  if (!s) {
    return subject.blame(s.error());
  }
  auto made = to_float<Rank>(array, kDense, name);
  return made ? std::move(made) : subject.blame(made.error());
}

}  // namespace

Result<DenseSettings> parse_dense(std::string_view text,
                                  const FileSubject& subject) {
  HEADWISE_ASSIGN(const auto fields,
                  JsonFields::parse(text, subject, kDenseKeys));
  DenseSettings settings;
  HEADWISE_TRY(fields.require("in_features", kFeatures, settings.in_features));
  HEADWISE_TRY(
      fields.require("out_features", kFeatures, settings.out_features));
  HEADWISE_TRY(fields.get("bias", settings.bias));
  std::string activation = "torch.nn.modules.activation.Tanh";
  HEADWISE_TRY(fields.get("activation_function", activation));
  const std::string name = activation.substr(activation.rfind('.') + 1);
  if (!activation.starts_with("torch.nn.") ||
      (name != "Tanh" && name != "Identity")) {
    return fields.unexpected("activation_function",
                             "torch.nn.modules.activation.Tanh or "
                             "torch.nn.modules.linear.Identity",
                             ErrorCode::unsupported);
  }
  settings.activation =
      name == "Tanh" ? DenseActivation::tanh : DenseActivation::identity;
  for (const std::string_view key :
       {"module_input_name", "module_output_name"}) {
    std::string of{kEmbedding};
    HEADWISE_TRY(fields.get(key, of));
    if (of != kEmbedding) {
      return fields.unexpected(key, kEmbedding, ErrorCode::unsupported);
    }
  }
  bool adds_input = false;
  HEADWISE_TRY(fields.get("use_residual", adds_input));
  return adds_input ? fields.unexpected("use_residual", "false",
                                        ErrorCode::unsupported)
                    : Result<DenseSettings>(std::move(settings));
}

Result<DenseModule> DenseModule::read(const DenseSettings& settings) {
  const std::string path = path_in(settings.folder, std::string(kParamsFile));
  HEADWISE_TRY(check_regular_file(kDense, path));
  HEADWISE_ASSIGN(const auto file, ParamFile::open(kDense, path));
  HEADWISE_ASSIGN(auto weight,
                  tensor_of<2>(file, "linear.weight",
                               {settings.out_features, settings.in_features}));
  Tensor<float, 1> bias;
  if (settings.bias) {
    HEADWISE_ASSIGN(bias,
                    tensor_of<1>(file, "linear.bias", {settings.out_features}));
  }
  return DenseModule(std::move(weight), std::move(bias), settings.activation);
}

std::vector<float> DenseModule::forward(std::span<const float> x) const {
  std::vector<float> y(weight_.extent(0));
  for (std::size_t o = 0; o < y.size(); ++o) {
    y[o] =
        dot({&weight_(o, 0), x.size()}, x) + (bias_.size() != 0 ? bias_(o) : 0);
    if (activation_ == DenseActivation::tanh) {
      y[o] = static_cast<float>(std::tanh(static_cast<double>(y[o])));
    }
  }
  return y;
}

std::vector<float> DenseModule::backward(std::span<const float> y,
                                         std::span<const float> d_y) const {
  std::vector<float> d_x(weight_.extent(1));
  for (std::size_t o = 0; o < y.size(); ++o) {
    const float d = activation_ == DenseActivation::tanh
                        ? d_y[o] * (1 - y[o] * y[o])
                        : d_y[o];
    for (std::size_t i = 0; i < d_x.size(); ++i) {
      d_x[i] += d * weight_(o, i);
    }
  }
  return d_x;
}

}  // namespace headwise::inline HEADWISE_ABI
