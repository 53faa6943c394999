#include "headwise/interop/journal.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/out_of_memory.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/interop/paths.h"
#include "headwise/interop/sha256.h"
#include "headwise/json/json.h"
#include "interop/folder.h"
#include "interop/input_file.h"
#include "interop/read_bytes.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kJournal = "journal";
constexpr std::size_t kMostJournalBytes = std::size_t{1} << 26;
constexpr int kDeepestState = 6;

// Empty if there is none, or one that is not read: a link is somebody else's.
std::string read_journal(const std::string& path) {
  auto file = InputFile::open_named_by_file(kJournal, path);
  if (!file) {
    return "";
  }
  const auto bytes = read_bytes(*file, kMostJournalBytes, /*certain=*/false);
  return bytes ? std::string(text_of(*bytes)) : "";
}

std::string state_with_checksum(const std::string& line) {
  return line + "\n" + sha256_of(line) + "\n";
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

Journal::Journal(const std::string& output, std::string work)
    : path_(path_of(output)), work_(std::move(work)) {}

std::string Journal::path_of(const std::string& output) {
  if (!can_have_journal(output)) {
    return "";
  }
  const std::size_t end = output.find_last_not_of('/') + 1;
  return output.substr(0, end) + ".partial";
}

std::optional<std::string> Journal::state() const {
  constexpr std::size_t kChecksumBytes = 64 + 2;  // between two line ends
  const std::string text = path_.empty() ? "" : read_journal(path_);
  // Not up to the first line end: WORK may have one.
  const std::string line =
      text.substr(0, text.size() - std::min(text.size(), kChecksumBytes));
  if (text != state_with_checksum(line)) {
    return {};
  }
  const auto json = Json::parse(line, kMostJournalBytes, kDeepestState);
  const auto work = Json::parse(work_, kMostJournalBytes, kDeepestState);
  const Json* const of = json ? json->find("of") : nullptr;
  const Json* const state = json ? json->find("state") : nullptr;
  if (!work || of == nullptr || *of != *work || state == nullptr) {
    return {};
  }
  return state->dump();
}

bool Journal::due(std::chrono::seconds apart) const {
  return Clock::now() - last_ >= apart;
}

Status Journal::keep(std::string_view state) try {
  if (path_.empty()) {
    return ok();
  }
  const std::string text = state_with_checksum(
      "{\"of\":" + work_ + ",\"state\":" + std::string(state) + "}");
  last_ = Clock::now();
  const std::string folder = folder_of(path_);
  HEADWISE_TRY(folder.empty() ? ok() : make_folder(kJournal, folder));
  return write_file_atomically(path_, text, {.own_name = true});
} catch (...) {
  return caught_out_of_memory();
}

void Journal::remove() const { ::unlink(path_.c_str()); }

}  // namespace headwise::inline HEADWISE_ABI
