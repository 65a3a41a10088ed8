package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	ready       = "Ready"
	progressing = "Progressing"
)

// observe gives the status that a unit ought to have.
func (r *Reconciler) observe(unit *GPUUnit, deployment *appsv1.Deployment, pods []corev1.Pod) GPUUnitStatus {
	seen := unit.Status.deepCopy()
	seen.Phase, seen.ReadyReplicas, seen.NodeName, seen.ServiceName = progressing, 0, "", ""
	seen.ObservedGeneration = unit.Generation
	if node := readyNode(pods); node != "" && isAvailable(deployment) {
		seen.Phase, seen.ReadyReplicas, seen.NodeName = ready, deployment.Status.AvailableReplicas, node
	}
	if !r.isStock(unit) && len(unit.Spec.Template.Ports) > 0 {
		seen.ServiceName = childName(unit)
	}
	meta.SetStatusCondition(&seen.Conditions, r.condition(unit, seen.Phase))
	return seen
}

func isAvailable(deployment *appsv1.Deployment) bool {
	status := deployment.Status
	return deployment.Generation > 0 &&
		status.ObservedGeneration >= deployment.Generation &&
		status.UpdatedReplicas > 0 && status.UpdatedReplicas == status.Replicas &&
		status.AvailableReplicas > 0
}

func (r *Reconciler) condition(unit *GPUUnit, phase string) metav1.Condition {
	condition := metav1.Condition{
		Type:               "Ready",
		Status:             metav1.ConditionFalse,
		Reason:             "UnitProgressing",
		Message:            "the pod is not ready yet",
		ObservedGeneration: unit.Generation,
	}
	if r.isStock(unit) {
		condition.Reason = "StockNotReady"
	}
	if phase == ready {
		condition.Status, condition.Reason = metav1.ConditionTrue, "UnitReady"
		condition.Message = "the pod is ready"
		if r.isStock(unit) {
			condition.Reason = "StockReady"
		}
	}
	return condition
}

// report writes a status only when it says something new.
func (r *Reconciler) report(ctx context.Context, unit *GPUUnit, seen GPUUnitStatus) error {
	if equality.Semantic.DeepEqual(unit.Status, seen) {
		return nil
	}
	became := seen.Phase == ready && unit.Status.Phase != ready
	before := unit.DeepCopy()
	unit.Status = seen
	unit.Status.LastSyncTime = new(metav1.Now())
	if err := r.client.Status().Patch(ctx, unit, client.MergeFrom(before), fieldOwner); err != nil {
		return client.IgnoreNotFound(err)
	}
	if became {
		r.recorder.Eventf(unit, nil, corev1.EventTypeNormal, ready, "Report", "on %s", seen.NodeName)
	}
	return nil
}
