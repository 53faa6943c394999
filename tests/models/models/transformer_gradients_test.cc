// The encoder's gradients beside those of PyTorch and transformers, which
// bert_gradients.py wrote.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "headwise/interop/safetensors.h"
#include "headwise/transformer/transformer.h"
#include "models/small_model.h"

namespace headwise::testing_support {
namespace {

const RaggedTokens kIds = {{2, 5, 9, 3}, {2, 3}, {2, 13, 0, 1, 5, 6, 7, 8, 3}};
const std::vector<std::vector<float>> kGates = {{1, 0.5f, 0}, {-1, 1, 2}};
const std::string kFolder =
    std::string(HEADWISE_MODELS_DATA) + "/bert_gradients";

TEST(TransformerGradientsTest, TheyAreThoseOfPyTorch) {
  const auto file =
      open_safetensors(kFolder + "/gradients.safetensors").value();
  const auto wanted = [&](const std::string& name) {
    const Array array = file.array(name).value();
    const auto* data = reinterpret_cast<const float*>(array.data.data());
    return std::vector<float>(data, data + array.data.size() / sizeof(float));
  };
  const Transformer encoder =
      Transformer::read(kFolder, {.use = ModelUse::training}).value();
  std::vector<Tensor<float, 1>> gates;
  for (const auto& layer : kGates) {
    gates.push_back(tensor_of<float, 1>({layer.size()}, layer));
  }
  auto saved =
      encoder.forward_for_backward(kIds, {.head_gates = gates}).value();
  const auto expect_near = [](std::span<const float> got,
                              const std::vector<float>& want,
                              const std::string& name) {
    EXPECT_TRUE(all_near(got, std::span<const float>(want), 1e-5, 1e-5))
        << name;
  };
  expect_near({saved.hidden().data(), saved.hidden().size()}, wanted("hidden"),
              "hidden");
  const auto d_hidden = tensor_of<float, 2>({15, 12}, wanted("d_hidden"));
  const ModelGradients got = encoder.backward(saved, d_hidden).value();
  // Beside d_hidden, hidden and the gates of two layers.
  EXPECT_EQ(got.params.size() + 4, file.tensors().size());
  for (const auto& [name, gradient] : got.params) {
    expect_near(gradient.elements(), wanted(name), name);
  }
  for (std::size_t n = 0; n < 2; ++n) {
    const std::string name = "head_gates." + std::to_string(n);
    expect_near(std::as_const(got.head_gates[n]).elements(), wanted(name),
                name);
  }
}

}  // namespace
}  // namespace headwise::testing_support
