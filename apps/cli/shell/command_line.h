// A command line that was parsed: which options were typed, whether they go
// together, and which files they name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "file_plan.h"
#include "headwise/base/result.h"
#include "option_row.h"

namespace headwise::cli {

// How options go together. `option` and `others` are names, or names with a
// value: "--cache paged". | stands for "or", + for "and".
struct OptionRule {
  enum Kind {
    needs,     // OPTION needs OTHERS
    excludes,  // OPTION cannot be used with OTHERS
    apart,     // OPTION and OTHERS cannot be used together
    only,      // ANOTHER cannot be used with OPTION; the others can
    never,     // an error with the others, which `words` says
    always,    // an error without them, which `words` says
  };

  std::string_view option;  // OPTION is the first; empty: whatever is typed
  Kind kind;
  std::string_view others;  // empty: whatever else is typed
  // needs: in place of OTHERS; excludes, only: why; never, always: the error,
  // in which {} is OPTION.
  std::string_view words{};
};

class CommandLine {
 public:
  struct Typed {
    std::string option;
    std::vector<std::string> values{};  // those typed, or the default
    bool given = false;
    Takes takes{};
  };

  CommandLine() = default;
  CommandLine(std::vector<Typed> options, std::string text)
      : options_(std::move(options)), text_(std::move(text)) {}

  // Whether an option was typed: "--cache", or with this value "--cache paged".
  bool has(std::string_view option) const;
  // The first of "A|B" that was typed; empty: none.
  std::string_view first_of(std::string_view options) const;
  // The options and values as a shell takes them: " --model DIR 'a text'".
  const std::string& text() const { return text_; }

  // Errors: usage, for the first rule that is broken.
  Status check(std::span<const OptionRule> rules) const;
  // Files in the order of the rows; those in folders are last.
  FilePlan files() const;

 private:
  std::string_view other_than(std::string_view options) const;
  bool breaks(const OptionRule& rule) const;
  Message error_of(const OptionRule& rule) const;

  std::vector<Typed> options_;
  std::string text_;
};

}  // namespace headwise::cli
