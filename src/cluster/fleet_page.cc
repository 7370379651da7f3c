#include "cluster/fleet_page.h"

namespace podgpu {

PageAssets MakeFleetPage() { return PageAssets(FleetFiles(), "fleet.html"); }

}  // namespace podgpu
