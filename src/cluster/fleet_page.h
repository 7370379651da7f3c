// The fleet page: HTML, style sheet and scripts, which are embedded in the program.
//
// The files are in src/cluster/assets and are embedded at build time (cmake/Embed.cmake).  The page
// requests /api/v1/fleet from this server and nothing from any other server; its
// Content-Security-Policy forbids that.  Used on one thread, the HTTP thread.
#pragma once

#include <span>

#include "base/embedded_file.h"
#include "ui/page_assets.h"

namespace podgpu {

// The files of src/cluster/assets, by name.
std::span<const EmbeddedFile> FleetFiles();

// Serves the page as "/", and the files that it loads as "/assets/NAME".
PageAssets MakeFleetPage();

}  // namespace podgpu
