// User name and password of HTTP's basic scheme.
//
// Parses the value of an Authorization header, and compares texts in a time that does not depend on
// where they differ. Pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace podgpu {

struct Credentials {
  std::string user;
  std::string password;
  bool operator==(const Credentials&) const = default;
};

// Parses "Basic dXNlcjpwYXNz" (RFC 7617; the scheme in any case). Returns nothing for other values.
std::optional<Credentials> ReadBasicCredentials(std::string_view authorization);

// Returns whether both are equal; takes the same time wherever they differ.
bool AreEqualInConstantTime(std::string_view a, std::string_view b);

}  // namespace podgpu
