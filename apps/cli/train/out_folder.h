// The folder of --out that a training run writes its files to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/checkpoint.h"
#include "shell/outcome.h"
#include "train_flags.h"

namespace headwise::cli {

inline constexpr std::string_view kCheckpointFile = "checkpoint.npz";

// Does nothing where the folder holds something.
void remove_empty_folder(const std::string& folder);

// Whether these files of --out are regular ones or not there: writing to a pipe
// would wait for a reader. Usage.
Outcome check_regular_files(const std::string& folder,
                            const std::vector<std::string>& names);

// FOLDER/checkpoint.npz
std::string checkpoint_path(const std::string& folder);
// What a run saved in a folder. Errors: those of read_checkpoint(); bad_data
// for a pipe or a device, because reading it might never end.
Result<Checkpoint> read_run(const std::string& folder);
// Whether these files are in the folder and none is older than the checkpoint,
// after which they are written.
bool has_results_of_checkpoint(const std::string& folder,
                               const std::vector<std::string>& names);
// Whether a run continues in the folder that it resumes from.
bool resumes_in_place(const TrainFlags& flags);

// Makes the folder if it is missing; whether it was. Errors: io_error.
Result<bool> make_out_folder(const std::string& folder);
// Removes a file of an earlier run if there is one. Errors: io_error.
Status remove_result(const std::string& path);

}  // namespace headwise::cli
