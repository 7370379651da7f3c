// Checks of access rights: nothing more than needed, and all of it bound.
package main

import (
	"slices"
	"strings"

	security "github.com/openshift/api/security/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
)

type binding struct {
	Object
	Ref      rbac.RoleRef
	Subjects []rbac.Subject
}

func (s *Set) bindings() []binding {
	var all []binding
	All(s, func(o Object, b *rbac.RoleBinding) { all = append(all, binding{o, b.RoleRef, b.Subjects}) })
	All(s, func(o Object, b *rbac.ClusterRoleBinding) { all = append(all, binding{o, b.RoleRef, b.Subjects}) })
	return all
}

func (s *Set) checkRights() {
	All(s, func(o Object, r *rbac.Role) { s.checkRole(o, r.Rules) })
	All(s, func(o Object, r *rbac.ClusterRole) { s.checkRole(o, r.Rules) })
	for _, b := range s.bindings() {
		s.checkBinding(b)
	}
	All(s, func(o Object, account *core.ServiceAccount) { s.checkAccount(o) })
	All(s, func(o Object, scc *security.SecurityContextConstraints) {
		for _, user := range scc.Users {
			parts := strings.Split(user, ":")
			if len(parts) == 4 && parts[1] == "serviceaccount" && !s.Has("ServiceAccount", parts[2], parts[3]) {
				s.reportOn(o, "names the user %s, which does not exist; add the ServiceAccount", user)
			}
		}
	})
}

func (s *Set) checkRole(o Object, rules []rbac.PolicyRule) {
	if len(rules) == 0 {
		s.reportOn(o, "grants nothing; remove it")
	}
	for _, rule := range rules {
		if slices.Contains(rule.Verbs, "*") || slices.Contains(rule.Resources, "*") || slices.Contains(rule.APIGroups, "*") {
			s.reportOn(o, "grants more than a feature needs by \"*\"; name verbs, resources and groups")
		}
		if slices.Contains(rule.Resources, "securitycontextconstraints") {
			s.checkConstraints(o, rule)
		}
	}
	for _, b := range s.bindings() {
		sameScope := o.Kind == "ClusterRole" || b.Meta.GetNamespace() == o.Meta.GetNamespace()
		if b.Ref.Kind == o.Kind && b.Ref.Name == o.Meta.GetName() && sameScope {
			return
		}
	}
	s.reportOn(o, "is bound to no account; add a binding, or remove it")
}

// The constraints that OpenShift has by itself.
var ownConstraints = []string{"privileged", "hostaccess", "hostmount-anyuid", "hostnetwork", "hostnetwork-v2",
	"nonroot-v2", "restricted-v2", "anyuid"}

func (s *Set) checkConstraints(o Object, rule rbac.PolicyRule) {
	if len(rule.ResourceNames) == 0 {
		s.reportOn(o, "may use every SecurityContextConstraints; name one in resourceNames")
	}
	for _, name := range rule.ResourceNames {
		if !slices.Contains(ownConstraints, name) && !s.Has("SecurityContextConstraints", "", name) {
			s.reportOn(o, "there is no SecurityContextConstraints %s; add it", name)
		}
	}
}

func (s *Set) checkBinding(b binding) {
	namespace := b.Meta.GetNamespace()
	if b.Ref.Kind == "ClusterRole" {
		namespace = ""
	}
	if !s.Has(b.Ref.Kind, namespace, b.Ref.Name) && !strings.HasPrefix(b.Ref.Name, "system:") {
		s.reportOn(b.Object, "binds the %s %s, which does not exist; add it", b.Ref.Kind, b.Ref.Name)
	}
	for _, subject := range b.Subjects {
		at := subject.Namespace
		if subject.Kind != "ServiceAccount" {
			continue
		}
		if at == "" {
			s.reportOn(b.Object, "subject %s needs a namespace; add it", subject.Name)
		} else if !s.Has("ServiceAccount", at, subject.Name) {
			s.reportOn(b.Object, "there is no ServiceAccount %s/%s; add it, or declare it as external", at, subject.Name)
		}
	}
}

func (s *Set) checkAccount(o Object) {
	for _, w := range s.workloads() {
		if w.Meta.GetNamespace() == o.Meta.GetNamespace() && w.Spec.ServiceAccountName == o.Meta.GetName() {
			return
		}
	}
	s.reportOn(o, "is the account of no pod; name it in serviceAccountName, or remove it")
}

// The ClusterRoles that every cluster has by itself, as far as manifests use them.
var ownRoles = map[string][]rbac.PolicyRule{
	"system:auth-delegator": {
		{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
		{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
	},
}

// Grant is one right of an account. An empty namespace means the whole cluster.
type Grant struct {
	Role      string   `json:"role"`
	Namespace string   `json:"namespace"`
	Group     string   `json:"group"`
	Resource  string   `json:"resource"`
	Names     []string `json:"names"`
	Verb      string   `json:"verb"`
}

// grantsOf are the rights of a pod's account.
func (s *Set) grantsOf(w Workload) []Grant {
	account := w.Spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	grants := []Grant{}
	for _, b := range s.bindings() {
		bound := slices.ContainsFunc(b.Subjects, func(subject rbac.Subject) bool {
			return subject.Kind == "ServiceAccount" && subject.Name == account && subject.Namespace == w.Meta.GetNamespace()
		})
		if !bound {
			continue
		}
		namespace := b.Meta.GetNamespace()
		if b.Ref.Kind == "ClusterRole" {
			namespace = ""
		}
		for _, rule := range ownRoles[b.Ref.Name] {
			grants = append(grants, flatten(rule, b.Ref.Kind+" "+b.Ref.Name, b.Meta.GetNamespace())...)
		}
		role := s.Find(b.Ref.Kind, namespace, b.Ref.Name)
		if role == nil {
			continue
		}
		rules := []rbac.PolicyRule{}
		switch body := role.Body.(type) {
		case *rbac.Role:
			rules = body.Rules
		case *rbac.ClusterRole:
			rules = body.Rules
		}
		for _, rule := range rules {
			grants = append(grants, flatten(rule, role.Name(), b.Meta.GetNamespace())...)
		}
	}
	return grants
}

func flatten(rule rbac.PolicyRule, role, namespace string) []Grant {
	names := rule.ResourceNames
	if names == nil {
		names = []string{}
	}
	var grants []Grant
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				grants = append(grants, Grant{role, namespace, group, resource, names, verb})
			}
		}
	}
	return grants
}
