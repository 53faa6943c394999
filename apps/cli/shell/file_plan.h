// The files that a command reads and writes, checked together before any work
// starts: no output is an input or another output, whatever paths lead to them,
// and every output can be written. Nothing is created or truncated.
// docs/decisions/014-files.md says why.
//
//   FilePlan plan;
//   plan.input("--data", flags.data);
//   plan.output("--out", flags.out);
//   HEADWISE_TRY(plan.check());
//
// An empty path is an option that was not given. A file that a command may both
// read and replace (a journal, the checkpoint that it resumes from) is given as
// an output only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command.h"
#include "file_place.h"
#include "outcome.h"

namespace headwise::cli {

class FilePlan {
 public:
  // A file, or a folder of a model or of parameters; "-" is standard input.
  void input(std::string_view option, const std::string& path);
  // With `parents` the folders that it lies in are made where they are missing.
  void output(std::string_view option, const std::string& path,
              bool parents = false);
  // The journal of an option, at Journal::path_of(); none where that is empty.
  void journal(std::string_view option, const std::string& path,
               bool parents = false);
  // An output whose ending says what is written: .svg or .png, or this one.
  void picture(std::string_view option, const std::string& path,
               std::string_view ending = {});
  // Files in a folder, which is made where it is missing; with `parents` those
  // that it lies in are, too.
  void outputs_in(std::string_view option, const std::string& folder,
                  const std::vector<std::string>& names, bool parents);
  // A folder that is replaced as a whole, and made where it is missing.
  void replaced_folder(std::string_view option, const std::string& path,
                       bool parents);
  // `option` prints its result: standard output is an output.
  void printed(std::string_view option);

  // Usage for files that are given twice, else out_of_resources for outputs
  // that cannot be written, else usage for pictures with another ending. A
  // device such as /dev/stdout needs none.
  Outcome check() const;

  // Prints the summary, to standard error where an output goes to
  // standard output.
  Outcome print_summary(const Streams& streams, std::string_view text) const;
  // A line for each output, once all are written.
  std::string written_text() const;

 private:
  struct Entry {
    std::string option;
    std::string given;
    FilePlace place;
    bool parents = false;
    std::string ending{};  // of a picture: the only one
  };

  Outcome check_names() const;
  Outcome check_printed() const;
  Outcome check_outputs() const;
  Outcome check_inputs() const;
  Outcome check_folders() const;
  Outcome check_replaced(const Entry& folder) const;
  Outcome check_writable() const;
  Outcome check_pictures() const;

  std::vector<Entry> inputs_;   // files, those in folders among them
  std::vector<Entry> sources_;  // folders that are read
  std::vector<Entry> outputs_;
  std::vector<Entry> folders_;   // in which outputs are
  std::vector<Entry> replaced_;  // folders
  std::vector<Entry> printed_;
  std::vector<Entry> pictures_;  // outputs, too
};

}  // namespace headwise::cli
