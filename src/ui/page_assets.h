// The files that HTML pages load: style sheets, scripts and documents, which are embedded in the
// program (cmake/Embed.cmake).
//
// Each is served as /assets/NAME with an ETag and, after the first request for it, a compressed
// form. Every style sheet begins with assets/tokens.css, the colours and elements that all pages
// share; scripts are sent without comments and indentation. Used on one thread, the HTTP thread.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/embedded_file.h"
#include "ui/document.h"

namespace podgpu {

// The files of src/ui/assets, by name.
std::span<const EmbeddedFile> NodeFiles();
// docs/node-page.md
std::span<const EmbeddedFile> NodePageGuide();

class PageAssets {
 public:
  // Serves `files`; `index`, one of them, as "/". Without `index` no file is the page itself.
  explicit PageAssets(std::span<const EmbeddedFile> files, std::string_view index = {});

  // Serves these files too.
  void Add(std::span<const EmbeddedFile> files);

  bool Has(std::string_view path) const { return documents_.contains(path); }
  // Requires Has(path).
  HttpResponse Serve(std::string_view path, const HttpRequest& request) const;
  const std::map<std::string, std::shared_ptr<Document>, std::less<>>& documents() const {
    return documents_;
  }

 private:
  std::string index_;
  std::map<std::string, std::shared_ptr<Document>, std::less<>> documents_;
};

}  // namespace podgpu
