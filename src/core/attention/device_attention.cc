#include "headwise/attention/device_attention.h"

#include <string>
#include <string_view>
#include <utility>

#include "attention/check_call.h"
#include "attention/check_parts.h"
#include "attention/device_backend.h"
#include "base/check.h"
#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Status check_device_options(const AttentionOptions& attention_options,
                            const OperationOptions& options) {
  if (options.device.kind != Device::Kind::cuda) {
    return value_error("attention", "device", "cpu",
                       "Device::cuda(stream); AttentionPlan is for the CPU");
  }
  if (attention_options.scores != ScoresStage::none) {
    return value_error("attention", "scores", "asked for",
                       "none on cuda: only the CPU returns them",
                       ErrorCode::unsupported);
  }
  const AddedKeys& added_keys = options.added_keys;
  struct OnlyOnCpu {
    bool asked;
    std::string_view argument;
    std::string_view given;  // empty: it is given at all
    std::string_view expected;
  };
  for (const auto& [asked, argument, given, expected] :
       {OnlyOnCpu{options.score_weight.data() != nullptr, "score_weight", "",
                  "none on cuda: only the CPU has additive scores"},
        OnlyOnCpu{!options.kv_groups.even(), "kv_groups", "",
                  "none on cuda: only the CPU has uneven groups"},
        OnlyOnCpu{added_keys.bias_k.data() != nullptr || added_keys.zero_attn,
                  "added_keys", "",
                  "none on cuda: only the CPU has added keys"},
        OnlyOnCpu{attention_options.sinks.data() != nullptr, "sinks", "",
                  "none on cuda: only the CPU has sinks"},
        OnlyOnCpu{attention_options.t5_bias.table.data() != nullptr, "t5_bias",
                  "", "none on cuda: only the CPU has relative positions"},
        OnlyOnCpu{attention_options.arithmetic != Arithmetic::exact,
                  "arithmetic", name_of(attention_options.arithmetic),
                  "exact on cuda: only the CPU has others"},
        OnlyOnCpu{attention_options.dropout.place != DropoutPlace(),
                  "dropout.place", "",
                  "none on cuda: only the CPU takes a part of a call"},
        OnlyOnCpu{options.key_part != KeyPart::all, "key_part",
                  name_of(options.key_part),
                  "all on cuda: only the CPU takes a part of the keys"},
        OnlyOnCpu{options.query_part != QueryPart::all, "query_part",
                  name_of(options.query_part),
                  "all on cuda: only the CPU takes a part of the queries"}}) {
    if (asked) {
      return argument_error(
          "attention", argument,
          given.empty() ? "is given" : message("is {}", given), expected,
          ErrorCode::unsupported);
    }
  }
  return ok();
}

Status check_type(std::string_view operation, const CallTensors& tensors,
                  DType dtype) {
  const DType given = tensors[CallTensor::query].dtype();
  return given == dtype
             ? ok()
             : Status(argument_error(operation, "query",
                                     message("is of type {}", name_of(given)),
                                     name_of(dtype)));
}

}  // namespace

Result<DeviceCall> DeviceCall::create(
    const AttentionShape& shape, DType dtype, const AttentionOptions& options,
    const OperationOptions& operation_options) try {
  HEADWISE_TRY(check_device_options(options, operation_options));
  OperationOptions checked = operation_options;
  checked.device = {};  // the spec is that of the CPU's call
  HEADWISE_ASSIGN(auto spec, AttentionSpec::create(shape, options, checked));
  HEADWISE_ASSIGN(auto backend,
                  make_device_backend(spec, dtype, operation_options.device));
  return DeviceCall(std::move(spec), dtype, std::move(backend));
} catch (...) {
  return caught_out_of_memory();
}

Status DeviceCall::run(const CallTensors& tensors) const try {
  HEADWISE_TRY(check_type("attention", tensors, dtype_));
  HEADWISE_TRY(check_call("attention", spec_, tensors));
  return backend_->forward(tensors);
} catch (...) {
  return caught_out_of_memory();
}

Status DeviceCall::run_backward(const CallTensors& tensors) const try {
  HEADWISE_TRY(check_type("attention_backward", tensors, dtype_));
  HEADWISE_TRY(check_call("attention_backward", spec_, tensors));
  if (tensors.has(CallTensor::d_attn_weights)) {
    return value_error("attention_backward", "d_attn_weights", "given",
                       "none on cuda", ErrorCode::unsupported);
  }
  return backend_->backward(tensors);
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
