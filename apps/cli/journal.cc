#include "journal.h"

#include <unistd.h>

#include <span>
#include <utility>

#include "headwise/interop/atomic_file.h"
#include "interop/input_file.h"
#include "json/json.h"

namespace headwise::cli {
namespace {

constexpr std::chrono::seconds kApart(3);
constexpr std::size_t kMostBytes = std::size_t{1} << 26;
constexpr int kDeepest = 6;

}  // namespace

Journal::Journal(const std::string& output, Json of)
    : path_(output + ".partial"), of_(std::move(of)) {}

std::optional<Json> Journal::state() const {
  auto file = InputFile::open_if_there("journal", path_);
  if (!file || !*file) {
    return {};
  }
  const auto bytes = (*file)->read_all();
  if (!bytes) {
    return {};
  }
  const auto* const text = reinterpret_cast<const char*>(bytes->data());
  const auto json = Json::parse({text, bytes->size()}, kMostBytes, kDeepest);
  const Json* const of = json ? json->find("of") : nullptr;
  const Json* const state = json ? json->find("state") : nullptr;
  if (of == nullptr || *of != of_ || state == nullptr) {
    return {};
  }
  return *state;
}

bool Journal::due() const { return Clock::now() - last_ >= kApart; }

Status Journal::keep(const Json& state) {
  const std::string text = Json{{"of", of_}, {"state", state}}.dump();
  last_ = Clock::now();
  return write_file_atomically(path_, std::as_bytes(std::span(text)));
}

void Journal::remove() const { ::unlink(path_.c_str()); }

}  // namespace headwise::cli
