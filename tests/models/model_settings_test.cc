#include "headwise/models/model_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interop/files.h"
#include "models/model_texts.h"
#include "support/errors.h"

namespace headwise {
namespace {

using testing::ElementsAre;
using testing_support::bert_fields;
using testing_support::distilbert_fields;
using testing_support::json;
using testing_support::modules_text;
using testing_support::with;

// A model's folder, as sentence-transformers writes it; tests change it.
class Model {
 public:
  Model() {
    put("config.json", json(bert_fields()));
    put("modules.json", modules_text("Transformer", "Pooling", "Normalize"));
    put("sentence_bert_config.json",
        R"({"max_seq_length": 256, "do_lower_case": false})");
    put("tokenizer_config.json",
        R"({"do_lower_case": true, "model_max_length": 512})");
    put("config_sentence_transformers.json", R"({"__version__": {}})");
    make_folder("1_Pooling");
    put("1_Pooling/config.json",
        R"({"word_embedding_dimension": 384, "pooling_mode_cls_token": true,
            "pooling_mode_mean_tokens": false})");
  }

  std::string path() const { return folder_.path(); }
  std::string operator/(std::string_view name) const { return folder_ / name; }
  void put(std::string_view name, std::string_view text) const {
    put_file(folder_ / name, bytes_of(text));
  }
  void make_folder(std::string_view name) const {
    EXPECT_EQ(::mkdir((folder_ / name).c_str(), 0700), 0);
  }
  void move(std::string_view from, std::string_view to) const {
    std::filesystem::rename(folder_ / from, folder_ / to);
  }
  void remove(std::string_view name) const {
    EXPECT_EQ(std::filesystem::remove_all(folder_ / name) > 0, true) << name;
  }

  ModelSettings settings() const { return read_model_settings(path()).value(); }
  // What reading says behind the path in this folder of `file`, if it is wrong.
  std::string said_of(std::string_view file, ErrorCode code) const {
    const auto settings = read_model_settings(path());
    if (settings) {
      return "no error";
    }
    EXPECT_EQ(settings.error().code(), code);
    return testing_support::said_of_file(
        settings.error(), "read_model_settings",
        path() + (file.empty() ? "" : "/") + std::string(file));
  }

 private:
  TempFolder folder_;
};

TEST(ModelSettingsTest, EveryFileIsReadForWhatItSays) {
  const Model model;
  const ModelSettings settings = model.settings();
  EXPECT_EQ(settings.config.family, BertFamily::bert);
  EXPECT_EQ(settings.config.hidden_size, 384u);
  EXPECT_EQ(settings.config.layer_norm_eps, 1e-7);
  EXPECT_EQ(settings.transformer_folder, model.path());
  EXPECT_TRUE(settings.wordpiece.do_lower_case);
  EXPECT_TRUE(settings.wordpiece.special_tokens_in_text);
  EXPECT_EQ(settings.max_tokens, 256u);
  EXPECT_EQ(settings.max_tokens_key, "max_seq_length");
  EXPECT_THAT(settings.pooling, ElementsAre(Pooling::cls));
  EXPECT_TRUE(settings.normalize);
}

TEST(ModelSettingsTest, FilesThatAreNotThereLeaveTheDefaults) {
  const Model model;
  model.remove("modules.json");
  for (const char* name : {"sentence_bert_config.json", "tokenizer_config.json",
                           "config_sentence_transformers.json", "1_Pooling"}) {
    model.remove(name);
    EXPECT_TRUE(read_model_settings(model.path())) << name;
  }
  const ModelSettings settings = model.settings();
  EXPECT_EQ(settings.config.hidden_size, 384u);
  EXPECT_EQ(settings.transformer_folder, model.path());
  EXPECT_TRUE(settings.wordpiece.do_lower_case);
  EXPECT_EQ(settings.max_tokens, 512u);
  EXPECT_THAT(settings.pooling, ElementsAre(Pooling::mean));
  EXPECT_FALSE(settings.normalize);
}

TEST(ModelSettingsTest, WithoutModulesThePoolingsFolderIsNotLookedAt) {
  const Model model;
  model.remove("modules.json");
  model.put("1_Pooling/config.json", "[");
  const ModelSettings settings = model.settings();
  EXPECT_THAT(settings.pooling, ElementsAre(Pooling::mean));
  EXPECT_FALSE(settings.normalize);
}

TEST(ModelSettingsTest, TokensAreNeverMoreThanPositions) {
  const Model model;
  model.put("sentence_bert_config.json", R"({"max_seq_length": 513})");
  EXPECT_EQ(model.settings().max_tokens, 512u);
  EXPECT_EQ(model.settings().max_tokens_key, "max_position_embeddings");
  model.put("sentence_bert_config.json", R"({"max_seq_length": 512})");
  EXPECT_EQ(model.settings().max_tokens, 512u);
  model.remove("sentence_bert_config.json");
  model.put("tokenizer_config.json", R"({"model_max_length": 1e30})");
  EXPECT_EQ(model.settings().max_tokens, 512u);
  model.put("tokenizer_config.json", R"({"model_max_length": 128})");
  EXPECT_EQ(model.settings().max_tokens, 128u);
  EXPECT_EQ(model.settings().max_tokens_key, "model_max_length");
}

TEST(ModelSettingsTest, OlderModelsHaveTheEncoderInAFolderOfItsOwn) {
  const Model model;
  model.make_folder("0_Transformer");
  for (const std::string name : {"config.json", "tokenizer_config.json"}) {
    model.move(name, "0_Transformer/" + name);
  }
  model.put("0_Transformer/config.json",
            json(with(distilbert_fields(), "dim", "384")));
  model.put("0_Transformer/sentence_distilbert_config.json",
            R"({"max_seq_length": 100, "do_lower_case": true})");
  model.put("modules.json",
            R"([{"type": "sentence_transformers.models.Transformer",
                 "path": "0_Transformer"},
                {"type": "sentence_transformers.models.Pooling",
                 "path": "1_Pooling"}])");
  const ModelSettings settings = model.settings();
  EXPECT_EQ(settings.transformer_folder, model / "0_Transformer");
  EXPECT_EQ(settings.config.family, BertFamily::distilbert);
  EXPECT_EQ(settings.max_tokens, 100u);  // the folder's, not the model's 256
  EXPECT_FALSE(settings.wordpiece.special_tokens_in_text);
  EXPECT_THAT(settings.pooling, ElementsAre(Pooling::cls));
  EXPECT_FALSE(settings.normalize);
  // The newer name of the file counts before the older one.
  model.put("0_Transformer/sentence_bert_config.json",
            R"({"max_seq_length": 77})");
  EXPECT_EQ(model.settings().max_tokens, 77u);
  EXPECT_TRUE(model.settings().wordpiece.special_tokens_in_text);
}

// ---- Folders that hold no model, or a wrong one. ----

TEST(ModelSettingsTest, AFolderWithoutAModelSaysWhatOneHolds) {
  const Model model;
  model.remove("config.json");
  EXPECT_EQ(model.said_of("", ErrorCode::io_error),
            "has no config.json, expected the files of a model: "
            "config.json, model.safetensors, vocab.txt");
  model.put("modules.json",
            R"([{"type": "sentence_transformers.models.Transformer",
                                 "path": "0_Transformer"},
                                {"type": "sentence_transformers.models.Pooling",
                                 "path": "1_Pooling"}])");
  EXPECT_EQ(model.said_of("0_Transformer", ErrorCode::io_error),
            "No such file or directory");
  model.make_folder("0_Transformer");
  EXPECT_EQ(model.said_of("0_Transformer", ErrorCode::io_error),
            "has no config.json, expected the files of a model: "
            "config.json, model.safetensors, vocab.txt");
}

TEST(ModelSettingsTest, APoolingThatIsNamedMustBeThere) {
  const Model model;
  model.remove("1_Pooling/config.json");
  EXPECT_EQ(model.said_of("1_Pooling", ErrorCode::io_error),
            "has no config.json, expected the pooling that modules.json "
            "names");
  model.remove("1_Pooling");
  EXPECT_EQ(model.said_of("1_Pooling", ErrorCode::io_error),
            "No such file or directory");
  model.put("1_Pooling", "a file");
  EXPECT_EQ(model.said_of("1_Pooling", ErrorCode::io_error), "Not a directory");
}

TEST(ModelSettingsTest, APathThatIsNoFolderIsAnError) {
  const TempFolder folder;
  const auto error_of = [](const std::string& path) {
    const auto settings = read_model_settings(path);
    EXPECT_FALSE(settings);
    return settings ? Error(ErrorCode::device_error) : settings.error();
  };
  const std::string missing = folder / "none";
  EXPECT_EQ(error_of(missing).code(), ErrorCode::io_error);
  EXPECT_EQ(error_of(missing).message(),
            "read_model_settings: " + missing + ": No such file or directory");
  const std::string file = folder / "file";
  put_file(file, bytes_of("{}"));
  EXPECT_EQ(error_of(file).message(),
            "read_model_settings: " + file + ": Not a directory");
  EXPECT_EQ(error_of("").message(),
            "read_model_settings: No such file or directory");
  const Error nul = error_of(folder.path() + std::string("\0x", 2));
  EXPECT_EQ(nul.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(nul.message(),
            "read_model_settings: " + folder.path() +
                "\\x00x has a NUL character, expected a path without one");
}

TEST(ModelSettingsTest, ErrorsNameTheFile) {
  const Model whole;
  ASSERT_EQ(whole.said_of("", ErrorCode::bad_data), "no error");
  for (const char* name :
       {"config.json", "tokenizer_config.json", "modules.json",
        "1_Pooling/config.json", "sentence_bert_config.json",
        "config_sentence_transformers.json"}) {
    const Model model;
    model.put(name, "");
    EXPECT_TRUE(model.said_of(name, ErrorCode::bad_data)
                    .starts_with("is not JSON text in UTF-8"))
        << name;
  }
  const Model model;
  model.put("1_Pooling/config.json", R"({"word_embedding_dimension": 768})");
  EXPECT_EQ(model.said_of("1_Pooling/config.json", ErrorCode::bad_data),
            "word_embedding_dimension is 768, expected the model's hidden size "
            "= 384");
  model.put("config.json", json(with(bert_fields(), "model_type", "\"t5\"")));
  EXPECT_EQ(model.said_of("config.json", ErrorCode::unsupported),
            "model_type is \"t5\", expected bert or distilbert");
}

TEST(ModelSettingsTest, ADefaultPromptIsNotPassedOver) {
  const Model model;
  model.put("config_sentence_transformers.json",
            R"({"default_prompt_name": "query"})");
  EXPECT_EQ(model.said_of("config_sentence_transformers.json",
                          ErrorCode::unsupported),
            "default_prompt_name is \"query\", expected null: no prompt is "
            "added");
}

TEST(ModelSettingsTest, FilesAreReadUpToALimit) {
  const Model model;
  std::string text = json(bert_fields());
  text.resize(kLargestSettings, ' ');
  model.put("config.json", text);
  EXPECT_EQ(model.said_of("config.json", ErrorCode::bad_data), "no error");
  model.put("config.json", text + " ");
  EXPECT_EQ(model.said_of("config.json", ErrorCode::bad_data),
            "has more than 16777216 bytes");
}

// ---- Links and what is no file. ----

TEST(ModelSettingsTest, FilesMayBeLinksAsCachesHaveThem) {
  const Model model;
  const TempFolder blobs;
  std::filesystem::rename(model / "config.json", blobs / "a");
  std::filesystem::rename(model / "1_Pooling/config.json", blobs / "b");
  std::filesystem::create_symlink(blobs / "a", model / "config.json");
  std::filesystem::create_symlink(blobs / "b", model / "1_Pooling/config.json");
  EXPECT_THAT(model.settings().pooling, ElementsAre(Pooling::cls));
  const TempFolder elsewhere;
  std::filesystem::create_symlink(model.path(), elsewhere / "link");
  EXPECT_TRUE(read_model_settings(elsewhere / "link"));
  // One that leads nowhere is no file that is missing.
  model.remove("sentence_bert_config.json");
  std::filesystem::create_symlink(blobs / "c",
                                  model / "sentence_bert_config.json");
  EXPECT_EQ(model.said_of("sentence_bert_config.json", ErrorCode::io_error),
            "No such file or directory");
}

TEST(ModelSettingsTest, AFolderThatAFileNamesIsNoLink) {
  const Model model;
  const Model other;
  model.remove("1_Pooling");
  std::filesystem::create_symlink(other / "1_Pooling", model / "1_Pooling");
  EXPECT_EQ(model.said_of("1_Pooling", ErrorCode::bad_data),
            "is a symbolic link, expected a folder");
  model.put("modules.json",
            R"([{"type": "sentence_transformers.models.Transformer",
                 "path": "link"},
                {"type": "sentence_transformers.models.Pooling",
                 "path": "1_Pooling"}])");
  std::filesystem::create_symlink(other.path(), model / "link");
  EXPECT_EQ(model.said_of("link", ErrorCode::bad_data),
            "is a symbolic link, expected a folder");
}

TEST(ModelSettingsTest, WhatIsNoRegularFileIsRefusedWithoutWaiting) {
  for (const char* name : {"config.json", "modules.json",
                           "tokenizer_config.json", "1_Pooling/config.json"}) {
    const Model model;
    model.remove(name);
    ASSERT_EQ(::mkfifo((model / name).c_str(), 0600), 0);
    EXPECT_EQ(model.said_of(name, ErrorCode::bad_data),
              "is not a regular file");
    model.remove(name);
    model.make_folder(name);
    EXPECT_EQ(model.said_of(name, ErrorCode::io_error), "Is a directory");
  }
}

}  // namespace
}  // namespace headwise
