package main

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// Source is where widgets come from, and how often it was asked in which way.
type Source struct {
	client  *rest.RESTClient
	plural  string
	lists   atomic.Int64
	watches atomic.Int64
}

func newSource(kubeconfig, resource string, gzip bool) (*Source, error) {
	parts := strings.Split(resource, "/")
	if len(parts) != 3 {
		return nil, errors.New("-resource must be group/version/plural")
	}
	groupVersion := schema.GroupVersion{Group: parts[0], Version: parts[1]}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(scheme, groupVersion)

	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	source := &Source{plural: parts[2]}
	config.QPS = -1
	config.DisableCompression = !gzip
	config.APIPath = "/apis"
	config.GroupVersion = &groupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.Wrap(source.count)
	source.client, err = rest.RESTClientFor(config)
	return source, err
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (s *Source) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.URL.Query().Has("watch") {
			s.watches.Add(1)
		} else {
			s.lists.Add(1)
		}
		return next.RoundTrip(request)
	})
}

func (s *Source) informer() (cache.SharedIndexInformer, error) {
	listWatch := cache.NewListWatchFromClient(s.client, s.plural, metav1.NamespaceAll, fields.Everything())
	informer := cache.NewSharedIndexInformer(listWatch, &Widget{}, 0, cache.Indexers{})
	return informer, informer.SetTransform(dropManagedFields)
}

func dropManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil && accessor.GetManagedFields() != nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}
