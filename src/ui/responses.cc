#include "ui/responses.h"

#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "exposition/negotiate.h"

namespace podgpu {
namespace {

// `path` without empty, "." and ".." segments, as Go's servers clean it; a slash at the end stays.
std::string CleanPath(std::string_view path) {
  std::vector<std::string_view> segments;
  for (const std::string_view segment : Split(path, '/')) {
    if (segment == "..") {
      segments.resize(segments.empty() ? 0 : segments.size() - 1);
    } else if (!segment.empty() && segment != ".") {
      segments.push_back(segment);
    }
  }
  std::string clean;
  for (const std::string_view segment : segments) {
    absl::StrAppendFormat(&clean, "/%s", segment);
  }
  return clean.empty() || path.ends_with('/') ? clean + "/" : clean;
}

}  // namespace

void AddHeader(HttpResponse& response, std::string name, std::string value) {
  response.headers.emplace_back(std::move(name), std::move(value));
}

void AddPagePolicy(HttpResponse& response) {
  AddHeader(response, "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  AddHeader(response, "Referrer-Policy", "no-referrer");
}

HttpResponse HtmlResponse(std::string page) {
  HttpResponse response = TextResponse(200, std::move(page), "text/html; charset=utf-8");
  AddPagePolicy(response);
  return response;
}

HttpResponse JsonResponse(int status, std::string body) {
  HttpResponse response = TextResponse(status, std::move(body), "application/json");
  AddHeader(response, "Cache-Control", "no-store");
  return response;
}

HttpResponse PageResponse(std::shared_ptr<const Snapshot> snapshot, const HttpRequest& request) {
  if (snapshot == nullptr) {
    return TextResponse(503, "the first page is not ready yet; retry in 1 s\n");
  }
  const Page page = snapshot->PageIn(ChooseForm(request.accept, request.accept_encoding));
  HttpResponse response;
  response.keep_alive = std::move(snapshot);
  response.body = page.bytes;
  response.content_type = page.content_type;
  AddHeader(response, "Vary", "Accept, Accept-Encoding");
  AddHeader(response, "Cache-Control", "no-store");
  if (page.gzip) {
    AddHeader(response, "Content-Encoding", "gzip");
  }
  return response;
}

HttpResponse ServeElsewhere(const HttpRequest& request) {
  const std::string clean = CleanPath(request.path);
  if (!request.path.starts_with('/') || clean == request.path) {
    return TextResponse(404, "404 page not found\n");
  }
  const std::string location =
      request.query.empty() ? clean : absl::StrFormat("%s?%s", clean, request.query);
  HttpResponse response = TextResponse(301, absl::StrFormat("moved to %s\n", location));
  AddHeader(response, "Location", location);
  return response;
}

}  // namespace podgpu
