#include "cluster/fleet_page.h"

#include "ui/responses.h"

namespace podgpu {
namespace {

constexpr std::string_view kPageFile = "fleet.html";
// Allows no inline script or style, no other origin and no frame around the page.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string TypeOf(std::string_view name) {
  if (name.ends_with(".js")) {
    return "text/javascript; charset=utf-8";
  }
  return name.ends_with(".css") ? "text/css; charset=utf-8" : "text/html; charset=utf-8";
}

}  // namespace

FleetPage::FleetPage() {
  for (const EmbeddedFile& file : FleetFiles()) {
    const std::string path = file.name == kPageFile ? "/" : "/assets/" + std::string(file.name);
    documents_[path] = MakeDocument(std::string(file.bytes), TypeOf(file.name));
  }
}

HttpResponse FleetPage::Serve(std::string_view path, const HttpRequest& request) {
  HttpResponse response = DocumentResponse(documents_.find(path)->second, request);
  AddHeader(response, "Content-Security-Policy", kPolicy);
  AddHeader(response, "Referrer-Policy", "no-referrer");
  return response;
}

}  // namespace podgpu
