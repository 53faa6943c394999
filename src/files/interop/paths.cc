#include "headwise/interop/paths.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

namespace headwise::inline HEADWISE_ABI {
namespace {

struct Free {
  void operator()(char* text) const {
    std::free(text);  // NOLINT(cppcoreguidelines-no-malloc): of realpath()
  }
};

std::optional<int> descriptor_of(std::string_view path) {
  for (const std::string_view folder : {"/proc/self/fd/", "/dev/fd/"}) {
    if (path.starts_with(folder)) {
      const std::string_view digits = path.substr(folder.size());
      int number = 0;
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (error == std::errc() && end == digits.data() + digits.size()) {
        return number;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::string canonical_path(const std::string& path) {
  std::string there = path.empty() ? "." : path;
  std::string rest;
  while (true) {
    const std::unique_ptr<char, Free> real(::realpath(there.c_str(), nullptr));
    if (real) {
      const std::string whole = real.get();
      return rest.empty() ? whole : (whole == "/" ? "" : whole) + rest;
    }
    const std::size_t end = there.find_last_not_of('/') + 1;
    const std::size_t name = there.substr(0, end).find_last_of('/') + 1;
    if (end == 0) {
      return path;  // not even the root can be reached
    }
    rest.insert(0, path_in("", there.substr(name, end - name)));
    there = name == 0 ? "." : there.substr(0, name);
  }
}

std::optional<LinkTarget> follow_links(std::string path) {
  constexpr int kMostLinks = 40;
  for (int link = 0; link < kMostLinks; ++link) {
    if (const auto descriptor = descriptor_of(path)) {
      return LinkTarget{std::move(path), descriptor};
    }
    std::array<char, PATH_MAX> text{};
    const ssize_t length = ::readlink(path.c_str(), text.data(), text.size());
    if (length < 0) {
      return LinkTarget{std::move(path)};
    }
    const std::string next(text.data(), static_cast<std::size_t>(length));
    path = next.starts_with('/') ? std::string() : folder_of(path);
    path += next;
  }
  return std::nullopt;
}

}  // namespace headwise::inline HEADWISE_ABI
