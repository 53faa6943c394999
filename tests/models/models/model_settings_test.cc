#include "headwise/models/model_settings.h"

#include <sys/stat.h>
#include <unistd.h>

#include "interop/files.h"
#include "models/model_texts.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

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
  // Reading is refused: the error is about this entry of this file in the
  // folder, and names these values.
  void expect_refused(ErrorCode code, std::string_view file,
                      const std::vector<std::string>& given,
                      const std::vector<std::string>& expected = {},
                      const std::string& entry = "") const {
    EXPECT_THAT(
        read_model_settings(path()),
        HasError({.code = code,
                  .operation = file == "config.json" ? "read_transformer"
                                                     : "read_model_settings",
                  .file = path_of(file),
                  .entry = entry,
                  .given = given,
                  .expected = expected}));
  }
  void expect_cannot_read(std::string_view file, int reason) const {
    EXPECT_THAT(read_model_settings(path()),
                HasError({.code = ErrorCode::io_error,
                          .operation = "read_model_settings",
                          .file = path_of(file),
                          .system_error = reason}));
  }

 private:
  std::string path_of(std::string_view file) const {
    return path() + (file.empty() ? "" : "/") + std::string(file);
  }

  TempFolder folder_;
};

TEST(ModelSettingsTest, EveryFileIsReadForWhatItSays) {
  const Model model;
  const ModelSettings settings = model.settings();
  EXPECT_EQ(settings.shape.family, "bert");
  EXPECT_EQ(settings.shape.hidden_size, 384u);
  EXPECT_EQ(settings.shape.norm_eps, 1e-7);
  EXPECT_EQ(settings.transformer_folder, model.path());
  EXPECT_EQ(settings.normalization, BertNormalization{.do_lower_case = true});
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
  EXPECT_EQ(settings.shape.hidden_size, 384u);
  EXPECT_EQ(settings.transformer_folder, model.path());
  EXPECT_EQ(settings.normalization, BertNormalization{});
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
  EXPECT_EQ(settings.shape.family, "distilbert");
  EXPECT_EQ(settings.max_tokens, 100u);  // the folder's, not the model's 256
  EXPECT_TRUE(settings.normalization.lower_first);
  EXPECT_THAT(settings.pooling, ElementsAre(Pooling::cls));
  EXPECT_FALSE(settings.normalize);
  // The newer name of the file counts before the older one.
  model.put("0_Transformer/sentence_bert_config.json",
            R"({"max_seq_length": 77})");
  EXPECT_EQ(model.settings().max_tokens, 77u);
  EXPECT_FALSE(model.settings().normalization.lower_first);
}

// ---- Folders that hold no model, or a wrong one. ----

TEST(ModelSettingsTest, AFolderWithoutAModelSaysWhatOneHolds) {
  const Model model;
  model.remove("config.json");
  const std::vector<std::string> files = {
      "config.json, model.safetensors, vocab.txt"};
  model.expect_refused(ErrorCode::io_error, "", {"config.json"}, files);
  model.put("modules.json",
            R"([{"type": "sentence_transformers.models.Transformer",
                                 "path": "0_Transformer"},
                                {"type": "sentence_transformers.models.Pooling",
                                 "path": "1_Pooling"}])");
  model.expect_cannot_read("0_Transformer", ENOENT);
  model.make_folder("0_Transformer");
  model.expect_refused(ErrorCode::io_error, "0_Transformer", {"config.json"},
                       files);
}

TEST(ModelSettingsTest, APoolingThatIsNamedMustBeThere) {
  const Model model;
  model.remove("1_Pooling/config.json");
  model.expect_refused(ErrorCode::io_error, "1_Pooling", {"config.json"},
                       {"pooling", "modules.json"});
  model.remove("1_Pooling");
  model.expect_cannot_read("1_Pooling", ENOENT);
  model.put("1_Pooling", "a file");
  model.expect_cannot_read("1_Pooling", ENOTDIR);
}

TEST(ModelSettingsTest, APathThatIsNoFolderIsAnError) {
  const TempFolder folder;
  const std::string file = folder / "file";
  put_file(file, bytes_of("{}"));
  for (const auto& [path, reason] :
       {std::pair(folder / "none", ENOENT), {file, ENOTDIR}, {"", ENOENT}}) {
    EXPECT_THAT(read_model_settings(path),
                HasError({.code = ErrorCode::io_error,
                          .operation = "read_model_settings",
                          .file = path,
                          .system_error = reason}));
  }
  EXPECT_THAT(read_model_settings(folder.path() + std::string("\0x", 2)),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "read_model_settings",
                        .file = folder.path() + "\\x00x",
                        .given = {"NUL"}}));
}

TEST(ModelSettingsTest, ErrorsNameTheFile) {
  const Model whole;
  ASSERT_TRUE(read_model_settings(whole.path()));
  for (const char* name :
       {"config.json", "tokenizer_config.json", "modules.json",
        "1_Pooling/config.json", "sentence_bert_config.json",
        "config_sentence_transformers.json"}) {
    const Model model;
    model.put(name, "");
    model.expect_refused(ErrorCode::bad_data, name, {"JSON"});
  }
  const Model model;
  model.put("1_Pooling/config.json", R"({"word_embedding_dimension": 768})");
  model.expect_refused(ErrorCode::bad_data, "1_Pooling/config.json", {"768"},
                       {"384"}, "word_embedding_dimension");
  model.put("config.json", json(with(bert_fields(), "model_type", "\"rwkv\"")));
  model.expect_refused(ErrorCode::unsupported, "config.json", {"\"rwkv\""},
                       {"bert, distilbert"}, "model_type");
}

TEST(ModelSettingsTest, ADefaultPromptIsOneOfThePrompts) {
  const Model model;
  model.put("config_sentence_transformers.json",
            R"({"default_prompt_name": "query"})");
  model.expect_refused(ErrorCode::bad_data, "config_sentence_transformers.json",
                       {"\"query\""}, {"one of the prompts"},
                       "default_prompt_name");
}

TEST(ModelSettingsTest, AddedTokensAreRefusedByName) {
  const std::string expected = "[PAD], [UNK], [CLS], [SEP] and [MASK]";
  const auto expect_refused = [&](const char* file, const std::string& text,
                                  const std::string& entry) {
    const Model model;
    model.put("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n");
    model.put(file, text);
    model.expect_refused(ErrorCode::unsupported, file, {"<e1>"}, {expected},
                         entry);
  };
  expect_refused("added_tokens.json", R"({"[PAD]": 0, "<e1>": 4})", "");
  expect_refused("tokenizer.json",
                 R"({"added_tokens": [{"id": 4, "content": "<e1>"}]})",
                 "added_tokens");
  expect_refused(
      "tokenizer_config.json",
      R"({"added_tokens_decoder": {"4": {"content": "<e1>", "special": true}}})",
      "added_tokens_decoder");
  for (const char* key :
       {"additional_special_tokens", "extra_special_tokens"}) {
    for (const char* value :
         {R"(["<e1>"])", R"([{"content": "<e1>", "lstrip": false}])"}) {
      expect_refused("special_tokens_map.json", json({{key, value}}), key);
    }
  }
  const Model model;
  model.put("special_tokens_map.json", R"({"cls_token": "<s>"})");
  model.expect_refused(ErrorCode::unsupported, "special_tokens_map.json",
                       {"<s>"}, {"[CLS]"}, "cls_token");
}

TEST(ModelSettingsTest, OwnTokensMayBeListed) {
  const Model model;
  model.put("added_tokens.json", R"({"[MASK]": 4})");
  model.put("special_tokens_map.json",
            R"({"cls_token": {"__type": "AddedToken", "content": "[CLS]"},
                "mask_token": "[MASK]", "additional_special_tokens": []})");
  model.put("tokenizer_config.json",
            R"({"added_tokens_decoder": {"0": {"content": "[PAD]"}},
                "extra_special_tokens": {}})");
  EXPECT_TRUE(read_model_settings(model.path()));
}

TEST(ModelSettingsTest, AGenericTokenizerHasTheSettingsOfTokenizerJson) {
  for (const char* name : {"PreTrainedTokenizerFast", "TokenizersBackend"}) {
    const Model model;
    model.put("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n");
    model.put("tokenizer_config.json",
              json({{"tokenizer_class", "\"" + std::string(name) + "\""},
                    {"do_lower_case", "true"}}));
    model.expect_refused(ErrorCode::unsupported, "",
                         {"tokenizer.json", "tokenizer_class"});
    model.put("tokenizer.json",
              R"({"normalizer": {"type": "BertNormalizer", "lowercase": false},
                  "pre_tokenizer": {"type": "BertPreTokenizer"},
                  "model": {"type": "WordPiece", "vocab": {"[PAD]": 0}}})");
    EXPECT_EQ(model.settings().tokenizer_file, model / "tokenizer.json");
    EXPECT_EQ(model.settings().normalization, BertNormalization{}) << name;
  }
}

TEST(ModelSettingsTest, SettingsThatChangeTheEmbeddingAreObeyedOrRefused) {
  const auto expect_refused = [](const char* file, const std::string& text,
                                 const std::string& entry) {
    const Model model;
    model.put(file, text);
    model.expect_refused(ErrorCode::unsupported, file, {}, {}, entry);
  };
  constexpr const char* kTransformer = "sentence_bert_config.json";
  expect_refused(kTransformer,
                 R"({"processing_kwargs": {"text": {"max_length": 4}}})",
                 "processing_kwargs.text.max_length");
  expect_refused(kTransformer,
                 R"({"processing_kwargs": {"text": {"truncation": false}}})",
                 "processing_kwargs.text.truncation");
  expect_refused(kTransformer, R"({"transformer_task": "fill-mask"})",
                 "transformer_task");
  expect_refused(kTransformer,
                 R"({"tokenizer_args": {"do_lower_case": false}})",
                 "tokenizer_args.do_lower_case");
  const Model model;
  model.put(kTransformer,
            R"({"transformer_task": "feature-extraction",
                "modality_config": {"text": {"method": "forward",
                    "method_output_name": "last_hidden_state"}},
                "module_output_name": "token_embeddings", "unpad_inputs": false,
                "processing_kwargs": {"text": {"truncation": true}},
                "config_args": {"trust_remote_code": true}})");
  model.make_folder("2_Normalize");
  model.put("2_Normalize/config.json",
            R"({"module_input_name": "sentence_embedding"})");
  model.put("config_sentence_transformers.json", R"({"truncate_dim": 8})");
  EXPECT_EQ(model.settings().truncate_dim, 8u);
  model.put("2_Normalize/config.json",
            R"({"module_input_name": "token_embeddings"})");
  model.expect_refused(ErrorCode::unsupported, "2_Normalize/config.json",
                       {"token_embeddings"}, {"sentence_embedding"},
                       "module_input_name");
}

TEST(ModelSettingsTest, FilesAreReadUpToALimit) {
  const Model model;
  std::string text = R"({"max_seq_length": 128})";
  text.resize(kLargestSettings, ' ');
  model.put("sentence_bert_config.json", text);
  EXPECT_TRUE(read_model_settings(model.path()));
  model.put("sentence_bert_config.json", text + " ");
  model.expect_refused(ErrorCode::bad_data, "sentence_bert_config.json",
                       {"16777216"});
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
  model.expect_cannot_read("sentence_bert_config.json", ENOENT);
}

TEST(ModelSettingsTest, AFolderThatAFileNamesIsNoLink) {
  const Model model;
  const Model other;
  model.remove("1_Pooling");
  std::filesystem::create_symlink(other / "1_Pooling", model / "1_Pooling");
  model.expect_refused(ErrorCode::bad_data, "1_Pooling", {"link"}, {"folder"});
  model.put("modules.json",
            R"([{"type": "sentence_transformers.models.Transformer",
                 "path": "link"},
                {"type": "sentence_transformers.models.Pooling",
                 "path": "1_Pooling"}])");
  std::filesystem::create_symlink(other.path(), model / "link");
  model.expect_refused(ErrorCode::bad_data, "link", {"link"}, {"folder"});
}

TEST(ModelSettingsTest, WhatIsNoRegularFileIsRefusedWithoutWaiting) {
  for (const char* name : {"config.json", "modules.json",
                           "tokenizer_config.json", "1_Pooling/config.json"}) {
    const Model model;
    model.remove(name);
    ASSERT_EQ(::mkfifo((model / name).c_str(), 0600), 0);
    EXPECT_THAT(read_model_settings(model.path()),
                HasError({.code = ErrorCode::bad_data,
                          .file = model / name,
                          .given = {"regular"}}));
    model.remove(name);
    model.make_folder(name);
    model.expect_cannot_read(name, EISDIR);
  }
}

}  // namespace
}  // namespace headwise::testing_support
