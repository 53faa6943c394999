#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "normalizer_case.h"
#include "tokenizer/base64.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using Replacements = std::vector<std::pair<std::string, std::string>>;

// A trie with 256 units for each prefix of the texts.
class CharsMapWriter {
 public:
  explicit CharsMapWriter(const Replacements& replacements)
      : replacements_(replacements) {
    add("", 0);
  }

  std::string json() const {
    std::string bytes;
    const auto add_unit = [&](std::size_t unit) {
      for (int shift = 0; shift < 32; shift += 8) {
        bytes += static_cast<char>(unit >> shift & 0xFFU);
      }
    };
    add_unit(units_.size() * 4);
    for (const std::size_t unit : units_) {
      add_unit(unit);
    }
    return R"({"type": "Precompiled", "precompiled_charsmap": ")" +
           encode_base64(bytes + texts_) + R"("})";
  }

 private:
  // The unit at `node` is that of `prefix`.
  void add(const std::string& prefix, std::size_t node) {
    const std::size_t children = units_.size() < 256 ? 256 : units_.size();
    units_.resize(children + 256);
    units_[node] |= (node ^ children) << 10U;
    std::set<char> next;
    for (const auto& [text, with] : replacements_) {
      if (text == prefix) {
        units_[node] |= 0x100U;
        units_[children] = texts_.size();
        texts_ += with + '\0';
      } else if (text.starts_with(prefix)) {
        next.insert(text[prefix.size()]);
      }
    }
    for (const char byte : next) {
      const std::size_t label = static_cast<unsigned char>(byte);
      units_[children + label] = label;
      add(prefix + byte, children + label);
    }
  }

  const Replacements& replacements_;
  std::vector<std::size_t> units_;
  std::string texts_;
};

TEST(PrecompiledTest, ClustersAreReplacedLikeInTheReference) {
  const std::string json = CharsMapWriter({{"A", "bcd"},
                                           {"x", ""},
                                           {"e\u0301", "\u00E9"},
                                           {"e", "3"},
                                           {"o", "0"},
                                           {"\u30AB\u3099", "!"},
                                           {"\r\n", " "},
                                           {"\u0915", "k"},
                                           {"u\u0301", "U"}})
                               .json();
  const std::vector<NormalizerCase> cases = {
      {json, "zzu\u0301z", "zzUz", {{0, 1}, {1, 2}, {2, 3}, {5, 6}}},
      {json, "zAz", "zbcdz", {{0, 1}, {1, 2}, {1, 2}, {1, 2}, {2, 3}}},
      {json, "zxy", "zy", {{0, 1}, {2, 3}}},
      {json, "xyz", "yz", {{0, 1}, {1, 2}}},
      {json, "xx", "", {}},
      {json, "Axy", "bcdy", {{0, 1}, {0, 1}, {1, 2}, {2, 3}}},
      {json, "qxA", "qbcd", {{0, 1}, {2, 3}, {2, 3}, {2, 3}}},
      {json, "e\u0301", "3", {{0, 1}}},
      {json, "o\u0301", "0", {{0, 1}}},
      {json, "o\u0301\u0323q", "0q", {{0, 1}, {5, 6}}},
      {json,
       "o\u0301\u0323\u0327q",
       "0\u0301\u0323\u0327q",
       {{0, 1}, {1, 3}, {3, 5}, {5, 7}, {7, 8}}},
      {json, "\u30AB\u3099", "\u30AB\u3099", {{0, 3}, {3, 6}}},
      {json, "a\015\012b", "a b", {{0, 1}, {1, 2}, {3, 4}}},
      {json,
       "a\u0301\u0915\u094D\u0915\u0301",
       "a\u0301k\u094Dk\u0301",
       {{0, 1}, {1, 3}, {3, 6}, {6, 9}, {9, 12}, {12, 14}}},
      {json,
       "\u00A9\u200DA",
       "\u00A9\u200Dbcd",
       {{0, 2}, {2, 5}, {5, 6}, {5, 6}, {5, 6}}},
      {json, "z", "z", {{0, 1}}},
      {json,
       "zx\u00E9A",
       "z\u00E9bcd",
       {{0, 1}, {2, 4}, {4, 5}, {4, 5}, {4, 5}}},
  };
  for (const NormalizerCase& one : cases) {
    expect_normalized(one);
  }
}

TEST(PrecompiledTest, DamagedTablesAreRefused) {
  const auto error_of = [](std::string_view charsmap) {
    const auto made =
        normalizer_of(R"({"type": "Precompiled", "precompiled_charsmap": ")" +
                      std::string(charsmap) + R"("})");
    return made ? "" : made.error().message();
  };
  EXPECT_EQ(error_of("!"),
            "read: t.json: normalizer.precompiled_charsmap is \"!\", expected "
            "base64");
  EXPECT_NE(error_of("AAAA"), "");              // 3 bytes
  EXPECT_NE(error_of("BAAAAA=="), "");          // a trie that is not there
  EXPECT_NE(error_of("BAAAAAAAAAD/AA=="), "");  // no UTF-8
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
