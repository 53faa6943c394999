#include "headwise/interop/journal.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/out_of_memory.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/interop/paths.h"
#include "headwise/interop/sha256.h"
#include "interop/folder.h"
#include "interop/input_file.h"
#include "interop/read_bytes.h"
#include "interop/work_lines.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kJournal = "journal";

// Empty if there is none, or one that is not read: a link is somebody else's.
std::string read_journal(const std::string& path) {
  auto file = InputFile::open_named_by_file(kJournal, path);
  if (!file) {
    return "";
  }
  const auto bytes = read_bytes(*file, kMostWorkBytes, /*certain=*/false);
  return bytes ? std::string(text_of(*bytes)) : "";
}

// A file that can be replaced, a folder, or nothing yet.
bool can_have_journal(const std::string& output) {
  const auto target = follow_links(output);
  if (!target) {
    return true;
  }
  struct stat status {};
  return !target->descriptor &&
         (::stat(target->path.c_str(), &status) != 0 ||
          S_ISDIR(status.st_mode) || S_ISREG(status.st_mode));
}

}  // namespace

std::string work_lines(const std::string& first_line) {
  return first_line + "\n" + sha256_of(first_line) + "\n";
}

std::optional<Json> parse_work_lines(std::string_view text, std::size_t size,
                                     const Json& work) {
  constexpr int kDeepest = 8;
  const std::string line(text.substr(0, size));
  if (!text.starts_with(work_lines(line))) {
    return {};
  }
  auto json = Json::parse(line, kMostWorkBytes, kDeepest);
  // As it would be read: a text that is not UTF-8 changes when it is written.
  const auto wanted = Json::parse(work.dump(), kMostWorkBytes, kDeepest);
  const Json* const of = json ? json->find("of") : nullptr;
  return of != nullptr && wanted && *of == *wanted ? std::move(json)
                                                   : std::nullopt;
}

Journal::Journal(const std::string& output, Json work)
    : path_(path_of(output)), work_(std::move(work)) {}

std::string Journal::path_of(const std::string& output) {
  if (!can_have_journal(output)) {
    return "";
  }
  const std::size_t end = output.find_last_not_of('/') + 1;
  return output.substr(0, end) + ".partial";
}

std::optional<Json> Journal::state() const {
  const std::string text = path_.empty() ? "" : read_journal(path_);
  // Not up to the first line end: those of earlier versions may have more.
  const auto line = parse_work_lines(
      text, text.size() - std::min(text.size(), kAfterFirstLine), work_);
  const Json* const state = line ? line->find("state") : nullptr;
  return state == nullptr ? std::nullopt : std::optional(*state);
}

Status Journal::keep(const Json& state) try {
  if (path_.empty()) {
    return ok();
  }
  const std::string text = work_lines("{\"of\":" + work_.dump() +
                                      ",\"state\":" + state.dump() + "}");
  last_ = Clock::now();
  const std::string folder = folder_of(path_);
  HEADWISE_TRY(folder.empty() ? ok() : make_folder(kJournal, folder));
  return write_file_atomically(path_, text, {.own_name = true});
} catch (...) {
  return caught_out_of_memory();
}

void Journal::remove() const { ::unlink(path_.c_str()); }

}  // namespace headwise::inline HEADWISE_ABI
