// Checks a JSON value against a schema: the keywords that docs/doctor.schema.json uses (type,
// const, enum, required, properties, additionalProperties, items).
//
// A keyword that is not known here is a complaint, so that no schema is believed to say more than
// is checked.  Pure function; for tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace podgpu {

// Returns a line per violation, or the reason why a text is not JSON; empty when `text` is valid.
std::vector<std::string> SchemaComplaints(std::string_view text, std::string_view schema);

}  // namespace podgpu
