#include "bench_device.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "bench_case.h"
#include "bench_measure.h"
#include "headwise/attention/device_attention.h"
#include "headwise/base/half.h"
#include "headwise/run/device_buffer.h"

namespace headwise::cli {
namespace {

const Device kDevice = Device::cuda();

// A tensor on the device, of T or of float.
template <class T>
struct OnDevice {
  DeviceBuffer buffer;
  Extents<4> extents{};

  TensorView<T, 4> view() const {
    return {static_cast<T*>(buffer.data()), extents};
  }
};

template <class T>
Status take(OnDevice<T>& tensor, const Extents<4>& extents) {
  tensor.extents = extents;
  HEADWISE_ASSIGN(tensor.buffer,
                  DeviceBuffer::create(extents[0] * extents[1] * extents[2] *
                                           extents[3] * sizeof(T),
                                       kDevice));
  return ok();
}

template <class T>
Status upload(OnDevice<T>& to, const Tensor<float, 4>& from) {
  HEADWISE_TRY(take(to, from.extents()));
  if constexpr (std::is_same_v<T, float>) {
    return to.buffer.copy_from(std::as_bytes(from.elements()));
  } else {
    std::vector<T> half(from.size());
    std::ranges::transform(from.elements(), half.begin(),
                           [](float x) { return narrowed<T>(x); });
    return to.buffer.copy_from(std::as_bytes(std::span(half)));
  }
}

// (B, H, L, D) data, and of a ragged workload (1, rows, H, D), as (B, L, H, D).
template <class T>
class DeviceCase {
 public:
  static Result<DeviceCase> create(const Workload& workload,
                                   BenchInputs inputs) {
    DeviceCase created;
    created.workload_ = workload;
    created.inputs_ = std::move(inputs);
    HEADWISE_TRY(created.make());
    return created;
  }

  Status run() const {
    const auto query = blhd(query_);
    const auto key = blhd(key_);
    const auto value = blhd(value_);
    AttentionOutputsOf<T> outputs = {.output = blhd(output_)};
    if (workload_.attn_weights) {
      outputs.attn_weights = attn_weights_.view();
    }
    if (workload_.backward) {
      outputs.softmax_rows = softmax_rows_.view();
    }
    if (Status s = plan_->run(AttentionInputsOf<T>{query, key, value}, outputs);
        !s || !workload_.backward) {
      return s;
    }
    return plan_->run_backward(
        BackwardInputsOf<T>{query, key, value, blhd(output_),
                            softmax_rows_.view(), blhd(d_output_)},
        AttentionGradientsOf<T>{.query = blhd(d_query_),
                                .key = blhd(d_key_),
                                .value = blhd(d_value_)});
  }

 private:
  TensorView<T, 4> blhd(const OnDevice<T>& tensor) const {
    return workload_.ragged ? tensor.view() : as_blhd(tensor.view());
  }

  Status make() {
    AttentionShape shape = workload_.shape;
    if (workload_.ragged) {
      HEADWISE_ASSIGN(ragged_, without_padding(inputs_, workload_.lengths));
      shape.B = 1;
      shape.Lq = shape.Lkv = ragged_.query.extent(1);
    }
    HEADWISE_TRY(upload_inputs());
    AttentionOptions options = options_of(workload_, inputs_, ragged_);
    if (workload_.bias) {
      options.bias = Bias(static_cast<const float*>(bias_.buffer.data()),
                          options.bias.axes());
    }
    HEADWISE_ASSIGN(
        plan_, DeviceAttentionPlan<T>::create(
                   shape, options,
                   {.statistics = workload_.statistics, .device = kDevice}));
    return ok();
  }

  Status upload_inputs() {
    const AttentionShape& shape = workload_.shape;
    const bool ragged = workload_.ragged;
    const Extents<4> of_output =
        ragged ? ragged_.output.extents()
               : Extents<4>{shape.B, shape.Hq, shape.Lq, shape.Dv};
    HEADWISE_TRY(upload(query_, ragged ? ragged_.query : inputs_.query));
    HEADWISE_TRY(upload(key_, ragged ? ragged_.key : inputs_.key));
    HEADWISE_TRY(upload(value_, ragged ? ragged_.value : inputs_.value));
    HEADWISE_TRY(take(output_, of_output));
    if (workload_.bias) {
      HEADWISE_TRY(upload(bias_, inputs_.bias));
    }
    if (workload_.attn_weights) {
      HEADWISE_TRY(
          take(attn_weights_, {shape.B, shape.Hq, shape.Lq, shape.Lkv}));
    }
    if (workload_.backward) {
      HEADWISE_TRY(take(softmax_rows_, {shape.B, shape.Hq, shape.Lq, 2}));
      HEADWISE_TRY(upload(d_output_, inputs_.d_output));
      HEADWISE_TRY(take(d_query_, inputs_.query.extents()));
      HEADWISE_TRY(take(d_key_, inputs_.key.extents()));
      HEADWISE_TRY(take(d_value_, inputs_.value.extents()));
    }
    return ok();
  }

  Workload workload_;
  BenchInputs inputs_;
  RaggedTensors ragged_;
  OnDevice<T> query_, key_, value_, output_;
  OnDevice<T> d_output_, d_query_, d_key_, d_value_;
  OnDevice<float> softmax_rows_, attn_weights_, bias_;
  std::optional<DeviceAttentionPlan<T>> plan_;
};

// Seconds of one of `count` runs.
template <class T>
Result<double> time_device_runs(const DeviceCase<T>& device_case,
                                std::size_t count) {
  const double start = wall_seconds();
  for (std::size_t n = 0; n < count; ++n) {
    HEADWISE_TRY(device_case.run());
  }
  HEADWISE_TRY(wait_for(kDevice));
  return (wall_seconds() - start) / static_cast<double>(count);
}

template <class T>
Result<std::vector<double>> measure_rounds(const Workload& workload,
                                           std::size_t rounds) {
  HEADWISE_ASSIGN(auto inputs, draw_inputs(workload));
  HEADWISE_ASSIGN(const auto device_case,
                  DeviceCase<T>::create(workload, std::move(inputs)));
  std::size_t runs = 1;
  for (bool warm = false;;) {
    HEADWISE_ASSIGN(const auto seconds, time_device_runs(device_case, runs));
    if (warm && seconds * static_cast<double>(runs) >= kSliceSeconds) {
      break;
    }
    runs *= warm ? 2 : 1;
    warm = true;
  }
  std::vector<double> times;
  for (std::size_t round = 0; round < rounds; ++round) {
    HEADWISE_ASSIGN(const auto seconds, time_device_runs(device_case, runs));
    times.push_back(seconds);
  }
  return times;
}

}  // namespace

Result<DeviceBenchResult> measure_on_device(const Workload& workload,
                                            DType dtype, std::size_t rounds) {
  HEADWISE_ASSIGN(const auto gpu, name_of(kDevice));
  if (workload.embed_dim != 0 || workload.cache) {
    return Error{
        ErrorCode::unsupported,
        {.operation = "bench",
         .argument = "--workload",
         .given = message(workload.cache ? "is {}, a workload of a cache"
                                         : "is {}, a workload of the layer",
                          workload.name),
         .expected = "one of attention on cuda"}};
  }
  HEADWISE_ASSIGN(const auto times,
                  dtype == DType::bfloat16
                      ? measure_rounds<BFloat16>(workload, rounds)
                      : measure_rounds<Float16>(workload, rounds));
  return DeviceBenchResult{.workload = workload.name,
                           .gpu = gpu,
                           .dtype = dtype,
                           .seconds_min = *std::ranges::min_element(times),
                           .seconds_median = median(times),
                           .gflops = gflop(workload) / median(times)};
}

}  // namespace headwise::cli
