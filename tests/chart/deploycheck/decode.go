// Reads manifests: each document strictly, with the Go type of its kind.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	keda "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	route "github.com/openshift/api/route/v1"
	security "github.com/openshift/api/security/v1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	monitoringalpha "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	node "k8s.io/api/node/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	resource "k8s.io/api/resource/v1"
	scheduling "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/yaml"
)

// Object is one decoded document with the place it was read from.
type Object struct {
	File string
	Kind string
	Meta metav1.Object
	Body runtime.Object
}

// Name is "Kind namespace/name", or "Kind name" for kinds of the whole cluster.
func (o Object) Name() string { return o.Kind + " " + key(o.Meta) }

func key(m metav1.Object) string {
	if m.GetNamespace() == "" {
		return m.GetName()
	}
	return m.GetNamespace() + "/" + m.GetName()
}

// Finding is one defect: where, and what to change.
type Finding struct{ File, Object, Text string }

func (f Finding) String() string {
	if f.Object == "" {
		return f.File + ": " + f.Text
	}
	return f.File + ": " + f.Object + ": " + f.Text
}

// Kinds without a namespace.
var clusterKinds = map[string]bool{
	"Namespace": true, "ClusterRole": true, "ClusterRoleBinding": true,
	"SecurityContextConstraints": true, "PriorityClass": true, "RuntimeClass": true, "APIService": true,
}

func newDecoder() runtime.Decoder {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		core.AddToScheme, apps.AddToScheme, batch.AddToScheme, autoscaling.AddToScheme,
		rbac.AddToScheme, networking.AddToScheme, policy.AddToScheme, resource.AddToScheme,
		scheduling.AddToScheme, node.AddToScheme, monitoring.AddToScheme, monitoringalpha.AddToScheme,
		keda.AddToScheme, route.Install, security.Install, apiregistration.AddToScheme, certmanager.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
}

// AdapterRule is a rule of prometheus-adapter's configuration.
type AdapterRule struct {
	SeriesQuery   string          `json:"seriesQuery"`
	SeriesFilters []adapterFilter `json:"seriesFilters,omitempty"`
	Resources     struct {
		Overrides map[string]struct {
			Group    string `json:"group,omitempty"`
			Resource string `json:"resource"`
		} `json:"overrides,omitempty"`
		Template   string `json:"template,omitempty"`
		Namespaced *bool  `json:"namespaced,omitempty"`
	} `json:"resources"`
	Name struct {
		Matches string `json:"matches,omitempty"`
		As      string `json:"as,omitempty"`
	} `json:"name"`
	MetricsQuery string `json:"metricsQuery"`
}

type adapterFilter struct {
	Is    string `json:"is,omitempty"`
	IsNot string `json:"isNot,omitempty"`
}

// AdapterValues are values of prometheus-adapter's chart: the one document without a kind.
type AdapterValues struct {
	Rules struct {
		Custom   []AdapterRule `json:"custom,omitempty"`
		External []AdapterRule `json:"external,omitempty"`
	} `json:"rules"`
}

// Set is a group of objects that are applied together.
type Set struct {
	Objects  []Object
	Adapter  *AdapterValues
	Findings []Finding
	decoder  runtime.Decoder
	fallback string // The namespace of objects that name none.
	external map[string]bool
}

// NewSet makes an empty set. `external` holds "Kind namespace/name" of objects that exist elsewhere.
func NewSet(fallback string, external map[string]bool) *Set {
	return &Set{decoder: newDecoder(), fallback: fallback, external: external}
}

// AddPath reads a file, or the *.yaml files of a folder in the order of kubectl apply.
func (s *Set) AddPath(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	files := []string{path}
	if info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil {
			return err
		}
		sort.Strings(files)
		if len(files) == 0 {
			return fmt.Errorf("%s holds no *.yaml file", path)
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		s.AddText(file, text)
	}
	return nil
}

// AddText reads the documents of one file.
func (s *Set) AddText(file string, text []byte) {
	reader := utilyaml.NewYAMLReader(newLineReader(text))
	for {
		document, err := reader.Read()
		if err == io.EOF {
			return
		}
		if err != nil {
			s.report(file, "", "is not YAML: "+err.Error())
			return
		}
		if !isEmpty(document) {
			s.addDocument(file, document)
		}
	}
}

func isEmpty(document []byte) bool {
	for _, line := range bytes.Split(document, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return false
		}
	}
	return true
}

func (s *Set) addDocument(file string, document []byte) {
	var header metav1.TypeMeta
	if err := yaml.Unmarshal(document, &header); err != nil {
		s.report(file, "", "is not YAML: "+err.Error())
		return
	}
	if header.Kind == "" {
		s.addAdapter(file, document)
		return
	}
	body, _, err := s.decoder.Decode(document, nil, nil)
	if err != nil {
		s.report(file, header.Kind, "cannot be decoded: "+strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	accessor, err := meta.Accessor(body)
	if err != nil || accessor.GetName() == "" {
		s.report(file, header.Kind, "has no metadata.name; give it one")
		return
	}
	if clusterKinds[header.Kind] {
		if accessor.GetNamespace() != "" {
			s.report(file, header.Kind+" "+accessor.GetName(), "belongs to the whole cluster; remove metadata.namespace")
			accessor.SetNamespace("")
		}
	} else if accessor.GetNamespace() == "" {
		accessor.SetNamespace(s.fallback)
	}
	s.Objects = append(s.Objects, Object{file, header.Kind, accessor, body})
}

func (s *Set) addAdapter(file string, document []byte) {
	var values AdapterValues
	if err := yaml.UnmarshalStrict(document, &values); err != nil {
		s.report(file, "", "has no kind, and is no set of values for prometheus-adapter: "+strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	s.Adapter = &values
}

func (s *Set) report(file, object, text string) {
	s.Findings = append(s.Findings, Finding{file, object, text})
}

func (s *Set) reportOn(o Object, format string, values ...any) {
	s.report(o.File, o.Name(), fmt.Sprintf(format, values...))
}

// Has says whether the object is in the set or declared external, or is in every namespace.
func (s *Set) Has(kind, namespace, name string) bool {
	if (kind == "ServiceAccount" && name == "default") || (kind == "Secret" && s.issues(namespace, name)) {
		return true
	}
	return s.Find(kind, namespace, name) != nil || s.IsExternal(kind, namespace, name)
}

// IsExternal says whether the object is declared to exist outside the set.
func (s *Set) IsExternal(kind, namespace, name string) bool {
	if namespace != "" {
		name = namespace + "/" + name
	}
	return s.external[kind+" "+name]
}

// Find returns the object, or null.
func (s *Set) Find(kind, namespace, name string) *Object {
	for i := range s.Objects {
		o := &s.Objects[i]
		if o.Kind == kind && o.Meta.GetNamespace() == namespace && o.Meta.GetName() == name {
			return o
		}
	}
	return nil
}

// All returns the bodies of one Go type with their objects.
func All[T runtime.Object](s *Set, visit func(Object, T)) {
	for _, o := range s.Objects {
		if body, ok := o.Body.(T); ok {
			visit(o, body)
		}
	}
}
