// An option of a command as one row of a table. Its parsing and its help are
// derived from the row, and so are the files that it reads or writes and the
// words of errors about it.
//
// Example:
//   command.under("Masks").add({
//       {"--causal", &flags.causal, flag(), "no query sees a later key"},
//       {"--mask", &flags.mask, npy(), "true or 1 = may attend",
//        sets("mask")}});
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "checks.h"

namespace headwise::cli {

// The parts of "A|B"; none of "".
std::vector<std::string_view> parts_of(std::string_view text, char separator);

// Where the value of an option goes. Text that is empty, false, and an optional
// without a value are an option that was not given.
using OptionTarget =
    std::variant<bool*, std::string*, std::optional<std::string>*,
                 std::vector<std::string>*, std::uint64_t*,
                 std::optional<std::uint64_t>*, std::int64_t*, double*,
                 std::optional<double>*>;

// What FilePlan is told about a value.
enum class FileUse {
  none,
  input,            // a file or a folder
  input_if_dash,    // text, but "-" is standard input
  input_if_npy,     // a word, unless it ends in .npy
  inputs_by_comma,  // several
  output,
  picture,          // an output that ends in .svg or .png, or in `ending`
  outputs_in,       // a folder in which files of these `names` are written
  replaced_folder,  // as a whole
  printed,          // a flag: the result goes to standard output
};

// What an option takes: the type of its value in the help, and its check.
struct Takes {
  std::string type{};
  Check check{};
  bool rewrites = false;  // the check may change the text
  int values = 1;
  bool each_time = false;  // of several values, one each time it is given
  FileUse use = FileUse::none;
  std::string ending{};
  std::vector<std::string> names{};
};

Takes flag();     // nothing
Takes printed();  // nothing: a flag that prints the result
// Text that may not be empty, or that may.
Takes text(std::string type);
Takes any_text(std::string type);
// Text that may not be empty, each time that the option is given.
Takes texts(std::string type);
// One of `names`, which the help lists unless it shows a `type` instead.
Takes choice(std::vector<std::string> names, std::string type = {});
Takes number(std::string type = "N");       // a whole number from 0 on
Takes count(std::string type = "N");        // from 1 on
Takes whole_number_of(std::string type);    // any
Takes real(std::string type, Check check);  // such as number_between()
// Text with paths.
Takes file(FileUse use, std::string type);
Takes input_file(std::string type);
Takes npy();      // a .npy file that is read
Takes out_npy();  // and one that is written
Takes output_file(std::string type);
Takes picture(std::string type, std::string ending = {});
Takes outputs_in(std::string type, std::vector<std::string> names);

// What else there is to say about an option.
struct RowDetails {
  bool is_advanced = false;
  bool is_required = false;
  std::string_view argument{};
  std::string_view needed{};

  // The arguments of the library that get the value, with | between them.
  // Errors about them are about this option.
  RowDetails sets(std::string_view arguments) const;
  // Options of the same table, with | between them. Without any of them this
  // one is an error, which names the first.
  RowDetails needs(std::string_view options) const;
};
RowDetails advanced();  // only --help-all shows it
RowDetails required();
RowDetails sets(std::string_view arguments);

struct OptionRow {
  std::string name;  // without "--": positional
  OptionTarget place;
  Takes takes;
  std::string help;
  RowDetails more{};

  // Whether the place holds a value. A number that is no optional always does.
  bool given() const;
};

// The name of the first row that was given; empty: none.
std::string first_given(std::span<const OptionRow> rows);

// Errors: usage, for a row that was given without the one that it needs.
Status check_needs(std::span<const OptionRow> rows);

// An argument of the library, as a path of its members, and its option.
struct ArgumentOption {
  std::string_view argument;
  std::string option;
};
std::vector<ArgumentOption> arguments_of(std::span<const OptionRow> rows);
// The row of the longest path that `argument` begins with; null: none.
const ArgumentOption* option_of(std::string_view argument,
                                std::span<const ArgumentOption> rows);
// Whether `path` is `part` or one of its members or elements: "mask.window" is
// the beginning of "mask.window.left", not of "mask.windows".
bool begins_path(std::string_view part, std::string_view path);

}  // namespace headwise::cli
