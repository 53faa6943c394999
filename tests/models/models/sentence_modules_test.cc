#include <gtest/gtest.h>

#include "models/model_files.h"
#include "models/model_texts.h"

namespace headwise::testing_support {
namespace {

Result<SentenceModules> parsed(const std::string& text) {
  return parse_sentence_modules(text, {"", "file"});
}

SentenceModules modules_of(const std::string& text) {
  return parsed(text).value();
}

// The type of module n is refused.
auto IsOfUnknownType(int n, const std::string& type) {
  return IsUnsupported("module " + std::to_string(n) + ": type",
                       {"\"" + type + "\""},
                       {"Transformer", "Pooling", "Normalize"});
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
  EXPECT_EQ(whole.normalize_folder, "2_Normalize");
  EXPECT_FALSE(
      modules_of(modules_text("Transformer", "Pooling")).normalize_folder);
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
  EXPECT_EQ(modules.normalize_folder, "2_Normalize");
}

TEST(SentenceModulesTest, AnotherModuleIsUnsupportedAndNamed) {
  const auto chain = [](const auto&... names) {
    return parsed(modules_text(names...));
  };
  const auto refused = [](int n, const std::string& name) {
    return IsOfUnknownType(n, "sentence_transformers.models." + name);
  };
  EXPECT_THAT(chain("Transformer", "Dense", "Pooling"), refused(1, "Dense"));
  EXPECT_THAT(chain("Transformer", "Pooling", "Normalize", "Dense"),
              refused(3, "Dense"));
  EXPECT_THAT(chain("Transformer", "SpladePooling"),
              refused(1, "SpladePooling"));
  EXPECT_THAT(chain("CLIPModel"), refused(0, "CLIPModel"));
  // The same ones in another order, or more of them.
  EXPECT_THAT(chain("Pooling", "Transformer"), refused(0, "Pooling"));
  EXPECT_THAT(chain("Transformer", "Normalize", "Pooling"),
              refused(1, "Normalize"));
  EXPECT_THAT(chain("Transformer", "Pooling", "Normalize", "Normalize"),
              refused(3, "Normalize"));
}

TEST(SentenceModulesTest, SomeoneElsesModuleOfTheSameNameIsUnsupported) {
  for (const std::string type :
       {"custom_transformer.Transformer", "Transformer", "",
        "sentence_transformersx.models.Transformer",
        "a.sentence_transformers.Transformer", "sentence_transformers.",
        "sentence_transformers"}) {
    EXPECT_THAT(
        parsed("[" + json({{"type", "\"" + type + "\""}, {"path", "\"\""}}) +
               "]"),
        IsOfUnknownType(0, type));
  }
}

TEST(SentenceModulesTest, AChainThatIsTooShortIsUnsupported) {
  EXPECT_THAT(parsed("[]"), IsUnsupported("", {"0"}, {"Transformer"}));
  EXPECT_THAT(parsed(modules_text("Transformer")),
              IsUnsupported("", {"1"}, {"Transformer", "Pooling"}));
}

// What a file says where to look never leads out of the model's folder.
TEST(SentenceModulesTest, APathIsTheNameOfAFolderOrAnError) {
  const auto is_no_folder = [](int n, const std::string& value) {
    return IsBad("module " + std::to_string(n) + ": path", {value}, {"folder"});
  };
  for (const std::string path :
       {"..", ".", "/", "/etc", "../1_Pooling", "a/../../b", "1_Pooling/",
        "./1_Pooling", "a/b"}) {
    const std::string value = "\"" + path + "\"";
    EXPECT_THAT(parsed(in_folders("\"\"", value)), is_no_folder(1, value));
    EXPECT_THAT(parsed(in_folders(value, "\"1_Pooling\"")),
                is_no_folder(0, value));
  }
  EXPECT_THAT(parsed(in_folders("\"\"", R"("..\\a")")),
              is_no_folder(1, "\"..\\a\""));
  EXPECT_THAT(parsed(in_folders("\"\"", R"("1_Pooling\u0000")")),
              is_no_folder(1, "\"1_Pooling\\x00\""));
  EXPECT_THAT(parsed(in_folders("\"\"", R"("1\u001b[2J")")),
              is_no_folder(1, "\"1\\x1b[2J\""));
  // The model's own folder has the encoder's config.json.
  EXPECT_THAT(parsed(in_folders("\"\"", "\"\"")), is_no_folder(1, "\"\""));
  EXPECT_EQ(modules_of(in_folders("\"...\"", "\"..a\"")).pooling_folder, "..a");
}

TEST(SentenceModulesTest, WhatIsNoListOfModulesIsAnError) {
  struct Fault {
    std::string text;
    std::string entry;
    std::string given;
    std::string expected{};
  };
  for (const auto& [text, entry, given, expected] : std::vector<Fault>{
           {"{}", "", "object", "list"},
           {"1", "", "number", "list"},
           {"[1]", "", "number", "list"},
           {"[null]", "", "null", "list"},
           {"[[]]", "", "array", "list"},
           {"[\"a\"]", "", "text", "list"},
           {"[{}]", "module 0", "type"},
           {R"([{"type": 1}])", "module 0: type", "1", "text"},
           {R"([{"type": "sentence_transformers.models.Transformer"}])",
            "module 0", "path"},
           {in_folders("\"\"", "null"), "module 1", "path"},
           {in_folders("\"\"", "1"), "module 1: path", "1", "text"},
           {R"([{"type": "a", "type": "a"}])", "", "type"}}) {
    const auto expects =
        expected.empty() ? std::vector<std::string>() : std::vector{expected};
    EXPECT_THAT(parsed(text), IsBad(entry, {given}, expects)) << text;
  }
  std::string many = "[{}";
  for (int i = 0; i < 16; ++i) {
    many += ",{}";
  }
  EXPECT_THAT(parsed(many + "]"), IsBad("", {"16"}));
}

}  // namespace
}  // namespace headwise::testing_support
