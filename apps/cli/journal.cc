#include "journal.h"

#include <unistd.h>

#include <span>
#include <utility>

#include "headwise/interop/atomic_file.h"
#include "interop/input_file.h"
#include "small_json.h"

namespace headwise::cli {
namespace {

constexpr std::chrono::seconds kApart(3);

}  // namespace

Journal::Journal(const std::string& output, Json of)
    : path_(output + ".partial"), of_(std::move(of)) {}

std::optional<Journal::Json> Journal::state() const {
  auto file = InputFile::open_if_there("journal", path_);
  if (!file || !*file) {
    return {};
  }
  const auto bytes = (*file)->read_all();
  if (!bytes) {
    return {};
  }
  const auto* const text = reinterpret_cast<const char*>(bytes->data());
  const Json json = parse_small_json({text, bytes->size()}, kLargestJournal);
  if (!json.is_object() || json.value("of", Json()) != of_) {
    return {};
  }
  return json.value("state", Json());
}

bool Journal::due() const { return Clock::now() - last_ >= kApart; }

Status Journal::keep(const Json& state) {
  const std::string text = Json{{"of", of_}, {"state", state}}.dump();
  last_ = Clock::now();
  return write_file_atomically(path_, std::as_bytes(std::span(text)));
}

void Journal::remove() const { ::unlink(path_.c_str()); }

}  // namespace headwise::cli
