// headwise view
// A page that shows what every head does; pictures and JSON of the same.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ablated_gates.h"
#include "headwise/inspect/view_page.h"
#include "headwise/interop/atomic_file.h"
#include "open_page.h"
#include "operation/models/text_file.h"
#include "operation/option_errors.h"
#include "shell/add_command.h"
#include "shell/error_text.h"
#include "shell/file_plan.h"
#include "shell/language.h"
#include "shell/models/head_list.h"
#include "shell/output.h"
#include "shell/picture_file.h"
#include "shell/progress_bar.h"
#include "shell/quantity_text.h"
#include "shell/say.h"
#include "shell/terminal_text.h"
#include "statistic_names.h"
#include "two_models.h"
#include "view_heads.h"
#include "view_json.h"
#include "view_picture.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kViewHelp = {
    .name = "view",
    .description = "show every head as a page, a picture or JSON",
    .examples =
        R"(  headwise view --model all-MiniLM-L6-v2 "The cat sat on the mat." --open
  headwise view --model all-MiniLM-L6-v2 "Heads matter." --out page.html
  headwise view --model all-MiniLM-L6-v2 - --png heads.png < page.txt
  headwise view --model all-MiniLM-L6-v2 "Heads matter." --head 0.3 --svg h.svg
  headwise view --model all-MiniLM-L6-v2 --texts lines.txt --out page.html
  headwise view --model all-MiniLM-L6-v2 "The cat sat." --ablate 3.1 --open
  headwise view --model topics "They won." --attribution gradient --out page.html
  headwise view --model tuned --against base --texts lines.txt --out page.html
  headwise view --model bert-base-uncased --pair "It rains." "Run." --open
  headwise view --model t5-small "Heads matter." \
      --decoder-text "Koepfe zaehlen." --open
  headwise view --onnx layer.onnx --data test_data_set_0 --out page.html
  headwise view --query q.npy --key k.npy --causal --out page.html
  headwise view --attn-weights attentions.npz --query-tokens tokens.txt \
      --out page.html)"};

// As typed; an empty string is an option that was not given.
struct ViewFlags {
  ViewedFlags seen;
  PageAttributionFlags attribution;
  std::string title;
  std::string out;
  std::string svg;
  std::string png;
  std::string head;  // "LAYER.HEAD"
  std::string sort;
  bool json = false;
  bool open = false;
  bool elements = false;
  bool no_elements = false;

  // Whether the page is made: --open alone makes a temporary file.
  bool page() const { return !out.empty() || open; }
  bool pictures() const { return !svg.empty() || !png.empty(); }
};

using enum OptionRule::Kind;

constexpr OptionRule kRules[] = {
    {"", always, "--out|--open|--svg|--png|--json",
     "expected --out PAGE.html, --open, --svg FILE, --png FILE or --json"},
    {"--texts|--ablate|--against|--elements|--no-elements", needs,
     "--out|--open", "--out PAGE.html or --open"},
    {"--elements", never, "--no-elements",
     "give --elements or --no-elements, not both"},
    {"--ablate", never, "--svg|--png|--json",
     "--ablate makes a page; --svg, --png and --json show all heads"},
    {"--texts", never, "--svg|--png|--json",
     "--texts makes a page; --svg, --png and --json show one text"},
    {"--against", never, "--svg|--png|--json",
     "--against makes a page; --svg, --png and --json show one model"},
    {"--title", needs, "--out|--open|--svg|--png",
     "--out PAGE.html, --open, --svg or --png"},
    {"--head", needs, "--svg|--png|--json", "--svg, --png or --json"},
    {"--sort", needs, "--svg|--png", "--svg or --png of all heads"},
    {"--sort", never, "--head", "--sort needs --svg or --png of all heads"}};

std::string title_of(const ViewFlags& flags, const ViewedText& text) {
  if (!flags.title.empty()) {
    return flags.title;
  }
  if (!text.model) {
    return text.cross ? say("Cross-attention") : say("Self-attention");
  }
  const std::string_view path = *text.model;
  const std::size_t end = path.find_last_not_of('/') + 1;
  return std::string(
      path.substr(0, end).substr(path.substr(0, end).find_last_of('/') + 1));
}

// What the library said, in the words of the command line.
Error in_words_of(const ViewFlags& flags, const Error& error) {
  const Error said = in_option_words(error, flags.seen.operation);
  ErrorDetails details = said.details();
  if (details.operation != "view_page") {
    return said;
  }
  const bool of_file =
      !flags.seen.query.empty() && (details.argument.starts_with("query[") ||
                                    details.argument.starts_with("key["));
  if (said.code() == ErrorCode::out_of_range && details.argument == "page") {
    details.hint = "--layers and --no-elements make it smaller";
  }
  details.operation = of_file ? "" : "view";
  details.argument.insert(0, of_file ? "--" : "");
  return {said.code(), std::move(details)};
}

ViewPageSettings settings_of(const ViewFlags& flags, const ViewedHeads& heads) {
  const ViewedText& text = heads.text();
  std::optional<bool> elements;
  if (flags.elements || flags.no_elements) {
    elements = flags.elements;
  }
  return {.title = title_of(flags, text),
          .command = "headwise view" + flags.seen.line.text(),
          .model = text.model,
          .text = subtitle_of(text),
          .variant = text.variant,
          .cross = text.cross,
          .language = language(),
          .elements = elements,
          .query_labels = text.query_labels,
          .key_labels = text.key_labels,
          .token_types = text.token_types,
          .query_special = text.query_special,
          .key_special = text.key_special,
          .attention = heads.options(),
          .operation = heads.operation_options(),
          .sequence = flags.seen.sequence.value_or(0)};
}

ViewedInterval interval_of(const MeanInterval& interval) {
  return {interval.mean, interval.low, interval.high};
}

// How the heads of --model differ from those of --against, or from themselves
// without those of --ablate, on the texts of the page that are not empty.
Result<TwoModels> compare(const ViewFlags& flags, const ManyHeads& documents) {
  std::vector<std::string_view> texts;
  for (std::size_t n = 0; n < documents.size(); n += 2) {
    const std::string& text = *documents[n]->text().text;
    if (text.find_first_not_of(" \t\n") != std::string::npos) {
      texts.push_back(text);
    }
  }
  return compare_two_models(flags.seen, *documents[0]->text_model(),
                            *documents[1]->text_model(), texts);
}

// Of the heads that the page shows.
std::vector<ViewedChange> changes_of(const ViewFlags& flags,
                                     const ManyHeads& documents,
                                     const TwoModels& models) {
  std::vector<ViewedChange> changes;
  const std::vector<std::size_t>& layers = documents.front()->layers();
  for (const ComparedHead& head : models.heads) {
    if (flags.seen.against.empty() &&
        std::ranges::find(layers, head.pair.a.layer) == layers.end()) {
      continue;
    }
    ViewedChange change{.head = head.pair.a,
                        .other = head.pair.b,
                        .similarity = interval_of(head.pair.similarity),
                        .differences = {}};
    if (head.match) {
      change.match = head.match->head;
    }
    std::ranges::transform(head.pair.difference, change.differences.begin(),
                           interval_of);
    changes.push_back(change);
  }
  return changes;
}

struct MadePage {
  std::string html;
  std::string only;  // lines about heads that only one of two models has
};

Result<MadePage> make_page(const ViewFlags& flags, const ManyHeads& documents,
                           HeadDrawing* drawing) {
  HEADWISE_ASSIGN(
      const auto attribution,
      PageAttribution::compute(flags.attribution, *documents.front()));
  ViewPageSettings settings = settings_of(flags, *documents.front());
  attribution.add_to(settings);
  HEADWISE_ASSIGN(auto page, ViewPage::create(std::move(settings)));
  const std::size_t layers =
      documents.size() * documents.front()->layers().size();
  ProgressBar bar{"view", "layers"};
  const Progress progress = bar.progress();
  std::size_t done = 0;
  const auto show = [&] {
    if (progress) {
      progress(done, layers);
    }
  };
  show();
  for (std::size_t n = 0; n < documents.size(); ++n) {
    const ViewedHeads& heads = *documents[n];
    if (n != 0) {
      HEADWISE_TRY(page.next(settings_of(flags, heads)));
    }
    const char* const option =
        !flags.seen.against.empty() && n % 2 == 1 ? "--against" : "--model";
    const auto see = [&](const NumberedLayer& layer) -> Status {
      Status s = add_to_page(page, layer, attribution, drawing);
      ++done;
      show();
      return s ? s : Status(error_of_layer(layer, option, s.error()));
    };
    HEADWISE_TRY(
        heads.visit({.steps = true, .norms = true, .norm_map = true}, see));
  }
  std::string only;
  if (!flags.seen.against.empty() ||
      (!flags.seen.ablate.empty() && flags.seen.pair.empty())) {
    HEADWISE_ASSIGN(const auto models, compare(flags, documents));
    page.set_changes(changes_of(flags, documents, models));
    only = only_text(models);
  }
  HEADWISE_ASSIGN(auto html, page.html());
  return MadePage{std::move(html), std::move(only)};
}

// "page.html: 6 layers, 9 queries, 9 keys, 0.4 MB", and what was cut. Of the
// part of an encoder-decoder: "page.html, encoder".
std::string page_text(const std::string& path, const ViewedHeads& heads,
                      double megabytes) {
  const ViewedText& text = heads.text();
  std::string said =
      say("{0}: {1} layer{5}, {2} quer{6}, {3} key{7}, {4:.1f} MB\n",
          shown(path) + (text.variant ? ", " + *text.variant : ""),
          heads.layers().size(), text.query_labels.size(),
          text.key_labels.size(), megabytes, plural(heads.layers().size()),
          text.query_labels.size() == 1 ? "y" : "ies",
          plural(text.key_labels.size()));
  if (text.cut_tokens != 0) {
    said += cut_text(text) + "\n";
  }
  return said;
}

// The number of texts that the models divide into different tokens.
std::size_t texts_of_different_tokens(const ManyHeads& documents) {
  std::size_t different = 0;
  for (std::size_t n = 0; n < documents.size(); n += 2) {
    different += documents[n]->text().query_labels !=
                         documents[n + 1]->text().query_labels
                     ? 1
                     : 0;
  }
  return different;
}

// The same of several texts, each in one model or in two.
std::string page_text(const std::string& path, const ManyHeads& documents,
                      std::size_t models, double megabytes) {
  const ViewedHeads& first = *documents.front();
  std::vector<const ViewedHeads*> texts;
  for (std::size_t n = 0; n < documents.size(); n += models) {
    if (!documents[n]->text().variant) {
      texts.push_back(documents[n].get());
    }
  }
  std::string said =
      say("{0}: {1} text{5}{2}, {3} layer{6}, {4:.1f} MB\n", shown(path),
          texts.size(), models == 1 ? "" : say(" in two models"),
          first.layers().size(), megabytes, plural(texts.size()),
          plural(first.layers().size()));
  said += empty_lines_text(first.text().empty_lines);
  if (models == 2) {
    said += different_tokens_text(texts_of_different_tokens(documents));
  }
  const auto cut = std::ranges::count_if(
      texts, [](const auto& one) { return one->text().cut_tokens != 0; });
  if (cut != 0) {
    said += say("{0} of {1} text{4} cut at the limit of {2} tokens ({3})\n",
                cut, texts.size(), first.text().max_tokens,
                one_line(first.text().max_tokens_from), plural(texts.size()));
  }
  return said;
}

Outcome write_page(const ViewFlags& flags, const std::string& path,
                   const ManyHeads& documents, HeadDrawing* drawing,
                   const Streams& streams) {
  const auto page = make_page(flags, documents, drawing);
  if (!page) {
    return in_words_of(flags, page.error());
  }
  HEADWISE_TRY(written(write_file_atomically(path, page->html)));
  const double megabytes = static_cast<double>(page->html.size()) / 1e6;
  const bool one_text = flags.seen.texts.empty() && flags.seen.against.empty();
  for (const auto& heads : documents) {
    // The parts of an encoder-decoder, or the text before its variants.
    if (one_text && (heads == documents.front() || flags.seen.ablate.empty())) {
      streams.err << page_text(path, *heads, megabytes);
    }
  }
  streams.err << (one_text ? ""
                           : page_text(path, documents,
                                       flags.seen.against.empty() ? 1 : 2,
                                       megabytes))
              << documents.front()->text().read << page->only << std::flush;
  return {};
}

// Pictures and JSON.
Outcome write_heads(const ViewFlags& flags, const ViewedHeads& heads,
                    const Result<DrawnHeads>& drawn,
                    const std::optional<HeadId>& whole,
                    const Streams& streams) {
  if (!drawn) {
    return drawn.error().code() == ErrorCode::invalid_argument
               ? drawn.error()
               : in_words_of(flags, drawn.error());
  }
  if (flags.pictures()) {
    const PictureWords words = {title_of(flags, heads.text()), flags.sort,
                                language()};
    const auto draw = [&](double zoom) {
      return view_picture(heads.text(), *drawn, whole, words, zoom);
    };
    HEADWISE_TRY(write_picture(flags.svg, draw));
    HEADWISE_TRY(write_picture(flags.png, draw, true));
  }
  return flags.json ? print(streams.out, view_json(heads.text(), *drawn, whole))
                    : Outcome();
}

// A page that --out asked for is there, opened or not.
Outcome show_page(const ViewFlags& flags, const std::string& path,
                  const Streams& streams) {
  const Outcome opened = open_page(path);
  if (opened || flags.out.empty()) {
    return opened;
  }
  streams.err << "headwise: " << error_text(opened.error().error) << '\n'
              << std::flush;
  return {};
}

Outcome run_view(const ViewFlags& flags, const Streams& streams) {
  HEADWISE_TRY(flags.seen.line.check(kRules));
  HEADWISE_TRY(check_against_flags(flags.seen));
  HEADWISE_TRY(
      check_page_attribution(flags.seen, flags.page(), flags.attribution));
  HEADWISE_TRY(flags.seen.line.files().check());
  HEADWISE_ASSIGN(const auto documents, read_viewed_documents(flags.seen));
  const ViewedHeads& heads = *documents.front();
  HEADWISE_TRY(check_sort(flags.sort, heads.text().cross));
  const bool draws = flags.pictures() || flags.json;
  if (draws) {
    HEADWISE_TRY(check_one_part(documents));
  }
  std::optional<HeadId> whole;
  if (!flags.head.empty()) {
    whole = head_in(flags.head);
    if (!whole) {
      return bad_option("--head", flags.head, "LAYER.HEAD, such as 0.3");
    }
  }
  HeadDrawing drawing(whole);
  std::string path = flags.out;
  if (flags.page()) {
    if (path.empty()) {
      auto made = make_temporary_page();
      if (!made) {
        return failure_to_write(made.error());
      }
      path = *std::move(made);
    }
    HEADWISE_TRY(write_page(flags, path, documents, draws ? &drawing : nullptr,
                            streams));
  }
  if (draws) {
    HEADWISE_TRY(write_heads(
        flags, heads,
        flags.page()
            ? std::move(drawing).finish(heads)
            : compute_heads(heads, flags.seen.sequence.value_or(0), whole),
        whole, streams));
  }
  warn_of_unknown(documents, streams.err);
  if (!flags.seen.ablate.empty()) {
    HEADWISE_ASSIGN(const auto ablated,
                    parse_head_list("--ablate", flags.seen.ablate));
    streams.err << unseen_text(ablated, heads.layers());
  }
  streams.err << left_out_text(heads.text()) << std::flush;
  return flags.open ? show_page(flags, path, streams) : Outcome();
}

void add_output_options(const Arguments& output, ViewFlags& flags) {
  output.add(
      {{"--out", &flags.out, output_file("PAGE.html"),
        "write the page: one file that opens in any browser, without a "
        "network"},
       {"--open", &flags.open, flag(),
        "open the page in the browser (without --out: a temporary file)"},
       {"--elements", &flags.elements, flag(),
        "put the components of queries and keys into the page, even if that "
        "makes it larger",
        advanced()},
       {"--no-elements", &flags.no_elements, flag(),
        "leave the components of queries and keys out of the page", advanced()},
       {"--svg", &flags.svg, picture("FILE.svg", ".svg"),
        "write a picture of all heads, or of --head"},
       {"--png", &flags.png, picture("FILE.png", ".png"),
        "write the same picture as PNG"},
       {"--json", &flags.json, printed(),
        "print the statistics of each head; with --head also its attention "
        "weights"},
       {"--head", &flags.head, text("LAYER.HEAD"),
        "only this head, such as 0.3"},
       {"--sort", &flags.sort, choice(statistic_names()),
        "sort the heads of the picture by this statistic, largest first",
        advanced()},
       {"--title", &flags.title, text("TEXT"),
        "title of the page and the picture", advanced()}});
}

void add_token_options(const Arguments& tensors, ViewedFlags& flags) {
  tensors.add(
      {{"--query-tokens", &flags.query_tokens, input_file("FILE"),
        "one token per line, one for each query (default: their numbers)",
        advanced()},
       {"--key-tokens", &flags.key_tokens, input_file("FILE"),
        "the same for the keys (default if there are as many keys as queries: "
        "--query-tokens)",
        advanced()},
       {"--sequence", &flags.sequence, number(),
        "sequence of the batch (default 0)", advanced()}});
}

void add_view_options(const Arguments& command, ViewFlags& flags) {
  flags.seen.command = "view";
  add_viewed_options(command, flags.seen);
  command.under("A model and a text")
      .add({{"--texts", &flags.seen.texts, input_file("FILE|-"),
             "one text per line, all in one page; -: standard input"},
            {"--ablate", &flags.seen.ablate, text("LIST"),
             "show each text also without these heads, such as 3.1,4.5"}});
  add_against_options(command, flags.seen);
  add_page_attribution_options(command, flags.attribution);
  add_token_options(command.under("Tensors"), flags.seen);
  add_output_options(command.under("Output"), flags);
}

}  // namespace

void add_view(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kViewHelp, add_view_options, run_view);
}

}  // namespace headwise::cli
