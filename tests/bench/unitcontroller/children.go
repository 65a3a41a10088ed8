package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// applyChildren gives the Deployment as it was seen, which is empty when it was just made.
func (r *Reconciler) applyChildren(ctx context.Context, unit *GPUUnit) (*appsv1.Deployment, error) {
	stock := r.isStock(unit)
	deployment, err := r.applyDeployment(ctx, unit, stock)
	if err != nil {
		return nil, err
	}
	if err := r.applyNetworkPolicy(ctx, unit, stock); err != nil {
		return nil, err
	}
	if stock || len(unit.Spec.Template.Ports) == 0 {
		return deployment, r.removeService(ctx, unit)
	}
	return deployment, r.applyService(ctx, unit)
}

func (r *Reconciler) applyDeployment(ctx context.Context, unit *GPUUnit, stock bool) (*appsv1.Deployment, error) {
	desired, err := deploymentOf(unit, stock)
	if err != nil {
		return nil, reconcile.TerminalError(err)
	}
	wanted, live := &appsv1.Deployment{}, &appsv1.Deployment{}
	same := func() bool { return equality.Semantic.DeepDerivative(wanted.Spec, live.Spec) }
	return live, apply(ctx, r, unit, desired, wanted, live, same)
}

func (r *Reconciler) applyNetworkPolicy(ctx context.Context, unit *GPUUnit, stock bool) error {
	wanted, live := &networkingv1.NetworkPolicy{}, &networkingv1.NetworkPolicy{}
	same := func() bool { return equality.Semantic.DeepEqual(wanted.Spec, live.Spec) }
	return apply(ctx, r, unit, networkPolicyOf(unit, stock), wanted, live, same)
}

func (r *Reconciler) applyService(ctx context.Context, unit *GPUUnit) error {
	wanted, live := &corev1.Service{}, &corev1.Service{}
	same := func() bool { return equality.Semantic.DeepDerivative(wanted.Spec, live.Spec) }
	return apply(ctx, r, unit, serviceOf(unit), wanted, live, same)
}

func (r *Reconciler) removeService(ctx context.Context, unit *GPUUnit) error {
	live := &corev1.Service{}
	key := client.ObjectKey{Namespace: unit.Namespace, Name: childName(unit)}
	if err := r.client.Get(ctx, key, live); err != nil || !metav1.IsControlledBy(live, unit) {
		return client.IgnoreNotFound(err)
	}
	return client.IgnoreNotFound(r.client.Delete(ctx, live))
}
