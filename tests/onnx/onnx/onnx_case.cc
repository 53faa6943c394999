#include "onnx/onnx_case.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "headwise/onnx/model.h"
#include "headwise/run/executor.h"
#include "onnx/heap_use.h"
#include "onnx/message_changes.h"
#include "onnx/numbers.h"
#include "onnx/random_nodes.h"

namespace headwise::testing_support {
namespace {

void require(bool holds, const std::string& what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what.c_str());
    std::abort();
  }
}

// One line, about the file.
void check_error(const Error& error, std::string_view operation,
                 const std::string& file) {
  const std::string message = error.message();
  require(message.starts_with(std::string(operation) + ": " + file),
          "an error names the operation and the file: " + message);
  require(std::ranges::none_of(
              message, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; }),
          "an error has no control characters: " + message);
  require(error.code() != ErrorCode::device_error &&
              error.code() != ErrorCode::rank_failure,
          "the kind of an error: " + message);
}

// What a limit does not count: the graph, whose parts are larger than in the
// file, and a little for the work itself.
constexpr std::size_t spare_bytes(std::size_t file_bytes) {
  return 512 * file_bytes + (std::size_t{256} << 10);
}

void check_memory(const HeapUse& heap, std::size_t most,
                  const std::string& doing) {
  require(heap.most() <= static_cast<std::int64_t>(most),
          doing + " takes " + std::to_string(heap.most()) +
              " bytes, expected at most " + std::to_string(most));
}

double seconds() {  // of the processor: the machine may be busy
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

bool fits(const OnnxPort& port, const Array& array) {
  return (!port.dtype || *port.dtype == array.dtype) &&
         (!port.shape ||
          std::ranges::equal(*port.shape, array.shape,
                             [](const auto& declared, std::size_t extent) {
                               return declared.value_or(extent) == extent;
                             }));
}

// As the model declares it; anything where that is too large.
Array array_for(Choices& choices, ModelMaker& maker, const OnnxPort& port) {
  const auto made = maker.inputs().find(port.name);
  if (made != maker.inputs().end() &&
      (fits(port, made->second) || choices.one_in(8))) {
    return made->second;
  }
  Shape shape;
  std::size_t count = 1;
  if (port.shape) {
    for (const auto& extent : *port.shape) {
      shape.push_back(std::min<std::size_t>(extent.value_or(2), 4096));
      count *= std::max<std::size_t>(shape.back(), 1);
      if (count > 4096) {
        return maker.array(DType::float32, {1}, Contents::any);
      }
    }
  }
  return maker.array(port.dtype.value_or(DType::float32), shape, Contents::any);
}

std::size_t bytes_of(std::span<const Array> arrays) {
  std::size_t bytes = 0;
  for (const Array& array : arrays) {
    bytes += array.data.size();
  }
  return bytes;
}

void check_outputs(const OnnxModel& model, std::span<const Array> outputs) {
  require(outputs.size() == model.outputs().size(), "an array for each output");
  for (const Array& output : outputs) {
    require(output.data.size() ==
                element_count(output.shape) * size_of(output.dtype),
            "an array has as many bytes as elements");
  }
}

const Executor& one_thread() {
  static const Executor executor = Executor::with_threads(1).value();
  return executor;
}

// What `inspect` and `view --onnx` ask a model for.
void look_at_attention(const OnnxModel& model, std::span<const Array> inputs,
                       std::optional<std::size_t> limit,
                       const std::string& file) {
  const auto nodes = model.attention_nodes();
  require(static_cast<bool>(nodes), "the nodes of attention are found");
  std::vector<std::size_t> standard;
  for (const OnnxAttentionNode& node : *nodes) {
    if (node.pattern == "Attention") {
      standard.push_back(standard.size());
    }
  }
  const auto seen = model.attention(inputs, standard, &one_thread(), limit);
  if (!seen) {
    check_error(seen.error(), "run_onnx", file);
  }
}

constexpr std::size_t kUsualSpare = std::size_t{16} << 20;

// Of the outputs as the model declares them; a double does not overflow.
double declared_bytes(const OnnxModel& model) {
  double sum = 0;
  for (const OnnxPort& port : model.outputs()) {
    double bytes = port.dtype ? static_cast<double>(size_of(*port.dtype)) : 0;
    for (const auto& extent : port.shape.value_or(
             std::vector<std::optional<std::size_t>>{std::nullopt})) {
      bytes *= static_cast<double>(extent.value_or(0));
    }
    sum += bytes;
  }
  return sum;
}

// Nothing: the usual limit, which grows with the outputs that are declared.
std::optional<std::size_t> some_limit(Choices& choices,
                                      const OnnxModel& model) {
  const auto limit = choices.of<std::optional<std::size_t>>(
      {std::nullopt, std::nullopt, 1 << 10, 1 << 14, 1 << 16, 1 << 20});
  return limit || declared_bytes(model) < 0x1p24 ? limit : 1 << 20;
}

// Whether it runs.
bool run_model(Choices& choices, ModelMaker& maker, const OnnxModel& model,
               const std::string& file, std::size_t file_bytes) {
  std::vector<Array> inputs;
  for (const OnnxPort& port : model.inputs()) {
    inputs.push_back(array_for(choices, maker, port));
  }
  const auto limit = some_limit(choices, model);
  if (choices.one_in(4)) {
    look_at_attention(model, inputs, limit, file);
  }
  const HeapUse heap;
  const auto outputs = model.run(inputs, &one_thread(), limit);
  // The usual limit has the tensors of the model, which are in its file or in
  // that of external data.
  const std::size_t given = file_bytes + bytes_of(inputs) + 16 * kExternalBytes;
  const auto usual =
      kUsualSpare + 16 * given +
      (limit ? 0 : static_cast<std::size_t>(declared_bytes(model)));
  check_memory(heap, limit.value_or(usual) + given + spare_bytes(file_bytes),
               "run()");
  if (!outputs) {
    check_error(outputs.error(), "run_onnx", file);
    return false;
  }
  check_outputs(model, *outputs);
  if (choices.one_in(8)) {
    const auto again = model.run(inputs, &one_thread(), limit);
    require(again && std::ranges::equal(*again, *outputs, {}, &Array::data,
                                        &Array::data),
            "a second run gives the same bytes");
  }
  return true;
}

}  // namespace

OnnxCases::OnnxCases() {
  std::string name =
      (std::filesystem::temp_directory_path() / "onnx_cases_XXXXXX").string();
  require(mkdtemp(name.data()) != nullptr, "a folder for the cases");
  folder_ = name + "/models";
  file_ = folder_ + "/model.onnx";
  const std::filesystem::path folder = folder_;
  std::filesystem::create_directories(folder / "sub");
  const std::string data(kExternalBytes, '\1');
  for (const char* file : {"data.bin", "sub/data.bin", "../data.bin"}) {
    std::ofstream(folder / file, std::ios::binary) << data;
  }
  std::filesystem::create_symlink("data.bin", folder / "link.bin");
  std::filesystem::create_directory_symlink("sub", folder / "folder_link");
  std::ofstream(folder / "hard.bin") << data;
  std::filesystem::create_hard_link(folder / "hard.bin", folder / "twin.bin");
}

OnnxCases::~OnnxCases() {
  std::error_code ignored;
  std::filesystem::remove_all(std::filesystem::path(folder_).parent_path(),
                              ignored);
}

void OnnxCases::write(const std::string& bytes) const {
  std::ofstream file(file_, std::ios::binary);
  file << bytes;
  require(static_cast<bool>(file.flush()), "the case is written");
}

OnnxVerdict OnnxCases::run(std::span<const std::uint8_t> bytes) const {
  Choices choices(bytes);
  const double begin = seconds();
  const OnnxVerdict verdict =
      choices.one_in(16) ? read_tensor(choices) : run_model(choices);
  const double taken = seconds() - begin;
  require(taken < 2, "a case takes " + std::to_string(taken) +
                         " seconds, expected less than 2");
  return verdict;
}

namespace {

// The bytes of a message after some changes; whether there were any.
std::string changed_bytes(Choices& choices, WireMessage& message,
                          bool& changed) {
  const std::size_t changes = choices.of<std::size_t>({0, 1, 1, 1, 2, 3, 5});
  for (std::size_t i = 0; i < changes; ++i) {
    change_message(choices, message);
  }
  std::string bytes = message.bytes();
  const std::size_t flips =
      changes > 0 && choices.one_in(8) ? choices.from_to(1, 4) : 0;
  for (std::size_t i = 0; i < flips; ++i) {
    change_bytes(choices, bytes);
  }
  changed = changes > 0;
  constexpr std::size_t kMost = std::size_t{64} << 10;
  bytes.resize(std::min(bytes.size(), kMost));
  return bytes;
}

}  // namespace

OnnxVerdict OnnxCases::read_tensor(Choices& choices) const {
  ModelMaker maker(choices, 25);
  OnnxVerdict verdict;
  WireMessage message =
      maker.tensor("x", maker.array(some_type(choices),
                                    some_shape(choices, 0, 4), Contents::any));
  const std::string bytes = changed_bytes(choices, message, verdict.changed);
  write(bytes);
  const HeapUse heap;
  const auto array = read_onnx_tensor(file_);
  check_memory(heap, 16 * bytes.size() + spare_bytes(0), "read_onnx_tensor()");
  if (!array) {
    check_error(array.error(), "read_onnx", file_);
  } else {
    require(array->data.size() ==
                element_count(array->shape) * size_of(array->dtype),
            "a tensor has as many bytes as elements");
  }
  verdict.read = static_cast<bool>(array);
  return verdict;
}

OnnxVerdict OnnxCases::run_model(Choices& choices) const {
  ModelMaker maker(choices, choices.of<std::int64_t>({28, 27, 25, 24, 24, 23,
                                                      23, 22, 20, 18, 17, 13}));
  for (std::size_t i = choices.from_to(1, 6); i > 0; --i) {
    add_random_node(maker);
  }
  OnnxVerdict verdict;
  WireMessage message = maker.model();
  const std::string bytes = changed_bytes(choices, message, verdict.changed);
  write(bytes);
  std::optional<Result<OnnxModel>> model;
  {
    const HeapUse heap;
    model.emplace(OnnxModel::read(file_));
    check_memory(
        heap,
        std::min(16 * bytes.size() + kUsualSpare, spare_bytes(bytes.size())) +
            kExternalBytes * 16,
        "read()");
  }
  if (!*model) {
    require(verdict.changed,
            "a model as it was made is read: " + model->error().message());
    check_error(model->error(), "read_onnx", file_);
    return verdict;
  }
  verdict.read = true;
  verdict.ran =
      testing_support::run_model(choices, maker, **model, file_, bytes.size());
  return verdict;
}

}  // namespace headwise::testing_support
