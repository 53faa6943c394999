#include "shell/command_line.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "shell/args.h"

namespace headwise::cli {
namespace {

using enum OptionRule::Kind;

// A command with a few options, and what was typed for it.
struct Typed {
  explicit Typed(const std::vector<std::string>& arguments)
      : program("headwise", "", "", "") {
    const Arguments work = program.arguments().add_command("work", "", "");
    work.keep_line(line);
    work.add({{"--cache", &cache, choice({"paged", "whole"}), ""},
              {"--chunk", &chunk, count(), ""},
              {"--in", &in, input_file("FILE"), ""},
              {"--out", &out, output_file("FILE"), ""},
              {"--start", &start, file(FileUse::input_if_npy, "N|F.npy"), ""},
              {"--json", &json, printed(), ""}});
    work.on_parsed([] {});
    std::vector<std::string> words = {"work"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    EXPECT_FALSE(program.parse(words).error);
  }

  // What is wrong with the options; empty: nothing.
  std::string broken(const OptionRule& rule) const {
    const Status s = line.check({&rule, 1});
    return s ? "" : s.error().message();
  }

  Program program;
  CommandLine line;
  std::string cache;
  std::optional<std::uint64_t> chunk;
  std::string in;
  std::string out;
  std::string start;
  bool json = false;
};

TEST(CommandLineTest, KnowsOptionsAndTheirValues) {
  const Typed typed({"--cache", "paged", "--json"});
  EXPECT_TRUE(typed.line.has("--cache"));
  EXPECT_TRUE(typed.line.has("--cache paged"));
  EXPECT_FALSE(typed.line.has("--cache whole"));
  EXPECT_TRUE(typed.line.has("--json"));
  EXPECT_FALSE(typed.line.has("--chunk"));
  EXPECT_EQ(typed.line.first_of("--chunk|--json|--cache"), "--json");
  EXPECT_EQ(typed.line.text(), " --cache paged --json");
}

TEST(CommandLineTest, AnOptionMayNeedAnother) {
  const OptionRule rule{"--chunk", needs, "--cache paged|--out"};
  EXPECT_EQ(Typed({"--chunk", "1", "--cache", "whole"}).broken(rule),
            "--chunk needs --cache paged|--out");
  EXPECT_EQ(Typed({"--chunk", "1", "--cache", "paged"}).broken(rule), "");
  EXPECT_EQ(Typed({"--chunk", "1", "--out", "o"}).broken(rule), "");
  EXPECT_EQ(Typed({}).broken(rule), "");
  EXPECT_EQ(Typed({"--json"}).broken({"--json", needs, "--out", "--out FILE"}),
            "--json needs --out FILE");
}

TEST(CommandLineTest, OptionsMayNotGoTogether) {
  const Typed typed({"--chunk", "1", "--cache", "whole", "--json"});
  EXPECT_EQ(typed.broken({"--out|--json", excludes, "--cache whole+--chunk"}),
            "--json cannot be used with --cache whole and --chunk");
  EXPECT_EQ(typed.broken({"--json", excludes, "--cache", "it is small"}),
            "--json cannot be used with --cache: it is small");
  EXPECT_EQ(typed.broken({"--json", excludes, "--cache paged+--chunk"}), "");
  EXPECT_EQ(typed.broken({"--json", apart, "--chunk"}),
            "--json and --chunk cannot be used together");
  EXPECT_EQ(typed.broken({"--json", never, "", "no {}"}), "no --json");
  EXPECT_EQ(typed.broken({"--json+--out", never, "", "no {}"}), "");
}

TEST(CommandLineTest, SomethingMayBeRequiredOrAllThatThereIs) {
  const Typed typed({"--chunk", "1", "--json"});
  EXPECT_EQ(typed.broken({"", always, "--in|--out", "expected --in or --out"}),
            "expected --in or --out");
  EXPECT_EQ(typed.broken({"", always, "--in|--json", "expected one"}), "");
  EXPECT_EQ(typed.broken({"--chunk", only, "--chunk", "it is alone"}),
            "--json cannot be used with --chunk: it is alone");
  EXPECT_EQ(typed.broken({"--chunk", only, "--chunk|--json"}), "");
}

TEST(CommandLineTest, FilesFollowFromTheRows) {
  EXPECT_TRUE(Typed({"--in", "a", "--out", "b"}).line.files().check());
  EXPECT_FALSE(Typed({"--in", "a", "--out", "a"}).line.files().check());
  EXPECT_FALSE(
      Typed({"--start", "a.npy", "--out", "a.npy"}).line.files().check());
  EXPECT_TRUE(Typed({"--start", "7", "--out", "7"}).line.files().check());
  EXPECT_FALSE(Typed({"--json", "--out", "/dev/stdout"}).line.files().check());
}

TEST(OptionRowTest, ARowMayNeedAnotherOfItsTable) {
  std::string bias;
  bool both = true;
  const std::vector<OptionRow> rows = {
      {"--bias", &bias, npy(), ""},
      {"--both", &both, flag(), "", advanced().needs("--bias")}};
  EXPECT_EQ(check_needs(rows).error().message(), "--both needs --bias");
  bias = "b.npy";
  EXPECT_TRUE(check_needs(rows));
  EXPECT_EQ(first_given(rows), "--bias");
}

TEST(OptionRowTest, AnArgumentIsThatOfTheLongestPath) {
  std::string mask;
  std::string window;
  const std::vector<OptionRow> rows = {
      {"--mask", &mask, npy(), "", sets("mask")},
      {"--window", &window, text("N"), "", sets("mask.window|window")}};
  const auto arguments = arguments_of(rows);
  const auto option = [&](std::string_view argument) {
    const ArgumentOption* const row = option_of(argument, arguments);
    return row == nullptr ? "" : row->option;
  };
  EXPECT_EQ(option("mask"), "--mask");
  EXPECT_EQ(option("mask[0]"), "--mask");
  EXPECT_EQ(option("mask.window.left"), "--window");
  EXPECT_EQ(option("window"), "--window");
  EXPECT_EQ(option("mask.windows"), "--mask");
  EXPECT_EQ(option("masks"), "");
}

}  // namespace
}  // namespace headwise::cli
