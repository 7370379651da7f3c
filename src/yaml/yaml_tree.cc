#include "yaml/yaml_tree.h"

#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace podgpu {

namespace {

// Ends the parse at the first refused item; caught in this file.
struct Refused {};

class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(YamlNode& root, std::vector<YamlError>& errors) : root_(root), errors_(errors) {}

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    RefuseAnchor(mark, anchor);
    Add(mark, YamlNode::Kind::kNull);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    Refuse(mark, "aliases are not allowed; write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag);
    Add(mark, YamlNode::Kind::kScalar).text = value;
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    Open(mark, tag, anchor, YamlNode::Kind::kList);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    Open(mark, tag, anchor, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { Close(); }

  void Refuse(const YAML::Mark& mark, std::string what) {
    errors_.push_back({mark.line + 1, mark.column + 1, std::move(what)});
    throw Refused{};
  }

 private:
  void RefuseAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) {
      Refuse(mark, "anchors are not allowed; write the value out");
    }
  }
  // "!" is a quoted scalar, "?" a plain one.
  void RefuseTag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "!" && tag != "?") {
      Refuse(mark, "tags are not allowed; leave them out");
    }
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag);
    if (static_cast<int>(stack_.size()) >= kYamlDepthLimit) {
      Refuse(mark, "nesting is deeper than " + std::to_string(kYamlDepthLimit) + " levels");
    }
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    stack_.push_back(std::move(node));
  }

  void Close() {
    YamlNode done = std::move(stack_.back());
    stack_.pop_back();
    Place(std::move(done));
  }

  YamlNode& Add(const YAML::Mark& mark, YamlNode::Kind kind) {
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return Place(std::move(node));
  }

  // Adds a finished node to the open list or map, or makes it the root.
  YamlNode& Place(YamlNode node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return root_;
    }
    YamlNode& parent = stack_.back();
    const bool is_key =
        parent.kind == YamlNode::Kind::kMap && parent.keys.size() == parent.items.size();
    auto& list = is_key ? parent.keys : parent.items;
    if (!is_key && node.kind == YamlNode::Kind::kNull && !parent.keys.empty()) {
      node.line = parent.keys.back().line;  // The parser gives the place of the next token.
      node.column = parent.keys.back().column;
    }
    list.push_back(std::move(node));
    return list.back();
  }

  YamlNode& root_;
  std::vector<YamlError>& errors_;
  std::vector<YamlNode> stack_;
};

}  // namespace

YamlNode ReadYaml(std::string_view text, std::vector<YamlError>& errors) {
  YamlNode root;
  if (text.size() > kYamlLimitBytes) {
    errors.push_back({1, 1,
                      std::to_string(text.size()) + " bytes; at most " +
                          std::to_string(kYamlLimitBytes) + " are allowed"});
    return root;
  }
  std::istringstream stream{std::string(text)};
  TreeBuilder builder(root, errors);
  try {
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    YamlNode second;
    TreeBuilder more(second, errors);
    if (errors.empty() && parser.HandleNextDocument(more)) {
      errors.push_back({second.line, second.column, "one document is allowed; found a second"});
    }
  } catch (const Refused&) {
    return root;  // The error is in the list.
  } catch (const YAML::Exception& problem) {
    errors.push_back({problem.mark.line + 1, problem.mark.column + 1, "not YAML: " + problem.msg});
  }
  return root;
}

}  // namespace podgpu
