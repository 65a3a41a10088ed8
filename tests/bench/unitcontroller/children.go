package main

import (
	"context"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// applyChildren makes the policy before the pods, and gives the Deployment as it was seen,
// which is empty when it was just made.
func (r *Reconciler) applyChildren(ctx context.Context, unit *GPUUnit) (*appsv1.Deployment, error) {
	stock := r.isStock(unit)
	first, err := r.applyNetworkPolicy(ctx, unit, stock)
	if err != nil {
		return nil, err
	}
	deployment, second, err := r.applyDeployment(ctx, unit, stock)
	if err != nil {
		return nil, err
	}
	third := Change{}
	if stock || len(unit.Spec.Template.Ports) == 0 {
		err = r.removeService(ctx, unit)
	} else {
		third, err = r.applyService(ctx, unit)
	}
	r.tell(unit, first, second, third)
	return deployment, err
}

// tell records one Event for all children that were changed in the same way.
func (r *Reconciler) tell(unit *GPUUnit, changes ...Change) {
	for _, reason := range []string{"Created", "Updated"} {
		children := []string{}
		for _, change := range changes {
			if change.reason == reason {
				children = append(children, change.child)
			}
		}
		if len(children) > 0 {
			note := strings.Join(children, ", ")
			r.recorder.Eventf(unit, nil, corev1.EventTypeNormal, reason, "Apply", "%s %s", reason, note)
		}
	}
}

func (r *Reconciler) applyDeployment(
	ctx context.Context, unit *GPUUnit, stock bool,
) (*appsv1.Deployment, Change, error) {
	desired, err := deploymentOf(unit, stock)
	if err != nil {
		return nil, Change{}, reconcile.TerminalError(err)
	}
	wanted, live := &appsv1.Deployment{}, &appsv1.Deployment{}
	same := func() bool { return equality.Semantic.DeepDerivative(wanted.Spec, live.Spec) }
	change, err := apply(ctx, r, unit, desired, wanted, live, same)
	return live, change, err
}

func (r *Reconciler) applyNetworkPolicy(ctx context.Context, unit *GPUUnit, stock bool) (Change, error) {
	wanted, live := &networkingv1.NetworkPolicy{}, &networkingv1.NetworkPolicy{}
	same := func() bool { return equality.Semantic.DeepEqual(wanted.Spec, live.Spec) }
	return apply(ctx, r, unit, networkPolicyOf(unit, stock), wanted, live, same)
}

func (r *Reconciler) applyService(ctx context.Context, unit *GPUUnit) (Change, error) {
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
