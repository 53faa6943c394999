#include <gtest/gtest.h>

#include "models/model_files.h"
#include "models/model_texts.h"

namespace headwise {
namespace {

using testing_support::json;
using testing_support::modules_text;
using testing_support::said_by;
using testing_support::wrong;

constexpr std::string_view kExpected =
    ", expected the modules Transformer, Pooling and perhaps Normalize of "
    "sentence_transformers in this order";

SentenceModules modules_of(const std::string& text) {
  return parse_sentence_modules(text, {"", "file"}).value();
}

std::string error_of(const std::string& text,
                     ErrorCode code = ErrorCode::bad_data) {
  return said_by(parse_sentence_modules(text, {"", "file"}), code);
}

// A list of a Transformer in `first` and a Pooling in `second`.
std::string in_folders(const std::string& first, const std::string& second) {
  const auto module = [](const std::string& type, const std::string& path) {
    return json({{"type", "\"sentence_transformers.models." + type + "\""},
                 {"path", path}});
  };
  return "[" + module("Transformer", first) + "," + module("Pooling", second) +
         "]";
}

TEST(SentenceModulesTest, TheChainIsReadWithAndWithoutNormalize) {
  const auto whole =
      modules_of(modules_text("Transformer", "Pooling", "Normalize"));
  EXPECT_EQ(whole.transformer_folder, "");
  EXPECT_EQ(whole.pooling_folder, "1_Pooling");
  EXPECT_TRUE(whole.normalize);
  EXPECT_FALSE(modules_of(modules_text("Transformer", "Pooling")).normalize);
}

TEST(SentenceModulesTest, OlderModelsHaveAFolderForTheTransformer) {
  const auto modules =
      modules_of(in_folders("\"0_Transformer\"", "\"1_Pooling\""));
  EXPECT_EQ(modules.transformer_folder, "0_Transformer");
  EXPECT_EQ(modules.pooling_folder, "1_Pooling");
}

TEST(SentenceModulesTest, NewerNamesOfTheSameModulesAreKnown) {
  const auto modules = modules_of(
      R"([{"type": "sentence_transformers.base.modules.transformer.Transformer",
           "path": ""},
          {"type": "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
           "path": "1_Pooling"},
          {"type": "sentence_transformers.base.modules.normalize.Normalize",
           "path": "2_Normalize"}])");
  EXPECT_EQ(modules.pooling_folder, "1_Pooling");
  EXPECT_TRUE(modules.normalize);
}

TEST(SentenceModulesTest, AnotherModuleIsUnsupportedAndNamed) {
  const auto said = [](const auto&... names) {
    return error_of(modules_text(names...), ErrorCode::unsupported);
  };
  const auto refused = [](int n, const std::string& name) {
    return "module " + std::to_string(n) +
           ": type is \"sentence_transformers.models." + name + "\"" +
           std::string(kExpected);
  };
  EXPECT_EQ(said("Transformer", "Pooling", "Dense"), refused(2, "Dense"));
  EXPECT_EQ(said("Transformer", "Pooling", "Dense", "Normalize"),
            refused(2, "Dense"));
  EXPECT_EQ(said("Transformer", "SpladePooling"), refused(1, "SpladePooling"));
  EXPECT_EQ(said("CLIPModel"), refused(0, "CLIPModel"));
  // The same ones in another order, or more of them.
  EXPECT_EQ(said("Pooling", "Transformer"), refused(0, "Pooling"));
  EXPECT_EQ(said("Transformer", "Normalize", "Pooling"),
            refused(1, "Normalize"));
  EXPECT_EQ(said("Transformer", "Pooling", "Normalize", "Normalize"),
            refused(3, "Normalize"));
}

TEST(SentenceModulesTest, SomeoneElsesModuleOfTheSameNameIsUnsupported) {
  for (const std::string type :
       {"custom_transformer.Transformer", "Transformer", "",
        "sentence_transformersx.models.Transformer",
        "a.sentence_transformers.Transformer", "sentence_transformers.",
        "sentence_transformers"}) {
    EXPECT_EQ(
        error_of(
            "[" + json({{"type", "\"" + type + "\""}, {"path", "\"\""}}) + "]",
            ErrorCode::unsupported),
        "module 0: type is \"" + type + "\"" + std::string(kExpected));
  }
}

TEST(SentenceModulesTest, AChainThatIsTooShortIsUnsupported) {
  const std::string of =
      " of the modules, expected Transformer, Pooling and perhaps Normalize";
  EXPECT_EQ(error_of("[]", ErrorCode::unsupported), "lists 0" + of);
  EXPECT_EQ(error_of(modules_text("Transformer"), ErrorCode::unsupported),
            "lists 1" + of);
}

// What a file says where to look never leads out of the model's folder.
TEST(SentenceModulesTest, APathIsTheNameOfAFolderOrAnError) {
  const std::string folder = "the name of a folder, without a path";
  const std::string expected = ", expected " + folder;
  for (const std::string path :
       {"..", ".", "/", "/etc", "../1_Pooling", "a/../../b", "1_Pooling/",
        "./1_Pooling", "a/b"}) {
    const std::string value = "\"" + path + "\"";
    EXPECT_EQ(error_of(in_folders("\"\"", value)),
              wrong("module 1: path", value, folder));
    EXPECT_EQ(error_of(in_folders(value, "\"1_Pooling\"")),
              wrong("module 0: path", value, folder));
  }
  EXPECT_EQ(error_of(in_folders("\"\"", R"("..\\a")")),
            "module 1: path is \"..\\a\"" + expected);
  EXPECT_EQ(error_of(in_folders("\"\"", R"("1_Pooling\u0000")")),
            "module 1: path is \"1_Pooling\\x00\"" + expected);
  EXPECT_EQ(error_of(in_folders("\"\"", R"("1\u001b[2J")")),
            "module 1: path is \"1\\x1b[2J\"" + expected);
  // The model's own folder has the encoder's config.json.
  EXPECT_EQ(error_of(in_folders("\"\"", "\"\"")),
            "module 1: path is \"\"" + expected);
  EXPECT_EQ(modules_of(in_folders("\"...\"", "\"..a\"")).pooling_folder, "..a");
}

TEST(SentenceModulesTest, WhatIsNoListOfModulesIsAnError) {
  for (const auto& [text, said] :
       {std::pair<std::string, std::string>{
            "{}", "holds an object, expected a list of objects"},
        {"1", "holds a number, expected a list of objects"},
        {"[1]", "holds a number, expected a list of objects"},
        {"[null]", "holds null, expected a list of objects"},
        {"[[]]", "holds an array, expected a list of objects"},
        {"[\"a\"]", "holds a text, expected a list of objects"},
        {"[{}]", "module 0 has no type"},
        {R"([{"type": 1}])", "module 0: type is 1, expected a text"},
        {R"([{"type": "sentence_transformers.models.Transformer"}])",
         "module 0 has no path"},
        {in_folders("\"\"", "null"), "module 1 has no path"},
        {in_folders("\"\"", "1"), "module 1: path is 1, expected a text"},
        {R"([{"type": "a", "type": "a"}])", "has type twice"}}) {
    EXPECT_EQ(error_of(text), said);
  }
  std::string many = "[{}";
  for (int i = 0; i < 16; ++i) {
    many += ",{}";
  }
  EXPECT_EQ(error_of(many + "]"), "lists more than 16 objects");
}

}  // namespace
}  // namespace headwise
