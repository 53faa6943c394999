// A plan on the GPU: its lists and its working memory are there, its kernels
// are chosen.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attention/device_backend.h"
#include "base/check.h"
#include "cuda/backward_kernel.h"
#include "cuda/bind_call.h"
#include "cuda/find_gpu.h"
#include "cuda/forward_kernel.h"
#include "cuda/gather.h"
#include "cuda/tensor_map.h"
#include "cuda/term_gradients.h"
#include "cuda/tiles.h"
#include "cuda/uniform_rows.h"
#include "cuda/weights_pass.h"
#include "steps/stored_rule.h"

namespace headwise::inline HEADWISE_ABI {
namespace cuda {
namespace {

constexpr std::size_t kMostFeatures = 256;

// Multiprocessors of the current device. Errors: unsupported.
Result<int> multiprocessors() {
  HEADWISE_ASSIGN(const auto gpu, find_gpu("attention"));
  if (gpu.major != 9 || gpu.minor != 0) {
    return argument_error(
        "attention", "device",
        message("is a GPU of compute capability {}.{}", gpu.major, gpu.minor),
        "9.0 (Hopper)", ErrorCode::unsupported);
  }
  return gpu.multiprocessors;
}

Status check_sizes(const AttentionShape& shape) {
  constexpr std::size_t kMost = 1U << 30;
  if (std::max(shape.D, shape.Dv) > kMostFeatures) {
    return argument_error(
        "attention", "key",
        message("has head size {} on cuda", std::max(shape.D, shape.Dv)),
        message("at most {}", kMostFeatures), ErrorCode::unsupported);
  }
  for (const std::size_t size :
       {shape.B, shape.Hq, shape.query_rows(), shape.key_rows()}) {
    if (size > kMost) {
      return argument_error("attention", "query",
                            message("has an extent of {} on cuda", size),
                            "at most 2^30", ErrorCode::unsupported);
    }
  }
  return ok();
}

// There is more between q.k and the softmax than a scale and intervals of keys.
bool has_terms(const AttentionSpec& spec) {
  const auto is_dense = [](const internal::StoredMaskRule& rule) {
    return rule.type->form == internal::MaskForm::booleans;
  };
  return std::ranges::any_of(spec.mask.rules(), is_dense) ||
         spec.softcap.has_value() || spec.bias.given() || spec.alibi.given() ||
         spec.dropout.active() || !(spec.scale > 0);
}

// A tensor of the plan's type, with strides that count elements of that type.
TensorView<const std::byte, 4> read_bytes(const TensorArg& tensor) {
  return {static_cast<const std::byte*>(tensor.data()), tensor.extents4(),
          tensor.strides4()};
}
TensorView<std::byte, 4> written_bytes(const TensorArg& tensor) {
  return {static_cast<std::byte*>(tensor.writable_data()), tensor.extents4(),
          tensor.strides4()};
}

// A tensor that the copy engine can read: the one given, or a copy of it.
struct Readable {
  TensorView<const std::byte, 4> view;
  DeviceMemory memory;

  static Result<Readable> create(const TensorView<const std::byte, 4>& tensor,
                                 cudaStream_t stream) {
    if (can_be_copied_in_boxes(tensor)) {
      return Readable{tensor, {}};
    }
    HEADWISE_ASSIGN(auto memory, DeviceMemory::create(
                                     gathered_bytes(tensor.extents()), stream));
    HEADWISE_ASSIGN(const auto view, gather(tensor, memory.data(), stream));
    return Readable{view, std::move(memory)};
  }
};

// Tiles and the order in which they are taken, among the lists of a plan.
struct PlacedWork {
  std::size_t tiles = 0;
  std::size_t work = 0;
  int items = 0;

  template <class Tile>
  static PlacedWork place(const std::vector<Tile>& tiles,
                          const std::vector<WorkItem>& work, Upload& upload) {
    return {upload.add(tiles), upload.add(work), static_cast<int>(work.size())};
  }
  TiledWork at(const std::byte* lists, int* next_item) const {
    return {lists + tiles, reinterpret_cast<const WorkItem*>(lists + work),
            items, next_item};
  }
};

// The plan's counters of the next tile, one for each pass.
enum Counter { kForward, kKeys, kKeysAgain, kQueries, kCounters };

class CudaBackend final : public DeviceBackend {
 public:
  static Result<std::unique_ptr<DeviceBackend>> create(
      const AttentionSpec& spec, DType dtype, cudaStream_t stream);

  Status forward(const CallTensors& tensors) const override;
  Status backward(const CallTensors& tensors) const override;

 private:
  CudaBackend() = default;

  Status place_lists(const AttentionSpec& spec);
  Status take_memory(const AttentionShape& shape);
  int* counters() const { return reinterpret_cast<int*>(memory_.data()); }
  // The outputs besides `output`, from the log-sum-exps.
  Status look_at_weights(const CallTensors& tensors,
                         const TensorView<float, 3>& lse) const;
  // Counters and flags become 0.
  Status clear(std::size_t flags) const;

  DType dtype_ = DType::bfloat16;
  cudaStream_t stream_ = nullptr;
  int multiprocessors_ = 0;
  bool masked_ = false;
  bool uniform_ = false;
  ForwardKernel forward_{};
  BackwardKernel backward_{};
  Call call_{};
  float scale_ = 1;
  PlacedWork forward_work_;
  PlacedWork key_work_;
  PlacedWork query_work_;
  AttnWeights form_ = AttnWeights::none;
  StatisticsOptions statistics_;
  bool keeps_lse_ = false;  // for rows without a key, weights and statistics
  std::size_t counted_queries_at_ = 0;
  std::size_t first_keys_at_ = 0;
  std::size_t lse_at_ = 0;
  Extents<3> lse_extents_{};
  DeviceMemory lists_;
  DeviceMemory memory_;  // counters, flags, lse
};

Result<std::unique_ptr<DeviceBackend>> CudaBackend::create(
    const AttentionSpec& spec, DType dtype, cudaStream_t stream) {
  HEADWISE_TRY(check_sizes(spec.shape));
  HEADWISE_ASSIGN(const auto count, multiprocessors());
  std::unique_ptr<CudaBackend> plan(new CudaBackend);
  plan->dtype_ = dtype;
  plan->stream_ = stream;
  plan->multiprocessors_ = count;
  plan->scale_ = static_cast<float>(spec.scale);
  plan->uniform_ = spec.empty_rows == EmptyRow::uniform;
  plan->form_ = spec.attn_weights;
  plan->statistics_ = spec.statistics.wanted();
  plan->keeps_lse_ = plan->uniform_ || spec.statistics.any() ||
                     spec.attn_weights != AttnWeights::none;
  const std::size_t head_size = std::max(spec.shape.D, spec.shape.Dv);
  const bool terms = has_terms(spec);
  const bool in_bfloat16 = dtype == DType::bfloat16;
  plan->forward_ = in_bfloat16 ? bfloat16_forward_kernel(head_size, terms)
                               : float16_forward_kernel(head_size, terms);
  plan->backward_ =
      in_bfloat16 ? bfloat16_backward_kernel(head_size, terms || plan->uniform_)
                  : float16_backward_kernel(head_size, terms || plan->uniform_);
  HEADWISE_TRY(plan->place_lists(spec));
  HEADWISE_TRY(plan->take_memory(spec.shape));
  return std::unique_ptr<DeviceBackend>(std::move(plan));
}

Status CudaBackend::place_lists(const AttentionSpec& spec) {
  const std::vector<KeyRange> ranges = key_ranges(spec);
  Upload upload;
  const CallLists lists = add_lists(spec, ranges, upload);
  const auto rows = [](int n) { return static_cast<std::size_t>(n); };
  const auto forward_tiles =
      query_tiles(spec, ranges, rows(forward_.query_rows));
  const auto query_tiles_back =
      query_tiles(spec, ranges, rows(backward_.query_rows));
  const auto key_tiles_back = key_tiles(spec, ranges, rows(backward_.key_rows),
                                        rows(backward_.query_block), uniform_);
  const std::size_t items =
      std::max(forward_tiles.size(), key_tiles_back.size()) * spec.shape.Hq;
  if (items > std::numeric_limits<int>::max() / 4) {
    return argument_error("attention", "query",
                          message("has {} tiles on cuda", items),
                          "at most 2^29", ErrorCode::unsupported);
  }
  forward_work_ =
      PlacedWork::place(forward_tiles, query_work(spec, forward_tiles), upload);
  query_work_ = PlacedWork::place(query_tiles_back,
                                  query_work(spec, query_tiles_back), upload);
  key_work_ =
      PlacedWork::place(key_tiles_back, key_work(spec, key_tiles_back), upload);
  std::vector<int> counted_queries;
  std::vector<int> first_keys;
  for (std::size_t b = 0; b < spec.shape.B; ++b) {
    counted_queries.push_back(static_cast<int>(spec.statistics.queries(b)));
    first_keys.push_back(static_cast<int>(spec.mask.first_key(b)));
  }
  counted_queries_at_ = upload.add(counted_queries);
  first_keys_at_ = upload.add(first_keys);
  HEADWISE_ASSIGN(lists_, upload.copy(stream_));
  HEADWISE_ASSIGN(call_, bind_call(spec, ranges, lists, lists_.data()));
  masked_ = !ranges.empty() || call_.dense_masks != 0 ||
            call_.bias.data != nullptr || spec.shape.offsets.ragged();
  return ok();
}

Status CudaBackend::take_memory(const AttentionShape& shape) {
  constexpr std::size_t kAlignment = 256;
  const std::size_t flags =
      (kCounters + 1 + static_cast<std::size_t>(forward_work_.items)) *
      sizeof(int);
  lse_at_ = (flags + kAlignment - 1) / kAlignment * kAlignment;
  lse_extents_ = {shape.batches(), shape.Hq, shape.query_rows()};
  const std::size_t rows = shape.batches() * shape.Hq * shape.query_rows();
  HEADWISE_ASSIGN(
      memory_, DeviceMemory::create(
                   lse_at_ + (keeps_lse_ ? rows * sizeof(float) : 0), stream_));
  return ok();
}

Status CudaBackend::clear(std::size_t flags) const {
  return check_cuda(cudaMemsetAsync(counters(), 0,
                                    (kCounters + flags) * sizeof(int), stream_),
                    "clearing the counters");
}

Status CudaBackend::look_at_weights(const CallTensors& tensors,
                                    const TensorView<float, 3>& lse) const {
  const auto list = [&](std::size_t at) {
    return reinterpret_cast<const int*>(lists_.data() + at);
  };
  const WeightsRun run = {call_,
                          read_bytes(tensors[CallTensor::query]),
                          read_bytes(tensors[CallTensor::key]),
                          lse,
                          form_,
                          tensors.floats<4>(CallTensor::attn_weights),
                          tensors.statistics(),
                          statistics_.separators,
                          static_cast<int>(statistics_.top_keys),
                          list(counted_queries_at_),
                          list(first_keys_at_),
                          stream_};
  return asks_for_anything(run) ? launch_weights_pass(dtype_, run) : ok();
}

Status CudaBackend::forward(const CallTensors& tensors) const {
  TensorView<float, 3> lse = tensors.floats<3>(CallTensor::lse);
  if (forward_work_.items == 0) {
    return look_at_weights(tensors, lse);
  }
  HEADWISE_TRY(clear(1 + static_cast<std::size_t>(forward_work_.items)));
  // Without keys nothing is copied, but the kernels need a map.
  const auto queries = read_bytes(tensors[CallTensor::query]);
  const auto keys = read_bytes(tensors[CallTensor::key]);
  const bool keyless = keys.size() == 0;
  HEADWISE_ASSIGN(const auto query, Readable::create(queries, stream_));
  HEADWISE_ASSIGN(const auto key,
                  Readable::create(keyless ? queries : keys, stream_));
  HEADWISE_ASSIGN(
      const auto value,
      Readable::create(
          keyless ? queries : read_bytes(tensors[CallTensor::value]), stream_));
  const auto output = written_bytes(tensors[CallTensor::output]);
  if (keeps_lse_ && lse.data() == nullptr) {
    lse = {reinterpret_cast<float*>(memory_.data() + lse_at_), lse_extents_};
  }
  HEADWISE_TRY(forward_.launch(
      {call_, query.view, key.view, value.view, output, lse,
       tensors.floats<4>(CallTensor::softmax_rows),
       forward_work_.at(lists_.data(), counters() + kForward),
       masked_ ? counters() + kCounters : nullptr,
       std::min(multiprocessors_, forward_work_.items), stream_}));
  if (uniform_) {
    HEADWISE_TRY(
        fill_uniform_rows(call_, dtype_, value.view, output, lse, stream_));
  }
  return look_at_weights(tensors, lse);
}

Status CudaBackend::backward(const CallTensors& tensors) const {
  const bool queryless = forward_work_.items == 0;
  const bool keyless = key_work_.items == 0;
  if (queryless && keyless) {
    return ok();
  }
  HEADWISE_TRY(clear(0));
  Readable readable[4];
  // Without keys or queries nothing is copied, but the kernels need a map.
  const CallTensor read[] = {
      queryless ? CallTensor::key : CallTensor::query,
      keyless ? CallTensor::query : CallTensor::key,
      keyless ? CallTensor::d_output : CallTensor::value,
      queryless ? CallTensor::value : CallTensor::d_output};
  for (int n = 0; n < 4; ++n) {
    HEADWISE_ASSIGN(readable[n],
                    Readable::create(read_bytes(tensors[read[n]]), stream_));
  }
  constexpr int kRowStep = 128;  // whole tiles of queries
  const int rows = (call_.Lq + kRowStep - 1) / kRowStep * kRowStep;
  const std::size_t count = static_cast<std::size_t>(call_.B) *
                            static_cast<std::size_t>(call_.Hq) *
                            static_cast<std::size_t>(rows);
  HEADWISE_ASSIGN(const auto statistics,
                  DeviceMemory::create(3 * count * sizeof(float), stream_));
  auto* lse = reinterpret_cast<float*>(statistics.data());
  HEADWISE_TRY(backward_.launch(
      {call_, scale_, readable[0].view, readable[1].view, readable[2].view,
       read_bytes(tensors[CallTensor::saved_output]), readable[3].view,
       tensors.read_floats<4>(CallTensor::saved_rows),
       written_bytes(tensors[CallTensor::d_query]),
       written_bytes(tensors[CallTensor::d_key]),
       written_bytes(tensors[CallTensor::d_value]), lse, lse + count, rows,
       key_work_.at(lists_.data(), counters() + kKeys),
       key_work_.at(lists_.data(), counters() + kKeysAgain),
       query_work_.at(lists_.data(), counters() + kQueries), multiprocessors_,
       stream_}));
  return launch_term_gradients(
      dtype_, {call_, readable[0].view, readable[1].view, readable[2].view,
               readable[3].view, lse, lse + count, lse + 2 * count, rows,
               tensors.floats<4>(CallTensor::d_bias),
               tensors.floats<1>(CallTensor::d_alibi), stream_});
}

}  // namespace
}  // namespace cuda

Result<std::unique_ptr<DeviceBackend>> make_device_backend(
    const AttentionSpec& spec, DType dtype, const Device& device) {
  return cuda::CudaBackend::create(spec, dtype,
                                   static_cast<cudaStream_t>(device.stream));
}

}  // namespace headwise::inline HEADWISE_ABI
