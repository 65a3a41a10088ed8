package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

const (
	pauseImage   = "registry.k8s.io/pause:3.10.1"
	sharedMemory = "shm"
)

func deploymentOf(unit *GPUUnit, stock bool) (*appsv1ac.DeploymentApplyConfiguration, error) {
	pod, err := podSpec(unit, stock)
	if err != nil {
		return nil, err
	}
	return appsv1ac.Deployment(childName(unit), unit.Namespace).
		WithLabels(labels(unit)).
		WithOwnerReferences(owner(unit)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(1).
			WithRevisionHistoryLimit(2).
			WithStrategy(strategy(stock)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selectorLabels(unit))).
			WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels(unit)).WithSpec(pod))), nil
}

func strategy(stock bool) *appsv1ac.DeploymentStrategyApplyConfiguration {
	if stock {
		return appsv1ac.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType)
	}
	return appsv1ac.DeploymentStrategy().
		WithType(appsv1.RollingUpdateDeploymentStrategyType).
		WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
			WithMaxSurge(intstr.FromInt32(1)).
			WithMaxUnavailable(intstr.FromInt32(0)))
}

// podSpec gives stock neither shared memory nor time to end, as nothing runs in it.
func podSpec(unit *GPUUnit, stock bool) (*corev1ac.PodSpecApplyConfiguration, error) {
	main, err := container(unit, stock)
	if err != nil {
		return nil, err
	}
	seccomp := corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault)
	pod := corev1ac.PodSpec().
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithNodeSelector(unit.Spec.NodeSelector).
		WithSecurityContext(corev1ac.PodSecurityContext().WithSeccompProfile(seccomp)).
		WithContainers(main)
	pod.Tolerations = tolerations(unit)
	if stock {
		return pod.WithPriorityClassName(stockPriority).WithTerminationGracePeriodSeconds(1), nil
	}
	shm, err := shmSize(unit)
	if err != nil {
		return nil, err
	}
	memory := corev1ac.EmptyDirVolumeSource().WithMedium(corev1.StorageMediumMemory).WithSizeLimit(shm)
	return pod.
		WithPriorityClassName(activePriority).
		WithVolumes(corev1ac.Volume().WithName(sharedMemory).WithEmptyDir(memory)), nil
}

func tolerations(unit *GPUUnit) []corev1ac.TolerationApplyConfiguration {
	applied := []corev1ac.TolerationApplyConfiguration{}
	for _, each := range unit.Spec.Tolerations {
		toleration := corev1ac.Toleration().
			WithKey(each.Key).WithOperator(each.Operator).WithValue(each.Value).WithEffect(each.Effect)
		toleration.TolerationSeconds = each.TolerationSeconds
		applied = append(applied, *toleration)
	}
	return applied
}

// shmSize is half of the memory unless the unit says otherwise.
func shmSize(unit *GPUUnit) (resource.Quantity, error) {
	if unit.Spec.ShmSize != "" {
		return resource.ParseQuantity(unit.Spec.ShmSize)
	}
	memory, err := resource.ParseQuantity(unit.Spec.Memory)
	if err != nil {
		return memory, fmt.Errorf("spec.memory: %w", err)
	}
	return *resource.NewQuantity(memory.Value()/2, resource.BinarySI), nil
}
