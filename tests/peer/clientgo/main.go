// Kubernetes' own Go client on the simulated API server: lists and watches that work here also work
// on a real server.
//
// Lists and watches pods, ResourceSlices (v1 and v1beta1), EndpointSlices and ConfigMaps, whole and
// as metadata, page by page, and with the informers that controllers use.  Reads the environment of
// a pod; exits with 1 and a line on the first error.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

const patience = 30 * time.Second

// collection is one kind of object, with the typed client's list and watch.
type collection struct {
	name  string
	list  func(context.Context, metav1.ListOptions) (items int, version, next string, err error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	is    func(runtime.Object) bool
}

func collections(client kubernetes.Interface) []collection {
	core, resources := client.CoreV1(), client.ResourceV1()
	older, discovery := client.ResourceV1beta1(), client.DiscoveryV1()
	return []collection{
		{"pods", func(ctx context.Context, o metav1.ListOptions) (int, string, string, error) {
			l, err := core.Pods("").List(ctx, o)
			return len(l.Items), l.ResourceVersion, l.Continue, err
		}, core.Pods("").Watch, func(o runtime.Object) bool { _, ok := o.(*corev1.Pod); return ok }},
		{"resourceslices", func(ctx context.Context, o metav1.ListOptions) (int, string, string, error) {
			l, err := resources.ResourceSlices().List(ctx, o)
			return len(l.Items), l.ResourceVersion, l.Continue, err
		}, resources.ResourceSlices().Watch, func(o runtime.Object) bool {
			s, ok := o.(*resourcev1.ResourceSlice)
			return ok && len(s.Spec.Devices) > 0 && len(s.Spec.Devices[0].Attributes) > 0
		}},
		{"resourceslices v1beta1", func(ctx context.Context, o metav1.ListOptions) (int, string, string, error) {
			l, err := older.ResourceSlices().List(ctx, o)
			return len(l.Items), l.ResourceVersion, l.Continue, err
		}, older.ResourceSlices().Watch, func(o runtime.Object) bool {
			s, ok := o.(*resourcev1beta1.ResourceSlice)
			return ok && len(s.Spec.Devices) > 0 && s.Spec.Devices[0].Basic != nil
		}},
		{"endpointslices", func(ctx context.Context, o metav1.ListOptions) (int, string, string, error) {
			l, err := discovery.EndpointSlices("").List(ctx, o)
			return len(l.Items), l.ResourceVersion, l.Continue, err
		}, discovery.EndpointSlices("").Watch, func(o runtime.Object) bool {
			s, ok := o.(*discoveryv1.EndpointSlice)
			return ok && len(s.Endpoints) > 0
		}},
		{"configmaps", func(ctx context.Context, o metav1.ListOptions) (int, string, string, error) {
			l, err := core.ConfigMaps("default").List(ctx, o)
			return len(l.Items), l.ResourceVersion, l.Continue, err
		}, core.ConfigMaps("default").Watch, func(o runtime.Object) bool {
			m, ok := o.(*corev1.ConfigMap)
			return ok && m.Data["ca.crt"] != ""
		}},
	}
}

// check lists a collection whole and page by page, and watches it.
func (c collection) check(ctx context.Context) (int, error) {
	whole, version, _, err := c.list(ctx, metav1.ListOptions{ResourceVersion: "0", Limit: 1})
	if err != nil || whole == 0 || version == "" {
		return 0, fmt.Errorf("list %s: %d objects at version %q: %w", c.name, whole, version, err)
	}
	paged, next := 0, ""
	for {
		count, _, more, err := c.list(ctx, metav1.ListOptions{Limit: 1, Continue: next})
		if err != nil || count > 1 {
			return 0, fmt.Errorf("list %s by pages of one: %d objects: %w", c.name, count, err)
		}
		paged += count
		if next = more; next == "" {
			break
		}
	}
	if paged != whole {
		return 0, fmt.Errorf("list %s: %d objects by pages, %d at once", c.name, paged, whole)
	}
	watcher, err := c.watch(ctx, metav1.ListOptions{ResourceVersion: "0", AllowWatchBookmarks: true})
	if err != nil {
		return 0, fmt.Errorf("watch %s: %w", c.name, err)
	}
	defer watcher.Stop()
	for seen := 0; seen < whole; seen++ {
		event, open := <-watcher.ResultChan()
		if !open || event.Type != watch.Added || !c.is(event.Object) {
			return 0, fmt.Errorf("watch %s: %v %T", c.name, event.Type, event.Object)
		}
	}
	return whole, nil
}

// checkInformers fills the caches of controllers through their own reflectors.
func checkInformers(ctx context.Context, client kubernetes.Interface) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Lister()
	factory.Core().V1().Pods().Informer()
	factory.Resource().V1().ResourceSlices().Informer()
	factory.Discovery().V1().EndpointSlices().Informer()
	factory.Core().V1().ConfigMaps().Informer()
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("the informer of %v has not synced", kind)
		}
	}
	if len(factory.Core().V1().Pods().Informer().GetStore().List()) == 0 {
		return fmt.Errorf("the informer of pods has no pods: %v", pods)
	}
	return nil
}

func run(ctx context.Context) error {
	folder := os.Getenv("PODGPU_SERVICE_ACCOUNT_DIR")
	config := &rest.Config{
		Host:            "https://" + os.Getenv("KUBERNETES_SERVICE_HOST") + ":" + os.Getenv("KUBERNETES_SERVICE_PORT"),
		BearerTokenFile: folder + "/token",
		TLSClientConfig: rest.TLSClientConfig{CAFile: folder + "/ca.crt"},
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	for _, c := range collections(client) {
		count, err := c.check(ctx)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d\n", c.name, count)
	}
	selector := metav1.ListOptions{FieldSelector: "spec.nodeName=another-node"}
	if others, err := client.CoreV1().Pods("").List(ctx, selector); err != nil || len(others.Items) != 0 {
		return fmt.Errorf("listing the pods of another node: %d: %w", len(others.Items), err)
	}
	if _, err := client.CoreV1().ConfigMaps("default").Get(ctx, "nobodys", metav1.GetOptions{}); !errors.IsNotFound(err) {
		return fmt.Errorf("getting a missing ConfigMap: %w", err)
	}
	slim, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	metadataOfPods, err := slim.Resource(corev1.SchemeGroupVersion.WithResource("pods")).List(ctx, metav1.ListOptions{})
	if err != nil || len(metadataOfPods.Items) == 0 {
		return fmt.Errorf("metadata of pods: %w", err)
	}
	return checkInformers(ctx, client)
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "client-go:", err)
		os.Exit(1)
	}
	fmt.Println("client-go: all checks passed")
}
