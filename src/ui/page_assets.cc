#include "ui/page_assets.h"

#include <algorithm>

#include "base/text.h"
#include "ui/responses.h"

namespace podgpu {
namespace {

constexpr std::string_view kTokensFile = "tokens.css";

std::string AssetTypeOf(std::string_view name) {
  if (name.ends_with(".js")) {
    return "text/javascript; charset=utf-8";
  }
  if (name.ends_with(".md")) {
    return "text/plain; charset=utf-8";  // Browsers show it and do not save it.
  }
  return name.ends_with(".css") ? "text/css; charset=utf-8" : "text/html; charset=utf-8";
}

// Removes indentation and comments (those at ends of lines follow two blanks), which are a tenth of
// a script and only for its readers here.  Lines stay lines, so the position that a browser names
// is found by its text.
std::string ShortScript(std::string_view script) {
  std::string text;
  for (const std::string_view line : Split(script, '\n')) {
    const std::string_view statement = Trim(line.substr(0, line.find("  // ")));
    if (!statement.empty() && !statement.starts_with("//")) {
      text += statement;
      text += '\n';
    }
  }
  return text;
}

std::string AssetBytes(const EmbeddedFile& file) {
  if (file.name.ends_with(".js")) {
    return ShortScript(file.bytes);
  }
  if (!file.name.ends_with(".css")) {
    return std::string(file.bytes);
  }
  const std::span<const EmbeddedFile> shared = NodeFiles();
  const auto tokens = std::ranges::find(shared, kTokensFile, &EmbeddedFile::name);
  return std::string(tokens->bytes) + std::string(file.bytes);
}

}  // namespace

PageAssets::PageAssets(std::span<const EmbeddedFile> files, std::string_view index)
    : index_(index) {
  Add(files);
}

void PageAssets::Add(std::span<const EmbeddedFile> files) {
  for (const EmbeddedFile& file : files) {
    if (file.name != kTokensFile) {
      const std::string path = file.name == index_ ? "/" : "/assets/" + std::string(file.name);
      documents_[path] = MakeDocument(AssetBytes(file), AssetTypeOf(file.name));
    }
  }
}

HttpResponse PageAssets::Serve(std::string_view path, const HttpRequest& request) const {
  HttpResponse response = DocumentResponse(documents_.find(path)->second, request);
  AddPagePolicy(response);
  return response;
}

}  // namespace podgpu
