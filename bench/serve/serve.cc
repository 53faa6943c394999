#include "serve.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>
#include <sstream>
#include <variant>

#include "bench/bench_case.h"
#include "bench/bench_peak.h"
#include "headwise/kernels/targets.h"
#include "served_case.h"
#include "served_forward.h"
#include "served_sentences.h"
#include "shell/output.h"

namespace headwise::cli {
namespace {

Error bad_line(std::string message) {
  return {ErrorCode::bad_data, {.given = std::move(message)}};
}

class Server {
 public:
  explicit Server(const Executor& executor) : executor_(executor) {}

  // What follows "ok".
  Result<std::string> answer(const std::string& line) {
    std::istringstream words(line);
    std::string word;
    std::string name;
    std::string rest;
    words >> word >> name >> std::ws;
    std::getline(words, rest);
    if (word == "load") {
      return load(name, rest);
    }
    if (word == "run") {
      return run(name, rest);
    }
    if (word == "out") {
      return write(name, rest);
    }
    if (word == "drop") {
      cases_.erase(name);
      return std::string();
    }
    if (word == "peak") {
      return peak();
    }
    return bad_line(fmt::format(
        "{} is no command, expected load, run, out, drop, peak or quit",
        word.empty() ? "an empty line" : word));
  }

 private:
  Result<std::string> load(const std::string& name, const std::string& folder) {
    cases_.erase(name);
    if (ServedForward::is_in(folder)) {
      HEADWISE_ASSIGN(auto forward, ServedForward::read(folder, executor_));
      cases_.emplace(name, std::move(forward));
    } else if (ServedSentences::is_in(folder)) {
      auto sentences = ServedSentences::read(folder, executor_);
      HEADWISE_TRY(sentences);
      cases_.emplace(name, *std::move(sentences));
    } else {
      auto served = read_served_case(folder);
      HEADWISE_TRY(served);
      auto created = BenchCase::create(std::move(served->workload),
                                       std::move(served->inputs), executor_);
      HEADWISE_TRY(created);
      cases_.emplace(name, *std::move(created));
    }
    const auto target = current_target();
    return "headwise " + (target ? *target : std::string());
  }

  Result<std::string> run(const std::string& name, const std::string& rest) {
    const auto found = cases_.find(name);
    if (found == cases_.end()) {
      return not_loaded(name);
    }
    std::size_t count = 0;
    const char* const end = rest.data() + rest.size();
    const auto [stop, error] = std::from_chars(rest.data(), end, count);
    if (error != std::errc{} || stop != end || count == 0) {
      return bad_line(
          fmt::format("run: n is {}, expected a whole number from 1 on", rest));
    }
    const double wall = wall_seconds();
    const double processor = process_seconds();
    for (std::size_t n = 0; n < count; ++n) {
      HEADWISE_TRY(
          std::visit([](auto& one) { return one.run(); }, found->second));
    }
    return fmt::format("{:.9f} {:.9f}", wall_seconds() - wall,
                       process_seconds() - processor);
  }

  Result<std::string> write(const std::string& name,
                            const std::string& folder) {
    const auto found = cases_.find(name);
    if (found == cases_.end()) {
      return not_loaded(name);
    }
    std::string names;
    for (const BenchCase::Output& output :
         std::visit([](auto& one) { return one.outputs(); }, found->second)) {
      const std::filesystem::path path =
          std::filesystem::path(folder) / fmt::format("{}.bin", output.name);
      std::ofstream file(path, std::ios::binary);
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
      file.write(reinterpret_cast<const char*>(output.elements.data()),
                 static_cast<std::streamsize>(output.elements.size_bytes()));
      file.close();
      if (!file) {
        return Error{ErrorCode::io_error,
                     {.given = "cannot write " + path.string()}};
      }
      names += fmt::format("{}{}", names.empty() ? "" : " ", output.name);
    }
    return names;
  }

  Result<std::string> peak() {
    if (!peak_) {
      auto meter = PeakMeter::create(executor_.threads());
      HEADWISE_TRY(meter);
      peak_ = *std::move(meter);
    }
    return fmt::format("{:.3f} {:.3f} {:.3f}", peak_->fma_gflops(),
                       peak_->read_gb_s(), peak_->bf16_gflops());
  }

  static Error not_loaded(const std::string& name) {
    return bad_line(fmt::format("{} is not loaded", name));
  }

  const Executor& executor_;
  std::map<std::string, std::variant<BenchCase, ServedSentences, ServedForward>>
      cases_;
  std::optional<PeakMeter> peak_;
};

std::string line_of(const Result<std::string>& answer) {
  if (answer) {
    return answer->empty() ? "ok\n" : "ok " + *answer + "\n";
  }
  const Error& error = answer.error();
  return fmt::format(
      "{} {}\n",
      error.code() == ErrorCode::unsupported ? "unsupported" : "error",
      one_line(error.message()));
}

}  // namespace

Outcome serve(std::istream& in, std::ostream& out, const Executor& executor) {
  Server server(executor);
  for (std::string line; std::getline(in, line) && line != "quit";) {
    std::string text;
    try {
      text = line_of(server.answer(line));
    } catch (const std::bad_alloc&) {
      text = "error out of memory\n";
    }
    HEADWISE_TRY(print(out, text));
  }
  return {};
}

}  // namespace headwise::cli
