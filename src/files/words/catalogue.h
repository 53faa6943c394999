// A catalogue in the form that msgfmt writes (.mo): ids, which are sorted, and
// their translations. An id is the English text, after its context and the
// character U+0004 where it has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr char kAfterContext = '\4';

class Catalogue {
 public:
  // Views the bytes, which are a whole file or none at all.
  explicit Catalogue(std::span<const std::byte> file) : file_(file) {}

  std::size_t size() const { return file_.empty() ? 0 : number_at(8); }
  std::string_view id(std::size_t n) const { return text_at(12, n); }
  std::string_view text(std::size_t n) const { return text_at(16, n); }
  // The first entry whose id is not before `id`.
  std::size_t place_of(std::string_view id) const;
  std::optional<std::string_view> find(std::string_view id) const;

 private:
  std::uint32_t number_at(std::size_t byte) const;
  // Text n of the table whose place is at `byte`.
  std::string_view text_at(std::size_t byte, std::size_t n) const;

  std::span<const std::byte> file_;
};

// That of a language; an empty one of English.
Catalogue catalogue_of(std::string_view code);

// A file that was built in: "ko.mo", or LINGUAS, which lists the languages.
std::span<const std::byte> catalogue_file(std::string_view name);

}  // namespace headwise::inline HEADWISE_ABI
