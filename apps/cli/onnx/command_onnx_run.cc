// headwise onnx-run
// Runs an ONNX model on its data and compares its outputs with expected ones.
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "headwise/interop/npy.h"
#include "headwise/onnx/arrays.h"
#include "headwise/onnx/model.h"
#include "onnx_result.h"
#include "onnx_text.h"
#include "shell/add_command.h"
#include "shell/file_plan.h"
#include "shell/onnx_data.h"
#include "shell/output.h"
#include "shell/threads.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kOnnxRunHelp = {
    .name = "onnx-run",
    .description = "run an ONNX model of attention and compare its outputs",
    .examples =
        R"(  headwise onnx-run model.onnx --data test_data_set_0
  headwise onnx-run layer.onnx --data inputs.npz --out results)",
    .footer =
        R"(--data has the inputs in the order of the graph: input_0.pb or input_0.npy and
so on, or .npz files with arrays of these names or of the names in the graph.
If it has expected outputs (output_0.pb, ...), the outputs are compared with
them, and the exit code is 1 if one differs by more than 1e-7 plus 1e-3 of the
expected value. --out gets output_0.npy and so on, in the order of the graph;
16-bit outputs are written as float32.)"};

struct OnnxRunFlags {
  CommandLine line;
  std::string model;
  std::string data;
  std::string out;
  std::size_t threads = 0;
  std::size_t memory_limit = 0;  // MiB
  bool json = false;
};

Tolerance run_tolerance(DType /*dtype*/) { return {}; }

std::string output_file(std::size_t number) {
  return fmt::format("output_{}.npy", number);
}

Status write_output(const std::string& path, const Array& array) {
  if (array.dtype != DType::float16 && array.dtype != DType::bfloat16) {
    return write_npy(path, array.view());
  }
  HEADWISE_ASSIGN(const auto wide, rounded_to(array, DType::float32));
  return write_npy(path, wide.view());
}

Status write_outputs(const std::string& folder, const OnnxResult& result) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return system_error({.argument = "--out", .file = folder}, failed.value());
  }
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    HEADWISE_TRY(
        write_output((std::filesystem::path(folder) / output_file(i)).string(),
                     result.outputs[i].array));
  }
  return ok();
}

// The failure of a run whose outputs are not the expected ones.
Outcome verdict(const OnnxResult& result) {
  const OnnxOutput* worst = result.worst();
  if (worst == nullptr) {
    return {};
  }
  return Failure{Exit::check_failed,
                 Error(ErrorCode::bad_data,
                       {.given = message("{} of {} outputs differ, most {}",
                                         result.differing(), result.compared(),
                                         worst->name)})};
}

Outcome run_onnx_run(const OnnxRunFlags& flags, const Streams& streams) {
  HEADWISE_ASSIGN(const auto model, OnnxModel::read(flags.model));
  FilePlan files = flags.line.files();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < model.outputs().size(); ++i) {
    names.push_back(output_file(i));
  }
  files.outputs_in("--out", flags.out, names, /*parents=*/true);
  HEADWISE_TRY(files.check());
  HEADWISE_ASSIGN(auto data, OnnxData::read(flags.data, model));
  HEADWISE_ASSIGN(const auto executor, executor_with(flags.threads));
  HEADWISE_ASSIGN(const auto result,
                  run_onnx(model, std::move(data), executor, run_tolerance,
                           memory_limit_of(flags.memory_limit)));
  if (!flags.out.empty()) {
    HEADWISE_TRY(written(write_outputs(flags.out, result)));
  }
  HEADWISE_TRY(print(streams.out,
                     flags.json ? json_text(onnx_json(flags.model, result), 2)
                                : onnx_text(result)));
  return verdict(result);
}

void add_onnx_run_options(const Arguments& command, OnnxRunFlags& flags) {
  command.keep_line(flags.line);
  command.add(
      {{"MODEL", &flags.model, input_file(""), "an .onnx file", required()},
       {"--data", &flags.data, input_file("DIR"),
        "folder with the inputs, or a .npz file", required()},
       {"--out", &flags.out, text("DIR"),
        "folder for the outputs, made if missing"},
       {"--json", &flags.json, flag(), "print JSON"},
       threads_option(flags.threads),
       memory_limit_option(flags.memory_limit)});
}

}  // namespace

void add_onnx_run(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kOnnxRunHelp, add_onnx_run_options, run_onnx_run);
}

}  // namespace headwise::cli
