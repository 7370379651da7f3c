#include <concepts>
#include <limits>
#include <set>

#include "absl/strings/str_format.h"
#include <boost/json.hpp>

#include "report/node_status.h"
#include "report/status_members.h"

namespace podgpu {
namespace {

namespace json = boost::json;

// Reads one status and stops at the first error.
class StatusReader {
 public:
  StatusOr<NodeStatus> Read(const json::object& root) {
    int64_t schema = 0;
    const json::value* const number = root.if_contains("schema");
    ReadValue("schema", number == nullptr ? json::value() : *number, {}, schema);
    if (failure_.ok() && schema != kNodeStatusSchema) {
      return absl::UnimplementedError(absl::StrFormat(
          "schema %d is not supported, only %d: run the same release of podgpu on both sides",
          schema, kNodeStatusSchema));
    }
    NodeStatus status;
    ReadMembers(root, status);
    Check(status);
    PODGPU_RETURN_IF_ERROR(failure_);
    return status;
  }

 private:
  void Fail(const std::string& what) {
    if (failure_.ok()) {
      failure_ = absl::InvalidArgumentError(what);
    }
  }

  template <typename Struct>
  void ReadMembers(const json::object& object, Struct& into) {
    std::apply([&](const auto&... member) { (ReadMember(object, member, into.*member.at), ...); },
               kStatusMembers<Struct>);
  }

  template <typename Struct, typename Type>
  void ReadMember(const json::object& object, const Member<Struct, Type>& member, Type& into) {
    if constexpr (StatusStruct<Type>) {
      if (member.key.empty()) {
        ReadMembers(object, into);
        return;
      }
    }
    const json::value* const value = object.if_contains({member.key.data(), member.key.size()});
    if (value != nullptr && failure_.ok()) {
      ReadValue(member.key, *value, member.range, into);
    } else if (member.presence == Presence::kRequired) {
      Fail(absl::StrFormat("\"%s\" is missing", member.key));
    }
  }

  template <StatusStruct Struct>
  void ReadValue(std::string_view key, const json::value& value, const MemberRange& /*range*/,
                 Struct& into) {
    if (const json::object* const object = value.if_object()) {
      ReadMembers(*object, into);
    } else {
      Fail(absl::StrFormat("\"%s\" is not an object", key));
    }
  }

  template <typename Type>
  void ReadValue(std::string_view key, const json::value& value, const MemberRange& range,
                 std::optional<Type>& into) {
    ReadValue(key, value, range, into.emplace());
  }

  template <typename Type>
  void ReadValue(std::string_view key, const json::value& value, const MemberRange& range,
                 std::vector<Type>& into) {
    const json::array* const array = value.if_array();
    if (array == nullptr) {
      return Fail(absl::StrFormat("\"%s\" is not a list", key));
    }
    if (array->size() > range.members) {
      return Fail(absl::StrFormat("\"%s\" has %d members; at most %d are allowed", key,
                                  array->size(), range.members));
    }
    into.reserve(array->size());
    for (const json::value& member : *array) {
      ReadValue(key, member, range, into.emplace_back());
    }
  }

  void ReadValue(std::string_view key, const json::value& value, const MemberRange& /*range*/,
                 bool& into) {
    if (const bool* const flag = value.if_bool()) {
      into = *flag;
    } else {
      Fail(absl::StrFormat("\"%s\" is neither true nor false", key));
    }
  }

  void ReadValue(std::string_view key, const json::value& value, const MemberRange& /*range*/,
                 std::string& into) {
    const json::string* const text = value.if_string();
    if (text == nullptr || text->size() > kMostStatusTextBytes) {
      return Fail(
          absl::StrFormat("\"%s\" is not a text of at most %d bytes", key, kMostStatusTextBytes));
    }
    into.assign(text->data(), text->size());
  }

  void ReadValue(std::string_view key, const json::value& value, const MemberRange& range,
                 double& into) {
    boost::system::error_code error;
    into = value.to_number<double>(error);
    if (error || !(into >= 0) || into > range.most) {
      Fail(absl::StrFormat("\"%s\" is not a number from 0 to %g", key, range.most));
    }
  }

  // Whole numbers are not negative, except samples: -1 says that there is none.
  template <std::integral Integer>
  void ReadValue(std::string_view key, const json::value& value, const MemberRange& range,
                 Integer& into) {
    constexpr bool kIsSample = std::same_as<Integer, int8_t>;
    constexpr int64_t kLeast = kIsSample ? -1 : 0;
    const auto most =
        kIsSample ? 100
                  : static_cast<int64_t>(std::min(
                        range.most, static_cast<double>(std::numeric_limits<Integer>::max())));
    const int64_t* const number = value.if_int64();
    if (number == nullptr || *number < kLeast || *number > most) {
      return Fail(absl::StrFormat("\"%s\" is not a whole number from %d to %d", key, kLeast, most));
    }
    into = static_cast<Integer>(*number);
  }

  // Checks the facts on which readers rely beyond single members.
  void Check(const NodeStatus& status) {
    if (status.node.empty()) {
      Fail("\"node\" is empty");
    }
    std::set<std::string_view> uuids;
    for (const StatusGpu& gpu : status.gpus) {
      if (gpu.uuid.empty() || !uuids.insert(gpu.uuid).second) {
        Fail("two devices have the same UUID, or one has none");
      }
    }
    for (const StatusHistory& history : status.history) {
      const auto differs = [&history](const std::vector<int8_t>& list) {
        return list.size() != history.sm.size();
      };
      if (differs(history.memory) || differs(history.power) ||
          (!history.utilization.empty() && differs(history.utilization))) {
        Fail(absl::StrFormat("the lists of GPU %d in \"history\" differ in length", history.gpu));
      }
    }
  }

  Status failure_;
};

}  // namespace

StatusOr<NodeStatus> ReadNodeStatus(std::string_view text) {
  constexpr size_t kDepth = 8;
  json::parse_options options;
  options.max_depth = kDepth;
  json::monotonic_resource memory;
  boost::system::error_code error;
  const json::value root = json::parse({text.data(), text.size()}, error, &memory, options);
  if (error || !root.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("it is not a JSON object: %s", error ? error.message() : "another value"));
  }
  return StatusReader().Read(root.get_object());
}

}  // namespace podgpu
