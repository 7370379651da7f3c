#include "ui/document.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "exposition/gzip.h"
#include "exposition/negotiate.h"
#include "ui/responses.h"

namespace podgpu {

std::shared_ptr<Document> MakeDocument(std::string bytes, std::string content_type,
                                       size_t least_gzip_bytes) {
  std::string etag = absl::StrFormat("W/\"%016x\"", std::hash<std::string_view>()(bytes));
  return std::make_shared<Document>(
      Document{std::move(bytes), std::move(content_type), std::move(etag), least_gzip_bytes});
}

HttpResponse DocumentResponse(const std::shared_ptr<Document>& document,
                              const HttpRequest& request) {
  HttpResponse response;
  response.content_type = document->content_type;
  AddHeader(response, "ETag", document->etag);
  AddHeader(response, "Vary", "Accept-Encoding");
  AddHeader(response, "Cache-Control", "no-cache");
  if (MatchesEtag(request.if_none_match, document->etag)) {
    response.status = 304;
    return response;
  }
  const bool gzip = document->bytes.size() >= document->least_gzip_bytes &&
                    ChooseForm({}, request.accept_encoding).gzip;
  if (gzip) {
    AddHeader(response, "Content-Encoding", "gzip");
    if (document->gzip.empty()) {
      document->gzip = Gzip(document->bytes);
    }
  }
  response.body = gzip ? document->gzip : document->bytes;
  response.keep_alive = document;
  return response;
}

bool MatchesEtag(std::string_view if_none_match, std::string_view etag) {
  const auto opaque = [](std::string_view tag) {
    return tag.starts_with("W/") ? tag.substr(2) : tag;
  };
  return std::ranges::any_of(Split(if_none_match, ','), [&](std::string_view part) {
    const std::string_view tag = Trim(part);
    return tag == "*" || (!tag.empty() && opaque(tag) == opaque(etag));
  });
}

}  // namespace podgpu
