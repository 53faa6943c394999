#include "headwise/models/label_probe.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/interop/safetensors.h"
#include "headwise/module/loss.h"
#include "headwise/module/optimizer.h"
#include "interop/error_text.h"
#include "interop/input_file.h"

namespace headwise {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kOperation = "label_probe";
constexpr std::string_view kFile = "/classifier.safetensors";
const std::string kLabels = "labels";

// (N, C) -> (1, N, C)
TensorView<const float, 3> as_one_batch(TensorView<const float, 2> x) {
  return {
      x.data(), {1, x.extent(0), x.extent(1)}, {0, x.stride(0), x.stride(1)}};
}

Status check_labels(const std::vector<std::string>& labels) {
  if (labels.size() < 2) {
    return value_error(kOperation, "the number of labels",
                       std::to_string(labels.size()), "at least 2");
  }
  std::set<std::string_view> seen;
  for (const std::string& label : labels) {
    if (!seen.insert(label).second) {
      return value_error(kOperation, "the label " + printable(label),
                         "there twice", "different ones");
    }
  }
  return ok();
}

// The labels in a file's metadata.
Result<std::vector<std::string>> labels_of(const SafetensorsMetadata& metadata,
                                           const std::string& subject) {
  const Error bad{ErrorCode::bad_data,
                  subject +
                      ": expected the list of its labels as JSON in "
                      "the metadata"};
  const auto found = metadata.find(kLabels);
  if (found == metadata.end()) {
    return bad;
  }
  const Json json = Json::parse(found->second, nullptr, false);
  if (!json.is_array() || !std::ranges::all_of(json, &Json::is_string)) {
    return bad;
  }
  return json.get<std::vector<std::string>>();
}

Result<LabelProbe> read_probe(const std::string& path,
                              std::size_t embedding_size) {
  const std::string subject = std::string(kOperation) + ": " + path;
  const auto file = open_safetensors(path);
  if (!file) {
    return file.error();
  }
  auto labels = labels_of(file->metadata(), subject);
  const auto weight = file->array("weight");
  const auto bias = file->array("bias");
  if (!labels || !weight || !bias) {
    return !labels ? labels.error() : !weight ? weight.error() : bias.error();
  }
  for (const auto& [name, array] :
       {std::pair("weight", &*weight), std::pair("bias", &*bias)}) {
    if (Status s = check_finite(*array, kOperation, path + ": " + name); !s) {
      return s.error();
    }
  }
  auto rows = to_float<2>(*weight, subject, "weight");
  auto added = to_float<1>(*bias, subject, "bias");
  if (!rows || !added) {
    return rows ? added.error() : rows.error();
  }
  if (Status s = check_shape(subject, "weight", rows->extents(),
                             "(labels, embedding_size)",
                             Extents<2>{labels->size(), embedding_size});
      !s) {
    return Error{ErrorCode::bad_data, s.error().message};
  }
  auto linear = Linear::from_params(*std::move(rows), *std::move(added));
  auto probe = linear
                   ? LabelProbe::create(*std::move(linear), *std::move(labels))
                   : Result<LabelProbe>(linear.error());
  return probe
             ? std::move(probe)
             : Error{ErrorCode::bad_data, path + ": " + probe.error().message};
}

}  // namespace

Result<LabelProbe> LabelProbe::create(Linear linear,
                                      std::vector<std::string> labels) {
  if (Status s = check_labels(labels); !s) {
    return s.error();
  }
  if (linear.out_features() != labels.size()) {
    return shape_error(kOperation, "weight",
                       Extents<2>{linear.out_features(), linear.in_features()},
                       "(labels, embedding_size)",
                       Extents<2>{labels.size(), linear.in_features()});
  }
  return LabelProbe(std::move(linear), std::move(labels));
}

Result<LabelProbe> LabelProbe::create(std::size_t embedding_size,
                                      std::vector<std::string> labels) {
  auto weight = Tensor<float, 2>::create({labels.size(), embedding_size});
  auto bias = Tensor<float, 1>::create({labels.size()});
  if (!weight || !bias) {
    return weight ? bias.error() : weight.error();
  }
  if (Status s = check_labels(labels); !s) {
    return s.error();
  }
  auto linear = Linear::from_params(*std::move(weight), *std::move(bias));
  return linear ? create(*std::move(linear), std::move(labels))
                : Result<LabelProbe>(linear.error());
}

Result<LabelProbe> LabelProbe::train(TensorView<const float, 2> embeddings,
                                     TensorView<const std::int64_t, 1> targets,
                                     std::vector<std::string> labels,
                                     const ProbeTraining& training) {
  return catching_out_of_memory([&]() -> Result<LabelProbe> {
    auto probe = create(embeddings.extent(1), std::move(labels));
    auto optimizer =
        Optimizer::create(AdamWConfig{.learning_rate = training.learning_rate,
                                      .weight_decay = training.weight_decay});
    if (!probe || !optimizer) {
      return probe ? optimizer.error() : probe.error();
    }
    for (std::size_t step = 0; step < training.steps; ++step) {
      const auto logits = probe->logits(embeddings);
      if (!logits) {
        return logits.error();
      }
      const auto loss = cross_entropy(logits->view(), targets);
      if (!loss) {
        return loss.error();
      }
      const auto gradients = probe->linear_.backward_params(
          as_one_batch(embeddings), as_one_batch(loss->d_logits.view()));
      if (!gradients) {
        return gradients.error();
      }
      optimizer->begin_step();
      Status s = ok();
      probe->linear_.update([&](std::span<float> weight,
                                std::span<float> bias) {
        s = optimizer->update("weight", weight, gradients->weight.elements());
        s = s ? optimizer->update("bias", bias, gradients->bias.elements()) : s;
      });
      if (!s) {
        return s.error();
      }
      if (training.progress) {
        training.progress(step + 1, training.steps);
      }
    }
    return probe;
  });
}

Result<std::optional<LabelProbe>> LabelProbe::read(const std::string& folder,
                                                   std::size_t embedding_size) {
  return catching_out_of_memory([&]() -> Result<std::optional<LabelProbe>> {
    const std::string path = folder + std::string(kFile);
    const auto there = InputFile::open_if_there(kOperation, path);
    if (!there) {
      return there.error();
    }
    if (!there->has_value()) {
      return std::optional<LabelProbe>();
    }
    auto probe = read_probe(path, embedding_size);
    return probe ? Result<std::optional<LabelProbe>>(*std::move(probe))
                 : probe.error();
  });
}

Status LabelProbe::write(const std::string& folder) const {
  return catching_out_of_memory([&] {
    const std::map<std::string, AnyView> params = {{"weight", linear_.weight()},
                                                   {"bias", linear_.bias()}};
    const auto text =
        Json(labels_).dump(-1, ' ', false, Json::error_handler_t::replace);
    return write_safetensors(folder + std::string(kFile), params,
                             {{kLabels, text}});
  });
}

Result<Tensor<float, 2>> LabelProbe::logits(
    TensorView<const float, 2> embeddings) const {
  auto logits = linear_.forward(as_one_batch(embeddings), "embeddings");
  return logits ? Result<Tensor<float, 2>>(std::move(*logits).without_batch())
                : logits.error();
}

std::size_t predicted_label(TensorView<const float, 2> logits,
                            std::size_t row) {
  std::size_t best = 0;
  for (std::size_t c = 1; c < logits.extent(1); ++c) {
    best = logits(row, c) > logits(row, best) ? c : best;
  }
  return best;
}

}  // namespace headwise
