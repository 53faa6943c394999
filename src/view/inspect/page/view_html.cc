#include "inspect/page/view_html.h"

#include <nettle/sha2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "headwise/json/json.h"
#include "headwise/words/language.h"
#include "inspect/page/viewer_files.h"
#include "inspect/pictures/base64.h"
#include "inspect/pictures/svg_text.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// JSON that may be put between <script> and </script>: characters that could
// end the element are replaced by JSON escapes. They occur only in strings.
std::string script_json(std::string_view text) {
  std::string escaped;
  for (std::size_t n = 0; n < text.size(); ++n) {
    const std::string_view rest = text.substr(n);
    if (rest.starts_with("\u2028") || rest.starts_with("\u2029")) {
      escaped += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
      n += 2;
    } else if (text[n] == '<') {
      escaped += "\\u003c";
    } else if (text[n] == '>') {
      escaped += "\\u003e";
    } else if (text[n] == '&') {
      escaped += "\\u0026";
    } else {
      escaped += text[n];
    }
  }
  return escaped;
}

std::string_view file_text(std::string_view name) {
  const auto bytes = viewer_file(name);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string csp_hash(std::string_view text) {
  sha256_ctx context{};
  sha256_init(&context);
  sha256_update(&context, text.size(),
                reinterpret_cast<const std::uint8_t*>(text.data()));
  std::array<std::byte, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(&context, digest.size(),
                reinterpret_cast<std::uint8_t*>(digest.data()));
  return "'sha256-" + base64(digest) + "'";
}

std::string policy() {
  return "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
         "'none'; script-src " +
         csp_hash(file_text("viewer.js")) + "; style-src " +
         csp_hash(file_text("viewer.css")) +
         "; img-src data: blob:; worker-src blob:; base-uri 'none'; "
         "form-action 'none'\">";
}

constexpr std::string_view kContext = "page";

// What is shown until the script runs.
std::string app() {
  constexpr std::string_view kNeeded =
      "This page needs JavaScript to draw the attention heads. Please allow "
      "it.";
  std::string html = R"(<div id="app"><noscript>)";
  for (const Language& language : languages()) {
    html += language == Language::en
                ? std::string("<p>")
                : "<p lang=\"" + std::string(language.code()) + "\">";
    html.append(translated(language, kNeeded, kContext)).append("</p>");
  }
  return html + "</noscript></div>";
}

// {language: {English: translation}}
std::string words_json() {
  Json words = Json::object();
  for (const Language& language : languages().subspan(1)) {
    Json table = Json::object();
    for (const auto& [english, text] : translations(language, kContext)) {
      table[english] = text;
    }
    words[language.code()] = std::move(table);
  }
  return words.dump();
}

void add_blocks(std::span<const std::string_view> blocks, std::string& html) {
  for (std::size_t n = 0; n < blocks.size(); ++n) {
    html += (n == 0 ? "" : "\n");
    html +=
        R"(<script type="text/plain" id="block-)" + std::to_string(n) + "\">";
    html.append(blocks[n]).append("</script>");
  }
}

// A line of the template; "{{NAME}}" is replaced.
void add_line(std::string_view line, const PageText& page, std::string& html) {
  if (line == "{{csp}}") {
    html += policy();
  } else if (line == "{{title}}") {
    html += "<title>" + svg_text(page.title) + "</title>";
  } else if (line == "{{style}}") {
    html.append("<style>").append(file_text("viewer.css")).append("</style>");
  } else if (line == "{{data}}") {
    html += R"(<script type="application/json" id="page">)" +
            script_json(page.json) + "</script>";
  } else if (line == "{{app}}") {
    html += app();
  } else if (line == "{{words}}") {
    html += R"(<script type="application/json" id="words">)" +
            script_json(words_json()) + "</script>";
  } else if (line == "{{blocks}}") {
    add_blocks(page.blocks, html);
  } else if (line == "{{script}}") {
    html.append("<script>").append(file_text("viewer.js")).append("</script>");
  } else {
    html += line;
  }
  html += '\n';
}

}  // namespace

std::string page_html(const PageText& page) {
  std::size_t size = page.json.size();
  for (const std::string_view block : page.blocks) {
    size += block.size();
  }
  constexpr std::size_t kRest = std::size_t{1} << 20;  // tags, script, style
  std::string html;
  html.reserve(size + kRest);
  std::string_view rest = file_text("template.html");
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    add_line(rest.substr(0, end), page, html);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return html;
}

}  // namespace headwise::inline HEADWISE_ABI
