#include "journal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <span>
#include <utility>

#include "headwise/interop/atomic_file.h"
#include "interop/folder.h"
#include "interop/input_file.h"
#include "interop/read_bytes.h"
#include "json/json.h"
#include "shell/file_place.h"
#include "shell/sha256.h"

namespace headwise::cli {
namespace {

constexpr std::chrono::seconds kApart(3);
constexpr std::size_t kMostBytes = std::size_t{1} << 26;
constexpr int kDeepest = 6;

// Empty where there is none.
std::string read_journal(const std::string& path) {
  auto file = InputFile::open_if_there("journal", path);
  if (!file || !*file) {
    return "";
  }
  const auto bytes = read_bytes(**file, kMostBytes, /*certain=*/false);
  if (!bytes) {
    return "";
  }
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

std::string with_checksum(const std::string& line) {
  return fmt::format("{}\n{}\n", line, sha256_of_text(line));
}

}  // namespace

Journal::Journal(const std::string& output, Json of)
    : path_(path_of(output)), of_(std::move(of)) {}

std::string Journal::path_of(const std::string& output) {
  const FilePlace place = place_of(output);
  if (place.descriptor ||
      (place.status && !place.is_folder() && !S_ISREG(place.status->st_mode))) {
    return "";
  }
  const std::size_t end = output.find_last_not_of('/') + 1;
  return output.substr(0, end) + ".partial";
}

std::optional<Json> Journal::state() const {
  const std::string text = path_.empty() ? "" : read_journal(path_);
  const std::string line = text.substr(0, text.find('\n'));
  if (text != with_checksum(line)) {
    return {};
  }
  const auto json = Json::parse(line, kMostBytes, kDeepest);
  const Json* const of = json ? json->find("of") : nullptr;
  const Json* const state = json ? json->find("state") : nullptr;
  if (of == nullptr || *of != of_ || state == nullptr) {
    return {};
  }
  return *state;
}

bool Journal::due() const { return Clock::now() - last_ >= kApart; }

Status Journal::keep(const Json& state) {
  if (path_.empty()) {
    return ok();
  }
  const std::string text =
      with_checksum(Json{{"of", of_}, {"state", state}}.dump());
  last_ = Clock::now();
  const std::string folder = folder_of(path_);
  HEADWISE_TRY(folder.empty() ? ok() : make_folder("journal", folder));
  return write_file_atomically(path_, std::as_bytes(std::span(text)));
}

void Journal::remove() const { ::unlink(path_.c_str()); }

}  // namespace headwise::cli
