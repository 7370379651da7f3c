#include "ui/error_json.h"

#include <boost/json.hpp>

namespace podgpu {

std::string ErrorJson(std::string_view message) {
  return boost::json::serialize(boost::json::object{{"error", message}}) + "\n";
}

}  // namespace podgpu
