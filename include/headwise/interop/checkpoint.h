// Checkpoints: everything that a training run needs to continue as if it had
// never stopped, as one .npz that numpy.load reads:
//
//   format              int64       kCheckpointFormat
//   step                uint64      number of training steps done
//   seed                uint64
//   config/NAME         int64, float64, or text as uint8 (UTF-8)
//   param/NAME          float32     w_q.weight, ...
//   optimizer/step      uint64      OptimizerState::step
//   optimizer/KIND/NAME float32     (elements), OptimizerState::values
//   record/NAME         float64     (n), the run's own numbers, such as a curve
//
// The same checkpoint gives the same bytes. The file is replaced completely or
// not at all (atomic_file.h).
//
// Errors: those of npz.h; bad_data for a file that is not a checkpoint, lacks
// an entry, has an extra one, or has one of the wrong type or shape; for
// numbers in param, optimizer or config that are not finite; for optimiser
// state of a missing parameter, or of the wrong size. The message names the
// file and the entry:
//   read_checkpoint: run/checkpoint.npz: param/w_q.weight has shape (8, 8),
//   expected (8, 16)
//
// Example:
//   Status s = write_checkpoint("run/checkpoint.npz",
//                               {.step = 100, .seed = Seed{7}, .params = views,
//                                .optimizer = &state});
//   auto checkpoint = read_checkpoint("run/checkpoint.npz").value();
//   s = check_model(checkpoint, "run/checkpoint.npz", config, shapes);
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/interop/npz.h"
#include "headwise/module/optimizer.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

inline constexpr std::int64_t kCheckpointFormat = 1;

// What describes the model: its sizes and its task, by name.
using ModelConfig =
    std::map<std::string, std::variant<std::int64_t, double, std::string>>;
using ParamShapes = std::map<std::string, std::vector<std::size_t>>;
using Records = std::map<std::string, std::vector<double>>;

// What is written. Views and pointers are read only during the call.
struct CheckpointView {
  std::uint64_t step = 0;
  Seed seed{};
  ModelConfig config{};
  std::map<std::string, AnyView> params{};    // float32
  const OptimizerState* optimizer = nullptr;  // null: before the first step
  Records records{};
};

struct Checkpoint {
  std::uint64_t step = 0;
  Seed seed{};
  ModelConfig config;
  NamedArrays params;  // float32
  OptimizerState optimizer;
  Records records;
};

Status write_checkpoint(const std::string& path,
                        const CheckpointView& checkpoint);
Result<Checkpoint> read_checkpoint(const std::string& path);

// Checks that the checkpoint, read from the file `path`, belongs to this model:
// that config, names and shapes of the parameters are the same. Errors:
// bad_data.
//   read_checkpoint: run/checkpoint.npz is of another model: task is recall,
//   expected reverse
Status check_model(const Checkpoint& checkpoint, const std::string& path,
                   const ModelConfig& config, const ParamShapes& params);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
