// The fleet page: HTML, style sheet and scripts, which are embedded in the program.
//
// The files are in src/cluster/assets and are embedded at build time (cmake/Embed.cmake).  The page
// requests /api/v1/fleet from this server and nothing from any other server; its
// Content-Security-Policy forbids that.  Used on one thread, the HTTP thread.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/embedded_file.h"
#include "ui/document.h"

namespace podgpu {

// The files of src/cluster/assets, by name.
std::span<const EmbeddedFile> FleetFiles();

class FleetPage {
 public:
  FleetPage();

  bool Has(std::string_view path) const { return documents_.contains(path); }
  // Returns the response for "/", the page itself, or "/assets/NAME", a file that it loads.
  // Requires Has(path).
  HttpResponse Serve(std::string_view path, const HttpRequest& request);

 private:
  std::map<std::string, std::shared_ptr<Document>, std::less<>> documents_;
};

}  // namespace podgpu
