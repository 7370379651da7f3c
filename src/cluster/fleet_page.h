// The fleet page: HTML, style sheet and scripts, which are part of the program.
//
// The files are those of src/cluster/assets, embedded when the program is built
// (cmake/Embed.cmake). The page asks this server for /api/v1/fleet and nobody for anything else;
// its policy header would not let it.  One thread, the HTTP thread.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ui/document.h"

namespace podgpu {

struct EmbeddedFile {
  std::string_view name;  // "fleet.js"
  std::string_view bytes;
};
// Those of src/cluster/assets, by name.
std::span<const EmbeddedFile> FleetFiles();

class FleetPage {
 public:
  FleetPage();

  bool Has(std::string_view path) const { return documents_.contains(path); }
  // "/" is the page itself, "/assets/NAME" what it loads.  Has(path).
  HttpResponse Serve(std::string_view path, const HttpRequest& request);

 private:
  std::map<std::string, std::shared_ptr<Document>, std::less<>> documents_;
};

}  // namespace podgpu
