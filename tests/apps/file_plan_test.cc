#include "shell/file_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "interop/files.h"
#include "shell/read_text.h"
#include "support/errors.h"

namespace headwise::cli {
namespace {

using namespace testing_support;  // NOLINT(google-build-using-namespace)

namespace fs = std::filesystem;

using testing::HasSubstr;

// A folder with the file "in" and a model of one file.
class FilePlanTest : public testing::Test {
 protected:
  FilePlanTest() {
    put_file(path("in"), bytes_of("text"));
    fs::create_directory(path("model"));
    put_file(path("model/config.json"), bytes_of("{}"));
    plan_.input("--data", path("in"));
    plan_.input("--model", path("model"));
  }

  std::string path(const std::string& name) const { return folder_ / name; }
  // What check() says of a plan with one output more.
  std::string said(const std::string& out, Exit exit = Exit::usage) const {
    FilePlan plan = plan_;
    plan.output("--out", out);
    return said_of(plan, exit);
  }
  static std::string said_of(const FilePlan& plan, Exit exit = Exit::usage) {
    const Outcome checked = plan.check();
    if (checked) {
      return "";
    }
    const Failure& failure = checked.error();
    EXPECT_EQ(failure.exit, exit) << failure.error.message();
    return failure.error.message();
  }

  TempFolder folder_;
  FilePlan plan_;
};

TEST_F(FilePlanTest, AnOutputOfItsOwnMayBeThereOrNot) {
  EXPECT_EQ(said(path("new")), "");
  EXPECT_FALSE(fs::exists(path("new")));
  put_file(path("old"), bytes_of("kept"));
  EXPECT_EQ(said(path("old")), "");
  EXPECT_EQ(file_bytes(path("old")), bytes_of("kept"));
  EXPECT_EQ(said("/dev/null"), "");
  EXPECT_EQ(said(path("model/picture.svg")), "");
}

TEST_F(FilePlanTest, AHyphenIsNoNameOfAFileOrFolder) {
  EXPECT_EQ(said("-"),
            "--out is -, expected /dev/stdout for standard output, ./- for a "
            "file of that name");
  EXPECT_EQ(said("./-"), "");
  FilePlan in_folder = plan_;
  in_folder.outputs_in("--steps", "-", {"a.npy"}, false);
  FilePlan replaced = plan_;
  replaced.replaced_folder("--out", "-", false);
  for (const FilePlan& plan : {in_folder, replaced}) {
    EXPECT_THAT(said_of(plan), HasSubstr("./- for a folder of that name"));
  }
}

TEST_F(FilePlanTest, PathsToAnInputAreFoundOut) {
  fs::create_symlink("in", path("link"));
  fs::create_symlink("link", path("link to link"));
  fs::create_hard_link(path("in"), path("hard"));
  fs::create_directory_symlink(".", path("here"));
  for (const std::string name : {"in", "./in", "model/../in", "link",
                                 "link to link", "hard", "here/in"}) {
    EXPECT_THAT(said(path(name)), HasSubstr("--data")) << name;
  }
}

TEST_F(FilePlanTest, PathsToOneNewFileAreFoundOut) {
  plan_.output("--svg", path("new"));
  fs::create_symlink("new", path("link"));
  for (const std::string name : {"new", "./new", "model/../new", "link"}) {
    EXPECT_THAT(said(path(name)), HasSubstr("name one file")) << name;
  }
  EXPECT_EQ(said(path("other")), "");
}

TEST_F(FilePlanTest, FilesOfAModelAreInputs) {
  EXPECT_THAT(said(path("model/config.json")), HasSubstr("--model"));
  EXPECT_THAT(said(path("model/new.json")), HasSubstr("--model"));
  fs::create_symlink("../elsewhere", path("model/vocab.txt"));
  EXPECT_THAT(said(path("model/vocab.txt")), HasSubstr("--model"));
}

TEST_F(FilePlanTest, WhatCannotBeWrittenIsSaid) {
  const Exit exit = Exit::out_of_resources;
  EXPECT_EQ(said(path("none/new"), exit),
            "--out " + path("none/new") + ": No such file or directory");
  EXPECT_EQ(said(path("in/new"), exit),
            "--out " + path("in/new") + ": Not a directory");
  EXPECT_EQ(said(folder_.path(), exit),
            "--out " + folder_.path() + ": Is a directory");
  fs::create_symlink("round", path("round"));
  EXPECT_THAT(said(path("round"), exit), HasSubstr("symbolic links"));
  EXPECT_EQ(folder_.count(), 3u);
}

TEST_F(FilePlanTest, FoldersAreMadeWhereTheyMayBe) {
  for (const bool parents : {false, true}) {
    FilePlan plan = plan_;
    plan.outputs_in("--grad-dir", path("a/b"), {"c"}, parents);
    plan.output("--out", path("new"));
    EXPECT_EQ(
        said_of(plan, Exit::out_of_resources),
        parents ? ""
                : "--grad-dir " + path("a/b") + ": No such file or directory");
    plan.output("--lse", path("a/b/c"));
    EXPECT_THAT(said_of(plan), HasSubstr("name one file"));
  }
  EXPECT_FALSE(fs::exists(path("a")));
}

TEST_F(FilePlanTest, AFolderThatIsReplacedHoldsNothingElse) {
  const auto said_of_folder = [&](const std::string& name) {
    FilePlan plan = plan_;
    plan.replaced_folder("--out", path(name), /*parents=*/true);
    return said_of(plan);
  };
  EXPECT_EQ(said_of_folder("new"), "");
  EXPECT_EQ(said_of_folder("new/er/"), "");
  EXPECT_THAT(said_of_folder("model"), HasSubstr("another folder than"));
  EXPECT_THAT(said_of_folder("model/new"), HasSubstr("a folder outside"));
  EXPECT_THAT(said_of_folder("."), HasSubstr("a folder without --model"));
}

TEST(ReadTextTest, ATextBeyondTheLimitIsAnError) {
  const TempFolder folder;
  put_file(folder / "text", bytes_of("12345678"));
  EXPECT_EQ(read_text("--data", folder / "text", 8).value(), "12345678");
  EXPECT_THAT(read_text("--data", folder / "text", 7),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "--data",
                        .file = folder / "text",
                        .given = {"7"}}));
}

}  // namespace
}  // namespace headwise::cli
