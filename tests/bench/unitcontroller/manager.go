package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const name = "unitcontroller"

// Settings is what the command line says.
type Settings struct {
	Stock, Instance, Probes string
	FIFO                    bool
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(AddToScheme(scheme))
	return scheme
}

func run(ctx context.Context, settings Settings) error {
	config := ctrl.GetConfigOrDie()
	config.QPS = -1
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 newScheme(),
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: settings.Probes,
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{settings.Stock: {}, settings.Instance: {}},
			DefaultTransform:  cache.TransformStripManagedFields(),
		},
	})
	if err != nil {
		return err
	}
	if err := manager.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, podsByUnit, unitOfPod); err != nil {
		return err
	}
	reconciler := &Reconciler{
		client:   manager.GetClient(),
		recorder: manager.GetEventRecorder(name),
		stock:    settings.Stock,
	}
	if err := reconciler.setup(manager, settings.FIFO); err != nil {
		return err
	}
	if err := knowKinds(ctx, manager.GetCache()); err != nil {
		return err
	}
	if err := manager.AddReadyzCheck("synced", synced(manager.GetCache())); err != nil {
		return err
	}
	return manager.Start(ctx)
}

// knowKinds names the caches before the start, so that being ready means that all are filled.
func knowKinds(ctx context.Context, informers cache.Cache) error {
	kinds := []client.Object{
		&GPUUnit{}, &appsv1.Deployment{}, &networkingv1.NetworkPolicy{}, &corev1.Service{}, &corev1.Pod{},
	}
	for _, kind := range kinds {
		if _, err := informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			return err
		}
	}
	return nil
}

func synced(informers cache.Cache) func(*http.Request) error {
	return func(request *http.Request) error {
		ctx, stop := context.WithTimeout(request.Context(), time.Second)
		defer stop()
		if !informers.WaitForCacheSync(ctx) {
			return errors.New("the caches are not filled yet")
		}
		return nil
	}
}
