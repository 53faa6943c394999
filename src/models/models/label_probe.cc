#include "headwise/models/label_probe.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/exponential.h"
#include "base/out_of_memory.h"
#include "headwise/interop/safetensors.h"
#include "headwise/module/optimizer.h"
#include "headwise/steps/softmax.h"
#include "interop/error_text.h"
#include "interop/input_file.h"
#include "interop/json_events.h"
#include "interop/utf8.h"
#include "run/float_environment.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kLabelProbe = "label_probe";
constexpr std::string_view kFile = "/classifier.safetensors";
const std::string kLabels = "labels";

Status check_labels(const std::vector<std::string>& labels) {
  if (labels.size() < 2) {
    return argument_error(
        kLabelProbe, "labels",
        message(labels.size() == 1 ? "has {} text" : "has {} texts",
                labels.size()),
        "at least 2");
  }
  std::set<std::string_view> seen;
  for (std::size_t n = 0; n < labels.size(); ++n) {
    const std::string& label = labels[n];
    const std::string argument = "labels[" + std::to_string(n) + "]";
    if (find_invalid_utf8(label)) {
      return value_error(kLabelProbe, argument, printable(label), "UTF-8 text");
    }
    if (!seen.insert(label).second) {
      return argument_error(kLabelProbe, argument,
                            message("is {} again", printable(label)),
                            "different labels");
    }
  }
  return ok();
}

// A list of texts and nothing else, `most` of them at most.
class LabelEvents : public JsonEvents {
 public:
  explicit LabelEvents(std::size_t most) : most_(most) {}

  std::vector<std::string> take() { return std::move(labels_); }

  bool string(std::string& value) override {
    if (!is_open_ || labels_.size() == most_) {
      return JsonEvents::string(value);
    }
    labels_.push_back(std::move(value));
    return true;
  }
  bool start_array(std::size_t elements) override {
    return is_open_ ? JsonEvents::start_array(elements) : (is_open_ = true);
  }
  bool key(std::string& /*key*/) override { return false; }  // no object opens

 private:
  Place place() const override { return {"", "a list of texts"}; }

  std::size_t most_;
  bool is_open_ = false;
  std::vector<std::string> labels_;
};

// The `count` labels in a file's metadata.
Result<std::vector<std::string>> labels_of(const SafetensorsMetadata& metadata,
                                           std::size_t count,
                                           const FileSubject& subject) {
  const auto found = metadata.find(kLabels);
  LabelEvents events(count);
  if (found != metadata.end() && read_json(found->second, events, {})) {
    auto labels = events.take();
    if (labels.size() == count) {
      return labels;
    }
  }
  return subject.of_entry("__metadata__.labels")
      .bad_data("is not a list of its labels as JSON",
                message("{} texts", count));
}

// The same list as text. (A tree of JSON ends the program where memory does.)
std::string probe_text(const std::vector<std::string>& labels) {
  const auto quoted = [](const std::string& label) {
    return *json_string(label);
  };
  return "[" + list_text(labels, ",", quoted) + "]";
}

// logits -> probabilities, in place. `powers` has room for one row.
void softmax_in_place(std::span<float> row, std::span<double> powers) {
  const auto is_finite = [](float logit) { return std::isfinite(logit); };
  if (!std::ranges::all_of(row, is_finite)) {
    std::ranges::fill(row, kNaN);
    return;
  }
  const double max = std::ranges::max(row);
  double sum = 0;
  for (std::size_t c = 0; c < row.size(); ++c) {
    powers[c] = exponential(row[c] - max);
    sum += powers[c];
  }
  for (std::size_t c = 0; c < row.size(); ++c) {
    row[c] = static_cast<float>(powers[c] / sum);
  }
}

template <std::size_t Rank>
Result<Tensor<float, Rank>> read_param(const SafetensorsFile& file,
                                       std::string_view name,
                                       const std::string& path) {
  const FileSubject subject{std::string(kLabelProbe), path};
  if (!file.tensors().contains(name)) {
    return subject.bad_data(message("has no {}", name));
  }
  HEADWISE_ASSIGN(const auto array, file.array(name));
  if (Status s = check_finite(array, kLabelProbe, name); !s) {
    return subject.blame(s.error());
  }
  auto param = to_float<Rank>(array, kLabelProbe, name);
  return param ? std::move(param) : subject.blame(param.error());
}

Result<LabelProbe> read_probe(const std::string& path,
                              std::size_t embedding_size) {
  const FileSubject subject{std::string(kLabelProbe), path};
  HEADWISE_ASSIGN(const auto file, open_safetensors(path));
  HEADWISE_ASSIGN(auto weight, read_param<2>(file, "weight", path));
  HEADWISE_ASSIGN(auto bias, read_param<1>(file, "bias", path));
  const std::size_t count = weight.extent(0);
  Status s = check_shape(kLabelProbe, "weight", weight.extents(),
                         "(labels, embedding_size)",
                         Extents<2>{count, embedding_size});
  s = s ? check_shape(kLabelProbe, "bias", bias.extents(), "(labels)",
                      Extents<1>{count})
        : s;
  if (!s) {
    return subject.blame(s.error());
  }
  HEADWISE_ASSIGN(auto labels, labels_of(file.metadata(), count, subject));
  if (s = check_labels(labels); !s) {
    return subject.blame(s.error());
  }
  auto linear = Linear::from_params(std::move(weight), std::move(bias));
  return linear ? LabelProbe::create(*std::move(linear), std::move(labels))
                : Result<LabelProbe>(linear.error());
}

}  // namespace

Result<LabelProbe> LabelProbe::create(Linear linear,
                                      std::vector<std::string> labels) try {
  HEADWISE_TRY(check_labels(labels));
  if (linear.out_features() != labels.size()) {
    return shape_error(kLabelProbe, "weight",
                       Extents<2>{linear.out_features(), linear.in_features()},
                       "(labels, embedding_size)",
                       Extents<2>{labels.size(), linear.in_features()});
  }
  if (!linear.has_bias()) {
    return shape_error(kLabelProbe, "bias", Extents<1>{0}, "(labels)",
                       Extents<1>{labels.size()});
  }
  return LabelProbe(std::move(linear), std::move(labels));
} catch (...) {
  return caught_out_of_memory();
}

Result<LabelProbe> LabelProbe::create(std::size_t embedding_size,
                                      std::vector<std::string> labels) try {
  HEADWISE_ASSIGN(auto weight,
                  Tensor<float, 2>::create({labels.size(), embedding_size}));
  HEADWISE_ASSIGN(auto bias, Tensor<float, 1>::create({labels.size()}));
  HEADWISE_TRY(check_labels(labels));
  auto linear = Linear::from_params(std::move(weight), std::move(bias));
  return linear ? create(*std::move(linear), std::move(labels))
                : Result<LabelProbe>(linear.error());
} catch (...) {
  return caught_out_of_memory();
}

Result<LabelProbe> LabelProbe::train(TensorView<const float, 2> embeddings,
                                     TensorView<const std::int64_t, 1> targets,
                                     std::vector<std::string> labels,
                                     const ProbeTraining& training) {
  return catching_out_of_memory([&]() -> Result<LabelProbe> {
    HEADWISE_ASSIGN(auto probe,
                    create(embeddings.extent(1), std::move(labels)));
    HEADWISE_ASSIGN(
        auto optimizer,
        Optimizer::create(AdamWConfig{.learning_rate = training.learning_rate,
                                      .weight_decay = training.weight_decay}));
    const Executor& executor =
        training.executor ? *training.executor : Executor::default_executor();
    for (std::size_t step = 0; step < training.steps; ++step) {
      HEADWISE_ASSIGN(const auto logits, probe.logits(embeddings, executor));
      HEADWISE_ASSIGN(const auto loss, cross_entropy(logits, targets));
      HEADWISE_ASSIGN(const auto gradients,
                      probe.linear_.backward_params(
                          as_batch_of_one(embeddings),
                          as_batch_of_one(loss.d_logits), {}, executor));
      optimizer.begin_step();
      Status s = ok();
      probe.linear_.update([&](std::span<float> weight, std::span<float> bias) {
        s = optimizer.update("weight", weight, gradients.weight.elements());
        s = s ? optimizer.update("bias", bias, gradients.bias.elements()) : s;
      });
      HEADWISE_TRY(s);
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
    HEADWISE_ASSIGN(const auto there,
                    InputFile::open_if_there(kLabelProbe, path));
    if (!there.has_value()) {
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
    return write_safetensors(folder + std::string(kFile), params,
                             {{kLabels, probe_text(labels_)}});
  });
}

Result<Tensor<float, 2>> LabelProbe::logits(
    TensorView<const float, 2> embeddings, const Executor& executor) const try {
  auto logits =
      linear_.forward(as_batch_of_one(embeddings), "embeddings", executor);
  return logits ? Result<Tensor<float, 2>>(std::move(*logits).without_batch())
                : logits.error();
} catch (...) {
  return caught_out_of_memory();
}

Result<Tensor<float, 2>> LabelProbe::probabilities(
    TensorView<const float, 2> embeddings, const Executor& executor) const {
  return catching_out_of_memory([&]() -> Result<Tensor<float, 2>> {
    auto rows = logits(embeddings, executor);
    if (!rows) {
      return rows;
    }
    const FloatEnvironment environment;
    const std::size_t count = labels_.size();
    std::vector<double> powers(count);
    for (std::size_t n = 0; n < rows->extent(0); ++n) {
      softmax_in_place(rows->elements().subspan(n * count, count), powers);
    }
    return rows;
  });
}

std::size_t predicted_label(TensorView<const float, 2> logits,
                            std::size_t row) {
  std::size_t best = 0;
  for (std::size_t c = 1; c < logits.extent(1); ++c) {
    best = logits(row, c) > logits(row, best) ? c : best;
  }
  return best;
}

}  // namespace headwise::inline HEADWISE_ABI
