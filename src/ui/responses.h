// Answers that both roles give in the same way: pages, JSON, HTML, and what is elsewhere.
//
// Pure but for a page's bytes, which the snapshot makes once; the HTTP thread calls them.
#pragma once

#include <memory>
#include <string>

#include "exposition/snapshot.h"
#include "http/server.h"

namespace podgpu {

void AddHeader(HttpResponse& response, std::string name, std::string value);

// HTML that may load nothing from anywhere.
HttpResponse HtmlResponse(std::string page);

// JSON that nobody keeps.
HttpResponse JsonResponse(int status, std::string body);

// The page in the form that the client asks for; 503 while there is none.
HttpResponse PageResponse(std::shared_ptr<const Snapshot> snapshot, const HttpRequest& request);

// To what is not in a table of routes: another spelling of a path is sent to the right one, as
// dcgm-exporter does; all else is not found.
HttpResponse ServeElsewhere(const HttpRequest& request);

}  // namespace podgpu
