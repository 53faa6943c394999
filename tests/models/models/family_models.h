// Small random models of every form of tests/model_families/shapes.json.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "headwise/interop/safetensors.h"
#include "headwise/json/json.h"
#include "headwise/steps/tokens.h"
#include "headwise/transformer/transformer.h"
#include "interop/files.h"

namespace headwise::testing_support {

// Of each form config.json and the shapes of the tensors.
inline const Json& family_shapes() {
  static const Json shapes = [] {
    const Bytes bytes =
        file_bytes(std::string(HEADWISE_MODEL_FAMILIES) + "/shapes.json");
    return Json::parse(
               {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
               bytes.size(), 8)
        .value();
  }();
  return shapes;
}

// The forms that are an encoder or a decoder alone.
inline std::vector<std::string> family_forms() {
  std::vector<std::string> forms;
  for (std::size_t n = 0; n < family_shapes().size(); ++n) {
    const std::string& name = family_shapes().key(n);
    if (!name.starts_with("t5") && !name.starts_with("bart")) {
      forms.push_back(name);
    }
  }
  return forms;
}

// Large enough that no rule of a family is lost in rounding.
inline void put_family_model(const TempFolder& folder,
                             const std::string& form) {
  const Json& both = *family_shapes().find(form);
  put_file(folder / "config.json", bytes_of(both[0].dump()));
  std::mt19937 random(7);
  std::map<std::string, Tensor<float, 1>> params;
  std::map<std::string, AnyView> views;
  for (std::size_t n = 0; n < both[1].size(); ++n) {
    const std::string& name = both[1].key(n);
    std::vector<std::size_t> shape;
    EXPECT_TRUE(both[1][n].get(shape));
    std::size_t count = 1;
    for (const std::size_t extent : shape) {
      count *= extent;
    }
    const bool is_norm = shape.size() == 1 && !name.ends_with("bias");
    std::normal_distribution<float> normal(
        is_norm && !form.starts_with("gemma") ? 1.0f : 0.0f, 0.25f);
    auto& param = params[name];
    param = Tensor<float, 1>::create({count}).value();
    std::ranges::generate(param.elements(), [&] { return normal(random); });
    views.emplace(name, AnyView(param.data(), DType::float32, shape));
  }
  ASSERT_TRUE(write_safetensors(folder / "model.safetensors", views));
}

// Of ids that the model has, of different lengths, one of them 0.
inline RaggedTokens random_tokens(const TransformerShape& shape) {
  std::mt19937 random(5);
  RaggedTokens ids;
  for (const std::size_t length : {6U, 0U, 3U}) {
    std::vector<TokenId>& tokens = ids.emplace_back(length);
    std::ranges::generate(tokens, [&] {
      return static_cast<TokenId>(random() % shape.vocab_size);
    });
  }
  return ids;
}

}  // namespace headwise::testing_support
