package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const workers = 16

// Reconciler makes the children of a unit and tells how they are.
type Reconciler struct {
	client   client.Client
	recorder events.EventRecorder
	stock    string
}

// setup leaves out changes of a unit's status, which are our own.
func (r *Reconciler) setup(manager ctrl.Manager, fifo bool) error {
	options := controller.Options{MaxConcurrentReconciles: workers}
	if fifo {
		options.UsePriorityQueue = new(false)
	}
	return ctrl.NewControllerManagedBy(manager).
		Named(name).
		For(&GPUUnit{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&appsv1.Deployment{}).
		Owns(&networkingv1.NetworkPolicy{}).
		Owns(&corev1.Service{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(requestOfPod)).
		WithOptions(options).
		Complete(r)
}

// Reconcile looks at one unit, writes the children that differ, and reports.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	unit := &GPUUnit{}
	if err := r.client.Get(ctx, request.NamespacedName, unit); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !unit.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	deployment, err := r.applyChildren(ctx, unit)
	if err != nil {
		return reconcile.Result{}, err
	}
	pods := &corev1.PodList{}
	mine := client.MatchingFields{podsByUnit: unit.Name}
	if err := r.client.List(ctx, pods, client.InNamespace(unit.Namespace), mine); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.report(ctx, unit, r.observe(unit, deployment, pods.Items))
}

func (r *Reconciler) isStock(unit *GPUUnit) bool { return unit.Namespace == r.stock }
