// headwise check
// Runs test cases and prints a table of the results.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "headwise/onnx/arrays.h"
#include "headwise/onnx/model.h"
#include "onnx_result.h"
#include "onnx_text.h"
#include "shell/add_command.h"
#include "shell/error_text.h"
#include "shell/json.h"
#include "shell/onnx_data.h"
#include "shell/output.h"
#include "shell/say.h"
#include "shell/threads.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kCheckHelp = {
    .name = "check",
    .description = "run a folder of test cases and print which pass",
    .examples =
        R"(  headwise check onnx onnx/backend/test/data/node
  headwise check onnx node_tests --json)",
    .footer =
        R"(DIR has a folder per case, with model.onnx and test_data_set_0 and so on, as
ONNX's node tests have them. float32 outputs must agree within a tenth of the
tolerance of these tests, which is 1e-7 plus 1e-3 of the expected value; 16-bit
outputs within the tolerance itself. The exit code is 1 if a case fails.)"};

struct CheckFlags {
  std::string suite;
  std::string folder;
  std::size_t threads = 0;
  bool json = false;
};

// The tolerance of ONNX's tests for 16 bits, else a tenth of it.
Tolerance check_tolerance(DType dtype) {
  Tolerance tolerance;
  if (dtype != DType::float16 && dtype != DType::bfloat16) {
    tolerance.relative /= 10;
    tolerance.absolute /= 10;
  }
  return tolerance;
}

struct CaseResult {
  std::string name;
  double largest = 0;  // difference, of all its outputs
  std::string reason;  // why it fails; empty: it does not
};

// The names of the folders in one, sorted.
Result<std::vector<std::string>> folders_in(const std::string& path) {
  std::error_code failed;
  std::vector<std::string> names;
  for (auto entry = std::filesystem::directory_iterator(path, failed);
       !failed && entry != std::filesystem::directory_iterator();
       entry.increment(failed)) {
    std::error_code unknown;
    if (entry->is_directory(unknown)) {
      names.push_back(entry->path().filename().string());
    }
  }
  if (failed) {
    return system_error({.argument = "DIR", .file = path}, failed.value());
  }
  std::ranges::sort(names);
  return names;
}

// Adds what a model gives for one set of data.
void check_data(const OnnxModel& model, const std::string& folder,
                const Executor& executor, CaseResult& result) {
  auto data = OnnxData::read(folder, model);
  if (!data) {
    result.reason = error_text(data.error());
    return;
  }
  const auto ran = run_onnx(model, *std::move(data), executor, check_tolerance);
  if (!ran) {
    result.reason = error_text(ran.error());
    return;
  }
  for (const OnnxOutput& output : ran->outputs) {
    if (output.difference) {
      result.largest = std::max(result.largest, output.difference->largest);
    }
  }
  if (const OnnxOutput* worst = ran->worst()) {
    result.reason = worst->name + ": " + difference_text(*worst);
  } else if (ran->compared() < ran->outputs.size()) {
    result.reason = say("expected outputs are missing");
  }
}

CaseResult check_case(const std::filesystem::path& folder,
                      const Executor& executor) {
  CaseResult result{
      .name = folder.filename().string(), .largest = 0, .reason = {}};
  const auto model = OnnxModel::read((folder / "model.onnx").string());
  if (!model) {
    result.reason = error_text(model.error());
    return result;
  }
  const auto sets = folders_in(folder.string());
  if (!sets || sets->empty()) {
    result.reason = say("test data are missing");
    return result;
  }
  for (const std::string& set : *sets) {
    check_data(*model, (folder / set).string(), executor, result);
    if (!result.reason.empty()) {
      break;
    }
  }
  return result;
}

std::string table_of(const std::vector<CaseResult>& results,
                     std::size_t failed) {
  std::size_t width = 0;
  for (const CaseResult& each : results) {
    width = std::max(width, each.name.size());
  }
  std::string text;
  for (const CaseResult& each : results) {
    text += each.reason.empty()
                ? fmt::format("{:<{}}  {}  {:.1e}\n", each.name, width,
                              say("passes"), each.largest)
                : fmt::format("{:<{}}  {}  {}\n", each.name, width,
                              say("FAILS "), one_line(each.reason));
  }
  return text +
         say("{} of {} cases pass\n", results.size() - failed, results.size());
}

Json json_of(const std::vector<CaseResult>& results, std::size_t failed) {
  Json cases = Json::array();
  for (const CaseResult& each : results) {
    cases.push_back(
        {{"name", each.name},
         {"passes", each.reason.empty()},
         {"largest_difference", each.largest},
         {"reason", each.reason.empty() ? Json(nullptr) : Json(each.reason)}});
  }
  return {{"cases", std::move(cases)},
          {"passed", results.size() - failed},
          {"failed", failed}};
}

Outcome run_check(const CheckFlags& flags, const Streams& streams) {
  HEADWISE_ASSIGN(const auto executor, executor_with(flags.threads));
  HEADWISE_ASSIGN(const auto names, folders_in(flags.folder));
  std::vector<CaseResult> results;
  for (const std::string& name : names) {
    const auto folder = std::filesystem::path(flags.folder) / name;
    std::error_code unknown;
    if (std::filesystem::exists(folder / "model.onnx", unknown)) {
      results.push_back(check_case(folder, executor));
    }
  }
  if (results.empty()) {
    return option_error(flags.folder, "has no case",
                        "folders with model.onnx and test_data_set_0");
  }
  const auto failed = static_cast<std::size_t>(std::ranges::count_if(
      results, [](const CaseResult& each) { return !each.reason.empty(); }));
  HEADWISE_TRY(print(streams.out, flags.json
                                      ? json_text(json_of(results, failed), 2)
                                      : table_of(results, failed)));
  if (failed == 0) {
    return {};
  }
  return Failure{
      Exit::check_failed,
      Error(ErrorCode::bad_data,
            {.given = message("{} of {} cases fail", failed, results.size())})};
}

void add_check_options(const Arguments& command, CheckFlags& flags) {
  command.add(
      {{"SUITE", &flags.suite, choice({"onnx"}), "suite of test cases",
        required()},
       {"DIR", &flags.folder, text(""), "folder of the cases", required()},
       {"--json", &flags.json, flag(), "print JSON"},
       threads_option(flags.threads)});
}

}  // namespace

void add_check(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kCheckHelp, add_check_options, run_check);
}

}  // namespace headwise::cli
