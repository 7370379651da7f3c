// Kubernetes' own Go clients on the metrics APIs that podgpu serves: what works here also works for the autoscaler.
//
//	metricsapi certificates FOLDER     writes authorities and client certificates for the simulated cluster
//	metricsapi check FOLDER ADDRESS... asks podgpu at the first ADDRESS, as the API server's aggregator and as other callers,
//	                                   and compares the answers of the others, which are further replicas
//	metricsapi gone FOLDER ADDRESS     waits until podgpu says that no node answers any more, with the reason
//
// The check reads the environment of a pod (the simulated API server), takes the authority of podgpu's certificate from the
// APIServices there, and passes requests on as the aggregator does. It exits with 1 and a line on the first error.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
)

// patience limits the whole program: podgpu needs some readings of its nodes first.
const patience = 90 * time.Second

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := fmt.Errorf("usage: metricsapi certificates FOLDER | metricsapi check FOLDER ADDRESS... | metricsapi gone FOLDER ADDRESS")
	switch {
	case len(os.Args) == 3 && os.Args[1] == "certificates":
		err = writeCertificates(os.Args[2])
	case len(os.Args) >= 4 && os.Args[1] == "check":
		err = check(ctx, os.Args[2], os.Args[3:])
	case len(os.Args) == 4 && os.Args[1] == "gone":
		err = checkGone(ctx, os.Args[2], os.Args[3])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "metricsapi:", err)
		os.Exit(1)
	}
	fmt.Println("metricsapi: all checks passed")
}

func check(ctx context.Context, folder string, addresses []string) error {
	bundle, err := authorityFor(ctx, folder, addresses)
	if err != nil {
		return err
	}
	cluster, err := startAggregator(folder, addresses[0], bundle)
	if err != nil {
		return err
	}
	defer cluster.Close()
	for _, part := range []struct {
		name string
		run  func(context.Context, *aggregator) error
	}{
		{"availability", checkAvailability},
		{"discovery", checkDiscovery},
		{"OpenAPI", checkOpenAPI},
		{"external metrics", checkExternal},
		{"metrics of pods", checkPods},
		{"absent values", checkAbsent},
		{"namespaces", checkNamespaces},
	} {
		if err := part.run(ctx, cluster); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		fmt.Println(part.name)
	}
	if err := checkReplicas(ctx, folder, addresses, bundle); err != nil {
		return fmt.Errorf("replicas: %w", err)
	}
	return checkRefusals(ctx, folder, addresses[0], bundle)
}

// checkGone: values disappear with their nodes; they do not become zero.
func checkGone(ctx context.Context, folder, address string) error {
	bundle, err := authorityFor(ctx, folder, []string{address})
	if err != nil {
		return err
	}
	cluster, err := startAggregator(folder, address, bundle)
	if err != nil {
		return err
	}
	defer cluster.Close()
	client, err := externalClient(cluster, autoscalerToken)
	if err != nil {
		return err
	}
	for _, metric := range externalNames {
		err := await(ctx, func() error {
			_, err := client.NamespacedMetrics("serving").List(metric, selector(""))
			if !errors.IsNotFound(err) || !strings.Contains(err.Error(), "no node has answered") {
				return fmt.Errorf("%s: %v", metric, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// await repeats a question until its answer is as expected, or the context ends.
func await(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", err, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
