#include "shell/args.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "operation/operation_flags.h"
#include "shell/command.h"

namespace headwise::cli {
namespace {

const std::vector<std::string> kNames = {"--example", "--embed-dim", "--tokens",
                                         "--step", "--seed"};

TEST(ClosestTest, FindsWhatWasMistyped) {
  EXPECT_EQ(closest("--exmaple", kNames), "--example");  // swapped
  EXPECT_EQ(closest("--token", kNames), "--tokens");     // missing
  EXPECT_EQ(closest("--stepp", kNames), "--step");       // one too many
  EXPECT_EQ(closest("--embed_dim", kNames), "--embed-dim");
  EXPECT_EQ(closest("--seed", kNames), "--seed");
  // Swapped neighbours are one mistake, not two.
  EXPECT_EQ(closest("stpe", {"stale", "step"}), "step");
}

TEST(ClosestTest, GuessesNothingFarAway) {
  EXPECT_EQ(closest("--frobnicate", kNames), "");
  EXPECT_EQ(closest("", kNames), "");
  EXPECT_EQ(closest("--seed", {}), "");
}

// What `check` says about `text`, and what it makes of it.
std::string said(const Check& check, std::string text,
                 std::string* made = nullptr) {
  const Status s = check(text);
  if (made != nullptr) {
    *made = text;
  }
  return s ? "" : s.error().message();
}

TEST(ChecksTest, WholeNumbersAreTakenAsTheyStand) {
  std::string made;
  EXPECT_EQ(said(at_least_one(), "010", &made), "");
  EXPECT_EQ(made, "10");  // CLI11 would read 8
  EXPECT_EQ(said(natural_number(), "18446744073709551615", &made), "");
  EXPECT_EQ(made, "18446744073709551615");
  EXPECT_EQ(said(whole_number(), "-9223372036854775808"), "");
  EXPECT_EQ(said(natural_number(), "0"), "");
}

TEST(ChecksTest, WhatIsNoSuchNumberIsSaidSo) {
  EXPECT_EQ(said(at_least_one(), "0"),
            "is 0, expected a whole number, 1 or greater");
  EXPECT_EQ(said(at_least_one(), "-1"),
            "is -1, expected a whole number, 1 or greater");
  EXPECT_EQ(said(natural_number(), "-1"),
            "is -1, expected a whole number, 0 or greater");
  EXPECT_EQ(said(natural_number(), ""),
            "is empty, expected a whole number, 0 or greater");
  EXPECT_EQ(said(whole_number(), "1.5"), "is 1.5, expected a whole number");
  EXPECT_EQ(said(natural_number(), "18446744073709551616"),
            "is 18446744073709551616, expected a number that fits 64 bits");
  EXPECT_NE(said(natural_number(), "0x10"), "");
  EXPECT_NE(said(natural_number(), " 1"), "");
  EXPECT_NE(said(natural_number(), "1 "), "");
}

TEST(ChecksTest, NumbersHaveTheirBounds) {
  for (const char* text : {"0", "1", "0.25", "1e-3"}) {
    EXPECT_EQ(said(probability(), text), "") << text;
  }
  for (const char* text : {"-0.1", "1.0001", "nan", "inf", "x", ""}) {
    EXPECT_NE(said(probability(), text), "") << text;
  }
  const auto wide = number_between(-2e38, 2e38, "a number from -2e38 to 2e38");
  EXPECT_EQ(said(wide, "-2e38"), "");
  for (const char* text : {"nan", "inf", "-inf", "1e400", "1,5", "3e38"}) {
    EXPECT_EQ(said(wide, text), "is " + std::string(text) +
                                    ", expected a number from -2e38 to 2e38");
  }
}

TEST(ChecksTest, OneOfSaysWhichAndWhatWasMeant) {
  EXPECT_EQ(said(one_of({"en", "ko"}), "ko"), "");
  EXPECT_EQ(said(one_of({"length", "id"}), "lenght"),
            "is lenght, expected one of length, id; did you mean length?");
  EXPECT_EQ(said(one_of({"length", "id"}), "frobnicate"),
            "is frobnicate, expected one of length, id");
  EXPECT_NE(said(not_empty(), ""), "");
}

// A program with these commands.
struct SmallProgram : Program {
  SmallProgram() : Program("headwise", "", "", "headwise 1.2.3") {
    add_explain(arguments(), chosen);
    add_run(arguments(), chosen);
    add_info(arguments(), chosen);
    add_help_command();
  }
  Command chosen;
};

// The sentence for a command line that is wrong; "" when it is right.
std::string sentence(const std::vector<std::string>& arguments) {
  const auto error = SmallProgram().parse(arguments).error;
  return error ? error->message() : "";
}

TEST(ParseErrorTest, NamesTheOptionWhatWasGivenAndWhatWasExpected) {
  using Case = std::pair<std::vector<std::string>, std::string>;
  const std::vector<Case> cases = {
      {{"explian"}, "unknown command explian; did you mean explain?"},
      {{""}, "unknown command \"\""},
      {{"explian", "--help"}, "unknown command explian; did you mean explain?"},
      {{"help", "explian"}, "unknown command explian; did you mean explain?"},
      {{"explain", "--exmaple", "masked"},
       "unknown option --exmaple; did you mean --example?"},
      {{"explain", "--exmaple=masked"},
       "unknown option --exmaple; did you mean --example?"},
      {{"explain", "--frobnicate"}, "unknown option --frobnicate"},
      {{"explain", "-x"}, "unknown option -x"},
      {{"explain", "sentence", "masked"}, "unexpected argument \"masked\""},
      {{"explain", "--embed-dim"}, "--embed-dim has no value, expected N"},
      {{"explain", "--seed", "1", "--seed", "2"},
       "--seed was given more than once, expected once"},
      {{"explain", "--json=yes"}, "--json has a value, expected none"},
      {{"explain", "--causal=yes"}, "--causal has a value, expected none"},
      {{"explain", "--num-heads", "0"},
       "--num-heads is 0, expected a whole number, 1 or greater"},
      {{"explain", "--seed", "-1"},
       "--seed is -1, expected a whole number, 0 or greater"},
      {{"explain", "--dropout", "2"},
       "--dropout is 2, expected a number from 0 to 1"},
      {{"explain", "--scale", "nan"},
       "--scale is nan, expected a number from -2e38 to 2e38"},
      {{"explain", "--lang", "de"}, "--lang is de, expected one of en, ko"},
      {{"explain", "--tokens", ""}, "--tokens is empty, expected a value"},
      {{"run", "--key", "k.npy"}, "--query is required"},
  };
  for (const auto& [arguments, expected] : cases) {
    EXPECT_EQ(sentence(arguments), expected);
  }
}

TEST(ParseErrorTest, EveryOptionOfTextRefusesNothing) {
  for (const char* option :
       {"--tokens", "--target-tokens", "--params", "--step", "--out",
        "--picture", "--window", "--query-start", "--key-lengths",
        "--key-starts", "--key-padding", "--documents", "--query-documents",
        "--mask", "--mask-axes", "--keep-mask", "--sequence-ids"}) {
    EXPECT_EQ(sentence({"explain", option, ""}),
              std::string(option) + " is empty, expected a value");
  }
  for (const char* option : {"--query", "--out", "--attn-weights", "--lse"}) {
    EXPECT_EQ(sentence({"run", option, ""}),
              std::string(option) + " is empty, expected a value");
  }
}

TEST(ParseErrorTest, NegativeNumbersAreValues) {
  EXPECT_EQ(sentence({"explain", "--query-start", "-3"}), "");
  EXPECT_EQ(sentence({"explain", "--pad-id", "-3"}), "");
  EXPECT_EQ(sentence({"explain", "--scale", "-0.5"}), "");
}

TEST(OperationOptionsTest, BothCommandsTakeTheSame) {
  for (const char* command : {"explain", "run"}) {
    const auto help = SmallProgram().parse({command, "--help-all"}).text;
    ASSERT_TRUE(help.has_value());
    for (const char* name :
         {"--threads", "--causal", "--window", "--query-start", "--key-lengths",
          "--key-starts", "--key-padding", "--documents", "--query-documents",
          "--mask", "--mask-axes", "--scale", "--empty-rows", "--keep-mask",
          "--dropout", "--dropout-seed", "--sequence-ids"}) {
      EXPECT_NE(help->find(std::string("  ") + name + " "), std::string::npos)
          << command << ' ' << name;
    }
  }
}

// ---- Help. ----

// What is printed for these arguments.
std::string printed(const std::vector<std::string>& arguments) {
  return SmallProgram().parse(arguments).text.value_or("");
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(HelpTest, AdvancedOptionsAreOnlyInHelpAll) {
  const auto help = [](const std::string& option) {
    Program program("headwise", "", "", "");
    std::string common;
    bool rare = false;
    const Arguments command = program.arguments().add_command("work", "", "");
    command.add({{"--common", &common, text("TEXT"), "often used"}});
    command.under("Rare").add(
        {{"--rare", &rare, flag(), "seldom used", advanced()}});
    return program.parse({"work", option}).text.value();
  };
  EXPECT_TRUE(has(help("--help"), "--common"));
  EXPECT_FALSE(has(help("--help"), "rare"));
  EXPECT_FALSE(has(help("--help"), "Rare"));
  EXPECT_TRUE(
      has(help("--help"), "\n1 more option: headwise work --help-all\n"));
  EXPECT_TRUE(has(help("--help-all"), "--common"));
  EXPECT_TRUE(has(help("--help-all"), "\nRare:\n  --rare"));
  EXPECT_FALSE(has(help("--help-all"), "more option"));
}

TEST(HelpTest, HelpIsACommandToo) {
  EXPECT_EQ(printed({"help"}), printed({"--help"}));
  EXPECT_EQ(printed({"help", "explain"}), printed({"explain", "--help"}));
  EXPECT_EQ(printed({"help", "explain", "--all"}),
            printed({"explain", "--help-all"}));
  EXPECT_EQ(printed({"help", "--all"}), printed({"--help-all"}));
  EXPECT_TRUE(has(printed({"help", "help"}), "Usage: headwise help"));
  EXPECT_LT(printed({"help", "explain"}).size(),
            printed({"help", "explain", "--all"}).size());
}

TEST(HelpTest, AllOfTheProgramIsAllOfEveryCommand) {
  const std::string all = printed({"--help-all"});
  for (const char* command : {"explain", "run", "info", "help"}) {
    EXPECT_TRUE(has(all, printed({command, "--help-all"}))) << command;
  }
}

TEST(HelpTest, ColumnsOfTheListOfCommandsAreSeparated) {
  Program program("headwise", "", "", "");
  program.arguments().add_command("work", "short", "");
  program.arguments().add_command("a-longer-name", "long", "");
  EXPECT_TRUE(
      has(program.help(), "\n  work           short\n  a-longer-name  long\n"));
}

TEST(ProgramTest, TextInsteadOfACommand) {
  EXPECT_EQ(SmallProgram().parse({"--version"}).text, "headwise 1.2.3\n");
  SmallProgram program;
  const Program::Parsed parsed = program.parse({});
  EXPECT_FALSE(parsed.text || parsed.error || program.chosen);
}

TEST(ProgramTest, AnEmptyTextIsAText) {
  Program program("headwise", "", "", "");
  std::optional<std::string> text;
  program.arguments().add({{"TEXT", &text, any_text(""), ""}});
  EXPECT_FALSE(program.parse({""}).error);
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace headwise::cli
