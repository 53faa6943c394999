// oneDNN: one partition of its graph interface, matmul - scale - mask - softmax
// - matmul, behind the lines of `headwise bench --serve`. script/bench builds
// it against the library in the peers' environment.
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <oneapi/dnnl/dnnl_graph.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using dnnl::graph::compiled_partition;
using dnnl::graph::graph;
using dnnl::graph::logical_tensor;
using dnnl::graph::op;
using dnnl::graph::tensor;
using Dims = logical_tensor::dims;

struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Spec = std::map<std::string, std::string>;

Spec read_spec(const std::string& folder) {
  Spec spec;
  std::ifstream file(folder + "/spec.txt");
  for (std::string key, value, line; std::getline(file, line);) {
    std::istringstream(line) >> key >> value;
    spec[key] = value;
  }
  return spec;
}

template <class T>
std::vector<T> read_tensor(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<T> values(bytes.size() / sizeof(T));
  bytes.copy(reinterpret_cast<char*>(values.data()), bytes.size());
  return values;
}

struct Sizes {
  std::int64_t B, Hq, Hkv, Lq, Lk, d;
  bool causal, padded, biased;
  std::int64_t window;  // keys to the left; -1: all

  explicit Sizes(const Spec& spec)
      : B(std::stoll(spec.at("B"))),
        Hq(std::stoll(spec.at("Hq"))),
        Hkv(std::stoll(spec.at("Hkv"))),
        Lq(std::stoll(spec.at("Lq"))),
        Lk(std::stoll(spec.at("Lk"))),
        d(std::stoll(spec.at("d"))),
        causal(spec.at("causal") == "1"),
        padded(spec.at("lens") == "1"),
        biased(spec.at("bias") == "1"),
        window(spec.contains("window") ? std::stoll(spec.at("window")) : -1) {
    if (spec.at("kind") == "module" || spec.at("kind") == "training" ||
        spec.at("weights") != "0") {
      throw Unsupported("attention without weights only");
    }
    if (biased && (padded || causal || window >= 0 || Hq != Hkv)) {
      throw Unsupported("a bias beside a mask or of grouped heads");
    }
  }
};

// What is added to the scores: the bias (1, Hq, Lq, Lk), or (B or 1, 1, Lq,
// Lk), -inf where masked.
std::vector<float> mask_of(const Sizes& s, const std::string& folder) {
  if (s.biased) {
    return read_tensor<float>(folder + "/bias.bin");
  }
  const auto lengths = s.padded
                           ? read_tensor<std::int32_t>(folder + "/lens.bin")
                           : std::vector<std::int32_t>(1, std::int32_t(s.Lk));
  std::vector<float> mask;
  for (const std::int32_t length : lengths) {
    for (std::int64_t i = 0; i < s.Lq; ++i) {
      for (std::int64_t j = 0; j < s.Lk; ++j) {
        const std::int64_t place = i + s.Lk - s.Lq;  // among the keys
        const bool seen = j < length && (!s.causal || j <= place) &&
                          (s.window < 0 || j >= place - s.window);
        mask.push_back(seen ? 0 : -std::numeric_limits<float>::infinity());
      }
    }
  }
  return mask;
}

class Case {
 public:
  Case(const std::string& folder, const dnnl::engine& engine)
      : s_(read_spec(folder)) {
    const auto partitions = draw_graph();
    if (partitions.size() != 1 || !partitions[0].is_supported()) {
      throw Unsupported(std::to_string(partitions.size()) + " partitions");
    }
    const auto inputs = partitions[0].get_input_ports();
    const auto outputs = partitions[0].get_output_ports();
    compiled_ = partitions[0].compile(inputs, outputs, engine);
    memory_[kQuery] = read_tensor<float>(folder + "/q.bin");
    memory_[kKey] = read_tensor<float>(folder + "/k.bin");
    memory_[kValue] = read_tensor<float>(folder + "/v.bin");
    memory_[kScale] = {1 / std::sqrt(static_cast<float>(s_.d))};
    if (masked()) {
      memory_[kMask] = mask_of(s_, folder);
    }
    memory_[kOut].resize(static_cast<std::size_t>(s_.B * s_.Hq * s_.Lq * s_.d));
    for (const auto& port : inputs) {
      inputs_.emplace_back(port, engine, memory_.at(port.get_id()).data());
    }
    outputs_.emplace_back(outputs[0], engine, memory_.at(kOut).data());
  }

  void run(dnnl::stream& stream) {
    compiled_.execute(stream, inputs_, outputs_);
    stream.wait();
  }

  const std::vector<float>& out() const { return memory_.at(kOut); }

 private:
  enum Id : std::size_t {
    kQuery,
    kKey,
    kValue,
    kScale,
    kMask,
    kScores,
    kScaled,
    kMasked,
    kWeights,
    kOut
  };

  bool masked() const {
    return s_.causal || s_.padded || s_.biased || s_.window >= 0;
  }

  // The heads of a group share a key head: an axis of its own, broadcast.
  Dims by_head(std::int64_t rows, std::int64_t columns, bool of_key) const {
    if (s_.Hq == s_.Hkv) {
      return {s_.B, s_.Hq, rows, columns};
    }
    return {s_.B, s_.Hkv, of_key ? 1 : s_.Hq / s_.Hkv, rows, columns};
  }

  static logical_tensor described(Id id, const Dims& dims) {
    return {id, logical_tensor::data_type::f32, dims,
            logical_tensor::layout_type::strided};
  }

  std::vector<dnnl::graph::partition> draw_graph() const {
    const Dims scores = by_head(s_.Lq, s_.Lk, false);
    const auto query = described(kQuery, by_head(s_.Lq, s_.d, false));
    const auto key = described(kKey, by_head(s_.Lk, s_.d, true));
    const auto value = described(kValue, by_head(s_.Lk, s_.d, true));
    const auto out = described(kOut, by_head(s_.Lq, s_.d, false));
    Dims mask(scores.size(), 1);
    mask[0] = s_.padded ? s_.B : 1;
    mask[1] = s_.biased ? s_.Hq : 1;
    mask[mask.size() - 2] = s_.Lq;
    mask.back() = s_.Lk;

    op multiply(0, op::kind::MatMul, "scores");
    multiply.set_attr(op::attr::transpose_b, true);
    multiply.add_inputs({query, key});
    multiply.add_output(described(kScores, scores));
    op scale(1, op::kind::Multiply, "scale");
    scale.add_inputs({described(kScores, scores), described(kScale, {1})});
    scale.add_output(described(kScaled, scores));
    op add(2, op::kind::Add, "mask");
    add.add_inputs({described(kScaled, scores), described(kMask, mask)});
    add.add_output(described(kMasked, scores));
    op softmax(3, op::kind::SoftMax, "softmax");
    softmax.set_attr<std::int64_t>(op::attr::axis, -1);
    softmax.add_input(described(masked() ? kMasked : kScaled, scores));
    softmax.add_output(described(kWeights, scores));
    op weigh(4, op::kind::MatMul, "weigh");
    weigh.add_inputs({described(kWeights, scores), value});
    weigh.add_output(out);

    graph drawn(dnnl::engine::kind::cpu);
    drawn.add_op(multiply);
    drawn.add_op(scale);
    if (masked()) {
      drawn.add_op(add);
    }
    drawn.add_op(softmax);
    drawn.add_op(weigh);
    drawn.finalize();
    return drawn.get_partitions();
  }

  Sizes s_;
  compiled_partition compiled_;
  std::map<std::size_t, std::vector<float>> memory_;
  std::vector<tensor> inputs_;
  std::vector<tensor> outputs_;
};

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

class Worker {
 public:
  // What follows "ok".
  std::string answer(const std::string& line) {
    std::istringstream words(line);
    std::string word, name, argument;
    words >> word >> name >> std::ws;
    std::getline(words, argument);
    if (word == "load") {
      if (name != "onednn") {
        throw Unsupported("no such form");
      }
      cases_.erase(name);
      cases_.emplace(name, std::make_unique<Case>(argument, engine_));
      const auto* version = dnnl_version();
      return "oneDNN " + std::to_string(version->major) + "." +
             std::to_string(version->minor) + "." +
             std::to_string(version->patch);
    }
    if (word == "run") {
      return run(*cases_.at(name), std::stoll(argument));
    }
    if (word == "out") {
      const std::vector<float>& out = cases_.at(name)->out();
      std::ofstream(argument + "/out.bin", std::ios::binary)
          .write(reinterpret_cast<const char*>(out.data()),
                 static_cast<std::streamsize>(out.size() * sizeof(float)));
      return "out";
    }
    if (word == "drop") {
      cases_.erase(name);
      return "";
    }
    throw std::invalid_argument(word + " is no command");
  }

 private:
  std::string run(Case& loaded, std::int64_t count) {
    const auto wall = std::chrono::steady_clock::now();
    const double processor = processor_seconds();
    for (std::int64_t n = 0; n < count; ++n) {
      loaded.run(stream_);
    }
    const double used = processor_seconds() - processor;
    const std::chrono::duration<double> passed =
        std::chrono::steady_clock::now() - wall;
    return std::to_string(passed.count()) + " " + std::to_string(used);
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::map<std::string, std::unique_ptr<Case>> cases_;
};

}  // namespace

int main() {
  // What the library prints goes to standard error: the answers stand alone.
  std::FILE* const answers = fdopen(dup(1), "w");
  dup2(2, 1);
  Worker worker;
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    std::string said;
    try {
      said = "ok " + worker.answer(line);
    } catch (const Unsupported& why) {
      said = std::string("unsupported ") + why.what();
    } catch (const std::exception& error) {
      said = std::string("error ") + error.what();
    }
    std::fprintf(answers, "%s\n", said.c_str());
    std::fflush(answers);
  }
}
