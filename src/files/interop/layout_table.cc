// The table of layouts. Sources: the libraries' own state_dict() and variables;
// tests/golden holds each against that library's output.
#include <array>

#include "headwise/interop/layouts.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using enum ParamForm;
using std::string_view_literals::operator""sv;

constexpr bool kOptional = false;

constexpr std::array kNoPrefix = {""sv};

constexpr std::array kHeadwise = {
    LayoutRow{"w_q.weight", "w_q.weight"},
    LayoutRow{"w_k.weight", "w_k.weight"},
    LayoutRow{"w_v.weight", "w_v.weight"},
    LayoutRow{"w_o.weight", "w_o.weight", weight, kOptional},
    LayoutRow{"w_q.bias", "w_q.bias", bias, kOptional},
    LayoutRow{"w_k.bias", "w_k.bias", bias, kOptional},
    LayoutRow{"w_v.bias", "w_v.bias", bias, kOptional},
    LayoutRow{"w_o.bias", "w_o.bias", bias, kOptional},
    LayoutRow{"w_score.weight", "w_score.weight", weight, kOptional},
    LayoutRow{"q_norm.weight", "q_norm.weight", bias, kOptional},
    LayoutRow{"k_norm.weight", "k_norm.weight", bias, kOptional},
    LayoutRow{"q_norm.bias", "q_norm.bias", bias, kOptional},
    LayoutRow{"k_norm.bias", "k_norm.bias", bias, kOptional},
    LayoutRow{"bias_k", "bias_k", bias, kOptional},
    LayoutRow{"bias_v", "bias_v", bias, kOptional},
};

constexpr std::array kHeadwiseCausal = {
    LayoutRow{"layers.{N}.w_q.weight", "w_q.weight"},
    LayoutRow{"layers.{N}.w_k.weight", "w_k.weight"},
    LayoutRow{"layers.{N}.w_v.weight", "w_v.weight"},
    LayoutRow{"layers.{N}.w_o.weight", "w_o.weight"},
    LayoutRow{"layers.{N}.w_q.bias", "w_q.bias", bias},
    LayoutRow{"layers.{N}.w_k.bias", "w_k.bias", bias},
    LayoutRow{"layers.{N}.w_v.bias", "w_v.bias", bias},
    LayoutRow{"layers.{N}.w_o.bias", "w_o.bias", bias},
};

constexpr std::array kTorchMhaParams = {
    LayoutRow{"in_proj_weight", "w_q.weight", weight, true, 0, 3},
    LayoutRow{"in_proj_weight", "w_k.weight", weight, true, 1, 3},
    LayoutRow{"in_proj_weight", "w_v.weight", weight, true, 2, 3},
    LayoutRow{"in_proj_bias", "w_q.bias", bias, kOptional, 0, 3},
    LayoutRow{"in_proj_bias", "w_k.bias", bias, kOptional, 1, 3},
    LayoutRow{"in_proj_bias", "w_v.bias", bias, kOptional, 2, 3},
    LayoutRow{"out_proj.weight", "w_o.weight"},
    LayoutRow{"out_proj.bias", "w_o.bias", bias, kOptional},
    LayoutRow{"bias_k", "bias_k", added_key, kOptional},
    LayoutRow{"bias_v", "bias_v", added_key, kOptional},
};
constexpr std::array kTorchMhaSplit = {
    LayoutRow{"q_proj_weight", "w_q.weight"},
    LayoutRow{"k_proj_weight", "w_k.weight"},
    LayoutRow{"v_proj_weight", "w_v.weight"},
    LayoutRow{"in_proj_bias", "w_q.bias", bias, kOptional, 0, 3},
    LayoutRow{"in_proj_bias", "w_k.bias", bias, kOptional, 1, 3},
    LayoutRow{"in_proj_bias", "w_v.bias", bias, kOptional, 2, 3},
    LayoutRow{"out_proj.weight", "w_o.weight"},
    LayoutRow{"out_proj.bias", "w_o.bias", bias, kOptional},
    LayoutRow{"bias_k", "bias_k", added_key, kOptional},
    LayoutRow{"bias_v", "bias_v", added_key, kOptional},
};
constexpr std::array kBertPrefixes = {""sv, "bert."sv};
constexpr std::array kBert = {
    LayoutRow{"encoder.layer.{N}.attention.self.query.weight", "w_q.weight"},
    LayoutRow{"encoder.layer.{N}.attention.self.key.weight", "w_k.weight"},
    LayoutRow{"encoder.layer.{N}.attention.self.value.weight", "w_v.weight"},
    LayoutRow{"encoder.layer.{N}.attention.output.dense.weight", "w_o.weight"},
    LayoutRow{"encoder.layer.{N}.attention.self.query.bias", "w_q.bias", bias},
    LayoutRow{"encoder.layer.{N}.attention.self.key.bias", "w_k.bias", bias},
    LayoutRow{"encoder.layer.{N}.attention.self.value.bias", "w_v.bias", bias},
    LayoutRow{"encoder.layer.{N}.attention.output.dense.bias", "w_o.bias",
              bias},
};

constexpr std::array kDistilbertPrefixes = {""sv, "distilbert."sv};
constexpr std::array kDistilbert = {
    LayoutRow{"transformer.layer.{N}.attention.q_lin.weight", "w_q.weight"},
    LayoutRow{"transformer.layer.{N}.attention.k_lin.weight", "w_k.weight"},
    LayoutRow{"transformer.layer.{N}.attention.v_lin.weight", "w_v.weight"},
    LayoutRow{"transformer.layer.{N}.attention.out_lin.weight", "w_o.weight"},
    LayoutRow{"transformer.layer.{N}.attention.q_lin.bias", "w_q.bias", bias},
    LayoutRow{"transformer.layer.{N}.attention.k_lin.bias", "w_k.bias", bias},
    LayoutRow{"transformer.layer.{N}.attention.v_lin.bias", "w_v.bias", bias},
    LayoutRow{"transformer.layer.{N}.attention.out_lin.bias", "w_o.bias", bias},
};

constexpr std::array kD2lParams = {
    LayoutRow{"W_q.weight", "w_q.weight"},
    LayoutRow{"W_k.weight", "w_k.weight"},
    LayoutRow{"W_v.weight", "w_v.weight"},
    LayoutRow{"W_o.weight", "w_o.weight"},
    LayoutRow{"W_q.bias", "w_q.bias", bias, kOptional},
    LayoutRow{"W_k.bias", "w_k.bias", bias, kOptional},
    LayoutRow{"W_v.bias", "w_v.bias", bias, kOptional},
    LayoutRow{"W_o.bias", "w_o.bias", bias, kOptional},
};

constexpr std::array kParamsPrefixes = {"params/"sv, ""sv};
constexpr std::array kD2lDense = {
    LayoutRow{"W_q/kernel", "w_q.weight", transposed},
    LayoutRow{"W_k/kernel", "w_k.weight", transposed},
    LayoutRow{"W_v/kernel", "w_v.weight", transposed},
    LayoutRow{"W_o/kernel", "w_o.weight", transposed},
    LayoutRow{"W_q/bias", "w_q.bias", bias, kOptional},
    LayoutRow{"W_k/bias", "w_k.bias", bias, kOptional},
    LayoutRow{"W_v/bias", "w_v.bias", bias, kOptional},
    LayoutRow{"W_o/bias", "w_o.bias", bias, kOptional},
};

constexpr std::array kKerasParams = {
    LayoutRow{"query/kernel", "w_q.weight", head_outputs},
    LayoutRow{"key/kernel", "w_k.weight", head_outputs},
    LayoutRow{"value/kernel", "w_v.weight", head_outputs},
    LayoutRow{"attention_output/kernel", "w_o.weight", head_inputs},
    LayoutRow{"query/bias", "w_q.bias", head_bias, kOptional},
    LayoutRow{"key/bias", "w_k.bias", head_bias, kOptional},
    LayoutRow{"value/bias", "w_v.bias", head_bias, kOptional},
    LayoutRow{"attention_output/bias", "w_o.bias", bias, kOptional},
};

constexpr std::array kFlaxParams = {
    LayoutRow{"query/kernel", "w_q.weight", head_outputs},
    LayoutRow{"key/kernel", "w_k.weight", head_outputs},
    LayoutRow{"value/kernel", "w_v.weight", head_outputs},
    LayoutRow{"out/kernel", "w_o.weight", head_inputs},
    LayoutRow{"query/bias", "w_q.bias", head_bias, kOptional},
    LayoutRow{"key/bias", "w_k.bias", head_bias, kOptional},
    LayoutRow{"value/bias", "w_v.bias", head_bias, kOptional},
    LayoutRow{"out/bias", "w_o.bias", bias, kOptional},
    LayoutRow{"query_ln/scale", "q_norm.weight", bias, kOptional},
    LayoutRow{"key_ln/scale", "k_norm.weight", bias, kOptional},
};

constexpr std::array kLayouts = {
    Layout{"headwise", kNoPrefix, kHeadwise},
    Layout{"headwise-causal", kNoPrefix, kHeadwiseCausal},
    Layout{"torch-mha", kNoPrefix, kTorchMhaParams},
    Layout{"torch-mha-split", kNoPrefix, kTorchMhaSplit},
    Layout{"bert", kBertPrefixes, kBert},
    Layout{"distilbert", kDistilbertPrefixes, kDistilbert},
    Layout{"d2l", kNoPrefix, kD2lParams},
    Layout{"d2l-dense", kParamsPrefixes, kD2lDense},
    Layout{"keras", kNoPrefix, kKerasParams},
    Layout{"flax", kParamsPrefixes, kFlaxParams, QkNorm{NormKind::layer}},
};

}  // namespace

std::span<const Layout> layouts() { return kLayouts; }

}  // namespace headwise::inline HEADWISE_ABI
