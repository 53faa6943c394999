#include "file_plan.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "headwise/interop/paths.h"
#include "output.h"
#include "say.h"
#include "terminal_text.h"

namespace headwise::cli {
namespace {

// "--out" or, where the path was given in other words, "--out ./o.npy"
std::string named(std::string_view option, const std::string& given,
                  const std::string& other) {
  return given == other ? std::string(option)
                        : fmt::format("{} {}", option, given);
}

// "--out ./o.npy"; of "the journal of --out" a message.
Message option_words(std::string_view option, std::string_view path = {}) {
  const std::size_t of = option.rfind(' ') + 1;  // 0: an option alone
  const std::string rest =
      fmt::format("{}{}{}", option.substr(of), path.empty() ? "" : " ", path);
  return of == 0 ? Message::verbatim(rest)
                 : message(std::string(option.substr(0, of)) + "{}", rest);
}

// Of a folder that may have to be made.
int why_not_made(const FilePlace& folder, bool parents) {
  if (folder.error != 0 || folder.is_folder()) {
    return folder.error;
  }
  if (folder.status) {
    return ENOTDIR;
  }
  return parents ? why_no_folder(folder.path) : why_not_writable(folder);
}

// The new folder is made next to the old one, whose files are then removed.
int why_not_replaced(const FilePlace& folder) {
  if (!folder.status) {
    return 0;
  }
  const int error = why_no_folder(folder.path);
  return error != 0 ? error : why_no_folder(folder_of(folder.path));
}

Failure cannot_write(std::string_view option, const std::string& path,
                     int error) {
  return {
      Exit::out_of_resources,
      system_error({.argument = fmt::format("{} {}", option, path)}, error)};
}

}  // namespace

// ---- What there is. ----

void FilePlan::input(std::string_view option, const std::string& path) {
  if (path.empty()) {
    return;
  }
  Entry entry{std::string(option), path,
              path == "-" ? place_of_descriptor(STDIN_FILENO) : place_of(path)};
  if (!entry.place.is_folder()) {
    inputs_.push_back(std::move(entry));
    return;
  }
  for (const std::string& part : model_files_in(path)) {
    inputs_.push_back({entry.option, part, place_of(part)});
  }
  sources_.push_back(std::move(entry));
}

void FilePlan::output(std::string_view option, const std::string& path,
                      bool parents) {
  if (!path.empty()) {
    outputs_.push_back({std::string(option), path, place_of(path), parents});
  }
}

void FilePlan::journal(std::string_view option, const std::string& path,
                       bool parents) {
  if (!path.empty()) {
    outputs_.push_back({fmt::format("the journal of {}", option), path,
                        own_place_of(path), parents});
  }
}

void FilePlan::picture(std::string_view option, const std::string& path,
                       std::string_view ending) {
  output(option, path);
  if (!path.empty()) {
    pictures_.push_back(outputs_.back());
    pictures_.back().ending = ending;
  }
}

void FilePlan::outputs_in(std::string_view option, const std::string& folder,
                          const std::vector<std::string>& names, bool parents) {
  if (folder.empty()) {
    return;
  }
  for (const std::string& name : names) {
    output(option,
           folder.ends_with('/') ? folder + name : path_in(folder, name));
  }
  folders_.push_back({std::string(option), folder, place_of(folder), parents});
}

void FilePlan::replaced_folder(std::string_view option, const std::string& path,
                               bool parents) {
  if (!path.empty()) {
    replaced_.push_back({std::string(option), path, place_of(path), parents});
  }
}

void FilePlan::printed(std::string_view option) {
  printed_.push_back({std::string(option), "standard output",
                      place_of_descriptor(STDOUT_FILENO)});
}

Outcome FilePlan::print_summary(const Streams& streams,
                                std::string_view text) const {
  if (std::ranges::none_of(outputs_, is_standard_output, &Entry::place)) {
    return print(streams.out, text);
  }
  streams.err << text << std::flush;
  return {};
}

std::string FilePlan::written_text() const {
  std::string text;
  for (const Entry& output : outputs_) {
    text += say("{}: written\n", shown(output.given));
  }
  return text;
}

// ---- Files that are given twice. ----

Outcome FilePlan::check() const {
  for (const auto check : {&FilePlan::check_names, &FilePlan::check_printed,
                           &FilePlan::check_outputs, &FilePlan::check_inputs,
                           &FilePlan::check_folders, &FilePlan::check_writable,
                           &FilePlan::check_pictures}) {
    HEADWISE_TRY((this->*check)());
  }
  return {};
}

// "-" is standard input, so nobody means a file by it.
Outcome FilePlan::check_names() const {
  for (const auto* const entries : {&outputs_, &folders_, &replaced_}) {
    for (const Entry& entry : *entries) {
      if (entry.given == "-") {
        return usage(
            entry.option, "is -",
            entries == &outputs_
                ? "/dev/stdout for standard output, ./- for a file of that name"
                : "./- for a folder of that name");
      }
    }
  }
  return {};
}

Outcome FilePlan::check_printed() const {
  for (const Entry& printed : printed_) {
    for (const Entry& output : outputs_) {
      if (is_standard_output(output.place)) {
        return usage(fmt::format("{} {}", output.option, output.given),
                     message("is standard output, to which {} prints",
                             Message(printed.option)),
                     "a file");
      }
    }
    for (const Entry& input : inputs_) {
      if (are_one_file(printed.place, input.place)) {
        return usage("standard output",
                     message("is what {} {} reads", input.option, input.given),
                     "another file");
      }
    }
  }
  return {};
}

Outcome FilePlan::check_outputs() const {
  for (std::size_t n = 0; n < outputs_.size(); ++n) {
    for (std::size_t m = 0; m < n; ++m) {
      const Entry& a = outputs_[m];
      const Entry& b = outputs_[n];
      if (are_one_file(a.place, b.place)) {
        return usage(
            "",
            a.given == b.given
                ? message("{} and {} name one file, {}", option_words(a.option),
                          option_words(b.option), a.given)
                : message("{} and {} name one file",
                          option_words(a.option, a.given),
                          option_words(b.option, b.given)),
            "different ones");
      }
    }
  }
  return {};
}

Outcome FilePlan::check_inputs() const {
  for (const Entry& output : outputs_) {
    for (const Entry& input : inputs_) {
      if (are_one_file(output.place, input.place)) {
        return usage(output.option,
                     message("is {}, which {} reads", output.given,
                             named(input.option, input.given, output.given)),
                     "another file");
      }
    }
    for (const Entry& source : sources_) {
      const std::string& path = output.place.own_path;
      if (lies_in(path, source.place.path) && may_be_model_file(path)) {
        return usage(output.option,
                     message("is {}, which would be a file of {} {}",
                             output.given, source.option, source.given),
                     "one outside");
      }
    }
  }
  return {};
}

// A folder that is replaced may hold nothing else that the command uses, nor
// lie in what it reads.
Outcome FilePlan::check_replaced(const Entry& folder) const {
  const std::string& path = folder.place.path;
  const auto expected = [&](Message what) {
    return usage(folder.option, message("is {}", folder.given),
                 std::move(what));
  };
  for (const Entry& source : sources_) {
    if (are_one_file(folder.place, source.place)) {
      return expected(message("another folder than {}'s", source.option));
    }
    if (lies_in(path, source.place.path)) {
      return expected(
          message("a folder outside {} {}", source.option, source.given));
    }
  }
  for (const auto* const entries : {&sources_, &inputs_, &outputs_}) {
    for (const Entry& entry : *entries) {
      if (entry.option != folder.option &&
          (lies_in(entry.place.path, path) ||
           lies_in(entry.place.own_path, path))) {
        return expected(message("a folder without {} {}, for it is replaced",
                                entry.option, entry.given));
      }
    }
  }
  const std::string here = canonical_path(".");
  if (path == here || lies_in(here, path)) {
    return expected("a folder that is not the current one, for it is replaced");
  }
  return {};
}

Outcome FilePlan::check_folders() const {
  for (const Entry& folder : replaced_) {
    HEADWISE_TRY(check_replaced(folder));
  }
  for (const Entry& folder : folders_) {
    for (const Entry& source : sources_) {
      if (are_one_file(folder.place, source.place)) {
        return usage(folder.option, message("is {}", folder.given),
                     message("another folder than {}'s", source.option));
      }
    }
  }
  return {};
}

// ---- Outputs that cannot be written. ----

Outcome FilePlan::check_writable() const {
  for (const Entry& output : outputs_) {
    const bool waits_for_folder =
        std::ranges::any_of(folders_, [&](const Entry& folder) {
          return !folder.place.status && folder.option == output.option;
        });
    const bool is_new = !output.place.status && output.place.error == 0;
    const int error = waits_for_folder ? 0
                      : is_new && output.parents
                          ? why_no_folder(folder_of(output.place.path))
                          : why_not_writable(output.place);
    if (error != 0) {
      return cannot_write(output.option, output.given, error);
    }
  }
  for (const auto* const folders : {&folders_, &replaced_}) {
    for (const Entry& folder : *folders) {
      int error = why_not_made(folder.place, folder.parents);
      if (error == 0 && folders == &replaced_) {
        error = why_not_replaced(folder.place);
      }
      if (error != 0) {
        return cannot_write(folder.option, folder.given, error);
      }
    }
  }
  return {};
}

Outcome FilePlan::check_pictures() const {
  for (const Entry& picture : pictures_) {
    const auto& [option, path, place, parents, ending] = picture;
    const bool device =
        place.descriptor || (place.status && !S_ISREG(place.status->st_mode));
    const bool known = ending.empty()
                           ? path.ends_with(".svg") || path.ends_with(".png")
                           : path.ends_with(ending);
    if (!known && !device) {
      return usage(option, message("is {}", path),
                   ending.empty() ? "a name that ends in .svg or .png"
                                  : message("a name that ends in {}", ending));
    }
  }
  return {};
}

}  // namespace headwise::cli
